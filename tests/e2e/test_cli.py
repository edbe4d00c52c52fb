"""The command line as people use it: output, exit codes, one server per folder, Ctrl-C."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from harness import paths, processes
from harness.client import Client, new_id
from harness.server import Server
from harness.wait import wait_for

RUN_FAILED, RUN_CANCELED, INTERRUPTED = 20, 21, 130


@pytest.fixture
def own_state():
    """A state folder on which `lathe up` was not yet called; the server is taken down at the end."""
    server = Server()
    yield server
    server.cli("down", check=False)
    server.close()


def submit(server, line, *options):
    return server.cli_json("run", "submit", "--compute", "pool", "--command", *options, "--", "/bin/sh", "-c", line)["id"]


def start_cli(server, *arguments):
    return subprocess.Popen(
        [str(paths.BINARY), "--state", str(server.state), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_up_twice_is_one_server_and_down_ends_it(own_state):
    first = own_state.cli_json("up")
    second = own_state.cli_json("up")
    assert first["pid"] == second["pid"] and first["url"] == second["url"]
    assert os.path.exists(first["log"]) and os.path.exists(first["token_file"])
    assert own_state.cli("status").returncode == 0
    own_state.client().get("/healthz").expect(200)
    own_state.cli("down")
    wait_for(lambda: not processes.is_alive(first["pid"]), 20, "the end of the server")
    assert own_state.cli("status", check=False).returncode != 0
    assert own_state.cli("down", check=False).returncode in (0, 5, 7)


def test_up_by_many_at_once_is_one_server(own_state):
    started = [start_cli(own_state, "-o", "json", "up") for _ in range(6)]
    answers = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0] * 6, answers
    assert len({json.loads(out)["pid"] for out, _ in answers}) == 1


def test_down_leaves_runs_alone(own_state, mark):
    own_state.cli("up")
    client = own_state.prepare().client()
    run = client.submit("echo ready; sleep 1; echo over", environment={"variables": {"E2E_MARK": mark}})
    wait_for(lambda: b"ready" in client.log(run), 30, "the first output")
    own_state.cli("down")
    assert processes.with_environment("E2E_MARK", mark)
    own_state.cli("up")
    own_state.client().wait(run, "Completed")
    assert own_state.client().log(run) == b"ready\nover\n"


def test_without_a_server_the_command_says_what_to_do(own_state):
    done = own_state.cli("run", "list", check=False)
    assert done.returncode == 7 and "hint:" in done.stderr and "lathe up" in done.stderr and done.stdout == ""


def test_data_is_on_stdout_and_talk_on_stderr(server):
    done = server.cli("run", "submit", "--compute", "pool", "--follow", "--command", "--", "echo", "only this")
    assert done.stdout == "only this\n" and "Completed" in done.stderr


@pytest.mark.parametrize("line, code", [("true", 0), ("exit 3", RUN_FAILED)])
def test_follow_and_wait_tell_by_their_exit_code_how_the_run_ended(server, line, code):
    followed = server.cli(
        "run", "submit", "--compute", "pool", "--follow", "--command", "--", "/bin/sh", "-c", line, check=False
    )
    assert followed.returncode == code
    run = submit(server, line)
    assert server.cli("run", "wait", run, check=False).returncode == code


def test_waiting_for_several_runs_ends_with_the_last_and_tells_the_worst(server, tmp_path):
    gate = tmp_path / "gate"
    slow = submit(server, f"until [ -e {gate} ]; do sleep 0.02; done")
    failed, done = submit(server, "exit 3"), submit(server, "true")
    first = server.cli("run", "wait", "--any", slow, done, check=False)
    assert first.returncode == 0 and done in first.stdout and slow not in first.stdout
    waiting = start_cli(server, "run", "wait", slow, failed, done)
    for run, status in ((failed, "Failed"), (done, "Completed")):
        server.client().wait(run, status)
    assert waiting.poll() is None
    gate.touch()
    told, talk = waiting.communicate(timeout=30)
    assert waiting.returncode == RUN_FAILED
    assert [told.index(run) for run in (slow, failed, done)] == sorted(told.index(run) for run in (slow, failed, done))
    assert f"{failed}: Failed" in talk and f"{slow}: Completed" in talk
    assert server.cli("run", "wait", slow, "no-such-run", check=False).returncode == 5


def test_waiting_for_a_canceled_run_has_its_own_exit_code(server):
    run = submit(server, "sleep 600", "--grace", "1")
    server.cli("run", "cancel", run)
    assert server.cli("run", "wait", run, check=False).returncode == RUN_CANCELED


@pytest.mark.parametrize("command", [["run", "wait"], ["run", "logs", "-f"]], ids=" ".join)
def test_ctrl_c_leaves_the_run_alone_and_says_so(server, mark, command):
    run = submit(server, "echo ready; sleep 600", "--grace", "1", "--env", f"E2E_MARK={mark}")
    client = server.client()
    wait_for(lambda: b"ready" in client.log(run), 30, "the first output")
    process = start_cli(server, *command, run)
    wait_for(lambda: takes_interrupt(process.pid), 20, "readiness for Ctrl-C")
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate(timeout=20)
    assert process.returncode == INTERRUPTED and "goes on" in talk and run in talk
    assert client.status(run) == "Running" and processes.with_environment("E2E_MARK", mark)
    server.cli("run", "cancel", run)
    client.wait(run, "Canceled")


def takes_interrupt(pid):
    """Whether the process has SIGINT blocked, which is how it takes it through a descriptor."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    blocked = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk")), 16)
    return blocked >> (signal.SIGINT - 1) & 1


