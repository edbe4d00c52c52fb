"""What a server does with what an earlier one left: half-started runners, leftovers of runs that are over, a broken disk."""

import fcntl
import http.client
import os
import shutil
import signal
import subprocess

import pytest

from harness import processes
from harness.checker import check_database, check_leftovers
from harness.client import make_submit
from harness.faults import injected, needs_strace
from harness.wait import never, wait_for


def launcher(folder, text):
    """Site configuration with a shell script before each runner's own command."""
    script = folder / "launcher"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return {"providers": {"local": {"launcher": [str(script)]}}}


def test_a_runner_on_its_way_when_the_server_is_killed_keeps_its_attempt(make_server, tmp_path):
    """It was started and has not claimed: the next server waits for it and starts no second one."""
    gate, started = tmp_path / "gate", tmp_path / "started"
    config = launcher(tmp_path, f'echo >> {started}; while [ ! -e {gate} ]; do sleep 0.02; done; exec "$@"')
    server = make_server(config=config).start().prepare()
    client = server.client()
    run = client.submit("echo once")
    wait_for(started.exists, 20, "the launcher")
    server.kill()
    server.start()
    assert client.status(run) == "Queued"
    gate.touch()
    done = client.wait(run, "Completed")
    assert len(done["attempts"]) == 1 and client.log(run) == b"once\n" and started.read_text() == "\n"
    check_leftovers(server.state)


def test_a_runner_that_died_on_its_way_is_started_again_in_the_same_attempt(make_server, tmp_path):
    started = tmp_path / "started"
    config = launcher(tmp_path, f'echo >> {started}; [ "$(wc -l < {started})" -ge 3 ] || exit 1; exec "$@"')
    server = make_server(config=config).start().prepare()
    client = server.client()
    run = client.submit("echo once")
    done = client.wait(run, "Completed")
    assert len(done["attempts"]) == 1 and client.log(run) == b"once\n" and started.read_text() == "\n" * 3


# What a runner leaves that dies after it has made its spool and before it has claimed.
HEADER_ONLY = """
mkdir -p "$6/spool" && printf '{"format":1,"run":"%s","attempt":%s,"node":%s,"token":"%s"}\\n' \
  "$LATHE_RUN" "$LATHE_ATTEMPT" "$LATHE_NODE" "$LATHE_RUN_TOKEN" > "$6/spool/spool.json" && exit 1
"""


def test_a_runner_that_died_before_it_claimed_is_started_again_in_the_same_attempt(make_server, tmp_path):
    """Nothing of the user's has run, so nobody has to declare a retry."""
    started = tmp_path / "started"
    first = f'if [ ! -e {started} ]; then touch {started}; {HEADER_ONLY.strip()}; fi; exec "$@"'
    server = make_server(config=launcher(tmp_path, first)).start().prepare()
    client = server.client()
    run = client.submit("echo once")
    done = client.wait(run, "Completed")
    assert len(done["attempts"]) == 1 and client.log(run) == b"once\n"
    check_leftovers(server.state)


@pytest.mark.root
@needs_strace
def test_a_script_whose_claim_was_not_on_disk_when_the_machine_died_has_not_run(make_server, tmp_path, mark):
    """The commit of the claim does not get to the disk; then server, runner and the task's folder are gone, as after a
    power cut."""
    gate, started, executions = tmp_path / "gate", tmp_path / "started", tmp_path / "executions"
    config = launcher(tmp_path, f'echo >> {started}; while [ ! -e {gate} ]; do sleep 0.02; done; exec "$@"')
    server = make_server(config=config).start().prepare()
    client = server.client()
    run = client.submit(f"echo >> {executions}; sleep 600", environment={"variables": {"E2E_MARK": mark}})
    wait_for(started.exists, 20, "the launcher")
    folder = server.state / "work" / f"{client.run(run)['sequence']}.1.0"
    with injected(server.pid, "pwrite64", "delay_enter=30000000", file=server.state / "lathe.db-wal"):
        gate.touch()
        wait_for((folder / "spool" / "spool.json").exists, 20, "the runner")
        never(executions.exists, 1, "a script whose claim is not on disk")
        server.process.kill()
    server.process.wait()
    for pid in processes.runners_of(server.state):
        processes.kill(pid)
    wait_for(lambda: not processes.runners_of(server.state), 20, "the end of the runner")
    shutil.rmtree(folder)
    server.start()
    wait_for(executions.exists, 20, "the script")
    assert len(client.run(run)["attempts"]) == 1 and executions.read_text() == "\n"
    client.cancel(run).expect(200)
    client.wait(run, "Canceled")
    assert executions.read_text() == "\n"


def test_a_folder_that_is_away_does_not_start_a_second_attempt_beside_a_live_one(make_server, tmp_path, meeting_place, mark):
    """A scratch cleaner, or a network disk that does not answer: the runner and its script live on."""
    gate, executions = meeting_place / "gate", meeting_place / "executions"
    server = make_server().start().prepare()
    client = server.client()
    line = f"echo >> {executions}; while [ ! -e {gate} ]; do sleep 0.02; done"
    run = client.submit(line, retries={"infrastructure": 1}, environment={"variables": {"E2E_MARK": mark}})
    wait_for(executions.exists, 20, "the script")
    client.wait(run, "Running")
    folder = server.state / "work" / f"{client.run(run)['sequence']}.1.0"
    server.stop()
    folder.rename(tmp_path / "away")
    server.start()
    never(lambda: len(client.run(run)["attempts"]) > 1, 2, "a second attempt")
    (tmp_path / "away").rename(folder)
    gate.touch()
    done = client.wait(run, "Completed")
    assert len(done["attempts"]) == 1 and executions.read_text() == "\n"