def test_every_list_and_show_command_speaks_json(server):
    run = submit(server, "mkdir -p outputs; echo x > outputs/x", "--experiment", "json-test", "--tag", "a=b")
    server.client().wait(run, "Completed")
    for command in (
        ["run", "list"],
        ["run", "show", run],
        ["run", "files", run],
        ["compute", "list"],
        ["compute", "show", "pool"],
        ["experiment", "list"],
        ["experiment", "show", "json-test"],
        ["token", "list"],
        ["store", "stats"],
        ["status"],
        ["workspace", "show"],
        ["store", "gc", "--dry-run"],
        ["doctor"],
    ):
        done = server.cli("-o", "json", *command, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        json.loads(done.stdout)
        plain = server.cli(*command)
        assert plain.stdout.strip() and "\x1b[" not in plain.stdout, "no colour into a pipe"


def test_a_run_is_listed_shown_tagged_archived_and_deleted(server):
    run = submit(server, "echo hello", "--experiment", "cli-test", "--tag", "kind=first")
    server.cli("run", "wait", run)
    assert run in server.cli("run", "list", "--experiment", "cli-test").stdout
    assert server.cli("run", "logs", run).stdout == "hello\n"
    shown = server.cli("run", "show", run).stdout
    assert run in shown and "Completed" in shown and "kind" in shown
    server.cli("run", "tag", run, "kind=second")
    assert server.client().run(run)["tags"] == {"kind": "second"}
    server.cli("run", "archive", run)
    assert run not in server.cli("run", "list", "--experiment", "cli-test").stdout
    server.cli("run", "delete", run)
    gone = server.cli("run", "show", run, check=False)
    assert gone.returncode == 5 and "hint:" in gone.stderr


def test_a_waiting_run_says_why_it_waits(server):
    client = server.client()
    client.put(client.path("computes", "cli-one"), {"max_nodes": 1}).expect(200, 201)
    first = client.submit("echo ready; sleep 600", compute="cli-one")
    client.wait(first, "Running")
    second = client.submit("true", compute="cli-one")
    client.wait(second, "Queued")
    waiting = client.run(second)["waiting"]
    assert waiting["reason"] in server.cli("run", "show", second).stdout.replace("\n", " ")
    client.cancel(first)
    client.wait(second, "Completed")


def test_compute_targets_from_the_command_line(server):
    server.cli("compute", "create", "cli-pool", "--size", "STANDARD_D2_V2", "--max-nodes", "2")
    assert "cli-pool" in server.cli("compute", "list").stdout
    assert server.cli_json("compute", "show", "cli-pool")["max_nodes"] == 2
    server.cli("compute", "delete", "cli-pool")
    assert server.cli("compute", "show", "cli-pool", check=False).returncode == 5


def test_tokens_from_the_command_line(server, tmp_path):
    made = server.cli_json("token", "create", "for-the-test", "--role", "viewer", "--save", tmp_path / "token")
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600 and "token" not in made
    viewer = ["--token-file", tmp_path / "token"]
    assert server.cli(*viewer, "run", "list").returncode == 0
    refused = server.cli(*viewer, "run", "submit", "--compute", "pool", "--command", "--", "true", check=False)
    assert refused.returncode == 4 and "hint:" in refused.stderr
    server.cli("token", "revoke", made["id"])
    assert server.cli(*viewer, "run", "list", check=False).returncode == 4


@pytest.mark.parametrize(
    "arguments, code",
    [
        (["frobnicate"], 2),
        (["run", "submit"], 2),
        (["run", "show"], 2),
        (["run", "show", "absent"], 5),
        (["run", "list", "--no-such-option"], 2),
        (["run", "submit", "--nodes", "0", "--command", "--", "true"], 2),
        (["run", "submit", "--script", "absent.py"], 2),
        (["compute", "show", "absent"], 5),
        (["run", "cancel", "absent"], 5),
    ],
    ids=str,
)
def test_wrong_usage_has_an_exit_code_and_a_hint(server, arguments, code, tmp_path):
    done = server.cli(*arguments, check=False, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert "hint:" in done.stderr and done.stdout == ""


def test_the_same_id_again_is_the_same_run_and_with_other_content_a_conflict(server):
    run = new_id("cli")
    assert submit(server, "true", "--id", run) == submit(server, "true", "--id", run) == run
    other = server.cli("run", "submit", "--compute", "pool", "--id", run, "--command", "--", "false", check=False)
    assert other.returncode == 6


def test_workspace_init_writes_a_config_without_a_token(server, tmp_path):
    server.cli("workspace", "init", "cli-space", cwd=tmp_path)
    files = list(tmp_path.rglob("config.json"))
    assert len(files) == 1
    config = json.loads(files[0].read_text())
    assert config["workspace_name"] == "cli-space" and {"subscription_id", "resource_group"} <= set(config)
    assert set(config["lathe"]) == {"server", "token_file"} and server.token not in files[0].read_text()
    shown = subprocess.run(
        [paths.BINARY, "-o", "json", "workspace", "show"], cwd=tmp_path, capture_output=True, text=True, timeout=30
    )
    assert shown.returncode == 0 and json.loads(shown.stdout)["name"] == "cli-space", shown.stderr
    assert Client(server.discovery()["url"], token=server.token).get("/api/v1/workspaces/cli-space").status == 200


def test_doctor_tells_what_the_machine_offers(server):
    done = server.cli("doctor", check=False)
    assert done.returncode in (0, 1) and "cgroup" in done.stdout.lower() and len(done.stdout.splitlines()) >= 3


def test_a_group_without_a_command_shows_its_help(server):
    done = server.cli("run")
    assert "submit" in done.stdout and "cancel" in done.stdout and done.stderr == ""


def test_help_names_every_command_and_costs_no_server():
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run([paths.BINARY, "--state", empty, "--help"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0
    for word in ("up", "down", "status", "run", "compute", "workspace", "token", "experiment", "store", "doctor"):
        assert word in done.stdout, word


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_scripts_are_valid_shell(shell):
    done = subprocess.run([paths.BINARY, "completion", shell], capture_output=True, text=True, timeout=30, check=True)
    assert "submit" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)


def test_version_is_the_one_of_the_server(server):
    version = subprocess.run([paths.BINARY, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    assert server.client().get("/healthz").json()["version"] in version


def test_a_broken_pipe_is_no_error_of_ours(server):
    run = server.client().submit(
        [sys.executable, "-c", "print('x' * 100 + '\\n', end='') or [print('y' * 1000) for _ in range(20000)]"]
    )
    server.client().wait(run, "Completed")
    line = f"{paths.BINARY} --state {server.state} run logs {run} | head -n 1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    assert done.stdout == "x" * 100 + "\n" and "hint" not in done.stderr