def test_a_runner_that_never_comes_to_life_ends_its_run_as_lost(make_server, tmp_path):
    server = make_server(config=launcher(tmp_path, "exit 1")).start().prepare()
    client = server.client()
    done = client.wait(client.submit("true"), "Failed", deadline=90)
    assert done["error"]["code"] == "node-lost" and len(done["attempts"]) == 1
    check_leftovers(server.state)


def test_a_cancel_reaches_a_run_whose_runner_never_started(make_server, tmp_path):
    server = make_server(config=launcher(tmp_path, "exit 1")).start().prepare()
    client = server.client()
    run = client.submit("true")
    wait_for(lambda: client.run(run)["attempts"], 20, "the attempt")
    client.cancel(run).expect(200)
    client.wait(run, "Canceled", deadline=60)


def test_a_node_that_was_not_started_when_the_server_died_is_started_by_the_next(make_server, tmp_path, meeting_place, mark):
    """The other node has claimed and works. Nothing of the user's has run on this one: the attempt can go on."""
    gate, ready = meeting_place / "gate", meeting_place / "ready"
    config = launcher(tmp_path, f'case "$6" in *.1) [ -e {gate} ] || exit 1;; esac; exec "$@"')
    config["providers"]["local"]["machine"] = {"cores": 4, "memory_gb": 4, "gpus": []}
    server = make_server(config=config).start().prepare()
    client = server.client()
    variables = {"environment": {"variables": {"E2E_MARK": mark}}}
    run = client.submit(f"echo $PWD; while [ ! -e {ready} ]; do sleep 0.02; done", node_count=2, **variables)
    wait_for(lambda: client.run(run)["attempts"], 20, "the attempt")
    wait_for(lambda: client.log(run, name="azureml-logs/70_driver_log_0.txt"), 20, "the first node")
    server.kill()
    gate.touch()
    server.start()
    wait_for(lambda: client.log(run, name="azureml-logs/70_driver_log_1.txt"), 20, "the second node")
    ready.touch()
    done = client.wait(run, "Completed")
    assert len(done["attempts"]) == 1
    check_leftovers(server.state)


def test_a_cancel_ends_a_launcher_that_hangs_since_before_the_restart(make_server, tmp_path, mark):
    started = tmp_path / "started"
    config = launcher(tmp_path, f"export E2E_MARK={mark}; echo >> {started}; sleep 600; echo never")
    server = make_server(config=config).start().prepare()
    client = server.client()
    run = client.submit("true", grace_seconds=0)
    wait_for(started.exists, 20, "the launcher")
    server.kill()
    server.start()
    client.cancel(run).expect(200)
    client.wait(run, "Canceled", deadline=60)
    wait_for(lambda: not processes.with_environment("E2E_MARK", mark), 20, "the end of the launcher and its child")
    assert started.read_text() == "\n"


def test_leftovers_of_runs_that_are_over_are_swept_at_start(make_server):
    server = make_server().start().prepare()
    client = server.client()
    done = client.submit("echo over")
    number = client.wait(done, "Completed")["sequence"]
    server.stop()
    folders = [server.state / "work" / f"{number}.1.0", server.state / "work" / "4711.1.0"]
    for folder in folders:
        (folder / "spool").mkdir(parents=True)
        (folder / "run" / "outputs").mkdir(parents=True)
        (folder / "spool" / "spool.json").write_text("{}\n")
    (server.state / "work" / "notes").mkdir()
    live = server.state / "live" / f"{number}.1"
    live.mkdir()
    (live / "0.0").write_text("over\n")
    # The second one looks as if a process of its run still lived.
    with (folders[1] / "spool" / "spool.json").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        server.start()
        wait_for(lambda: not folders[0].exists() and not live.exists(), 20, "the sweep")
        assert (folders[1] / "run").exists(), "a folder in use was removed"
    assert (server.state / "work" / "notes").exists(), "a folder that is none of ours was removed"
    server.stop()
    server.start()
    wait_for(lambda: not folders[1].exists(), 20, "the second sweep")
    assert client.log(done) == b"over\n"


def test_the_folder_of_a_runner_killed_after_its_end_was_told_is_removed(make_server, tmp_path):
    """Held by a launcher that keeps the work folder from being empty until the runner is gone."""
    config = launcher(tmp_path, 'for word; do folder=$word; done; "$@"; mkdir -p "$folder/run/left"; exit 0')
    server = make_server(config=config).start().prepare()
    client = server.client()
    client.wait(client.submit("true"), "Completed")
    check_leftovers(server.state)


def is_acknowledged(client, submit):
    try:
        return client.post(client.path("runs"), submit).status in (200, 201)
    except (OSError, http.client.HTTPException):
        return False


@pytest.mark.root
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_an_io_error_of_the_database_stops_the_server(make_server):
    server = make_server().start().prepare()
    client = server.client()
    kept = client.submit("echo kept")
    client.wait(kept, "Completed")
    broken = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", os.devnull, "-p", str(server.pid), "-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:error=EIO"],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        status = f"/proc/{server.pid}/status"
        wait_for(lambda: f"TracerPid:\t{broken.pid}" in open(status).read(), 20, "strace")
        refused = make_submit("true")
        assert not is_acknowledged(client, refused)
        assert server.process.wait(20) not in (0, -signal.SIGKILL)
    finally:
        broken.kill()
        broken.wait()
    server.start()
    assert client.log(kept) == b"kept\n"
    # What was not acknowledged may be there or not; what is there works.
    again = client.post(client.path("runs"), refused).expect(200, 201).json()
    client.wait(again["id"], "Completed")
    server.stop()
    check_database(server.state)
    assert not processes.runners_of(server.state)
