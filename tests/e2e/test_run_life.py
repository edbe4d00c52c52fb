"""The life of a run: its states, its live log, its files."""

import datetime
import hashlib
import json
import os
import re
import sys
import textwrap

import pytest

from harness.client import LOG
from harness.wait import wait_for

CHAIN = ["NotStarted", "Starting", "Preparing", "Queued", "Running", "Finalizing", "Completed"]


def states(moves):
    """The states in order, from the moves of the event list."""
    first = moves[0][0] or moves[0][1]
    return [first] + [to for left, to in moves if left is not None]


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


def script(folder, text, name="train.py"):
    (folder / name).write_text(textwrap.dedent(text))


def test_a_script_goes_through_every_state_and_each_move_has_a_reason(any_server, source):
    script(source, "print('hello')")
    client, run = any_server.client(), any_server.submit_folder(source)
    done = client.wait(run, "Completed")
    assert states(client.moves(run)) == CHAIN
    events = client.events(run)
    assert all(event["reason"] for event in events if event["kind"] == "state")
    assert [event["id"] for event in events] == sorted({event["id"] for event in events})
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", event["at"]) for event in events)
    assert done["error"] is None and done["attempt"] == 1 and done["created"] <= done["started"] <= done["ended"]
    assert done["attempts"][0]["reason"] == "exited" and done["attempts"][0]["exit_code"] == 0
    assert client.log(run) == b"hello\n"


def test_output_is_seen_while_the_script_still_runs(any_server, source, meeting_place):
    gate = meeting_place / "gate"
    script(
        source,
        f"""
        import os, time
        print("first line", flush=True)
        while not os.path.exists({str(gate)!r}):
            time.sleep(0.02)
        print("second line", flush=True)
    """,
    )
    client, run = any_server.client(), any_server.submit_folder(source)
    seen = b""
    for piece in client.follow(run):
        seen += piece
        if seen == b"first line\n" and not gate.exists():
            assert client.status(run) == "Running"
            gate.touch()
    assert seen == b"first line\nsecond line\n"
    client.wait(run, "Completed")


def test_outputs_and_logs_come_back_byte_for_byte(any_server, source):
    script(
        source,
        """
        import hashlib, os, random
        random.seed(7)
        os.makedirs("outputs/deep/er"), os.makedirs("logs", exist_ok=True)
        open("outputs/big.bin", "wb").write(random.randbytes(3_000_000))
        open("outputs/deep/er/empty", "wb").close()
        open("outputs/name with blanks and ü.txt", "w").write("ü")
        open("logs/events.out", "wb").write(bytes(range(256)) * 100)
        open("beside.txt", "w").write("not an output")
        print(hashlib.sha256(open("outputs/big.bin", "rb").read()).hexdigest())
    """,
    )
    client, run = any_server.client(), any_server.submit_folder(source)
    client.wait(run, "Completed")
    files = client.files(run)
    assert set(files) == {
        LOG,
        "outputs/big.bin",
        "outputs/deep/er/empty",
        "outputs/name with blanks and ü.txt",
        "logs/events.out",
    }
    big = client.file(run, "outputs/big.bin").expect(200)
    assert hashlib.sha256(big.body).hexdigest() == client.log(run).decode().strip() == files["outputs/big.bin"]["digest"]
    assert big.headers["content-disposition"].startswith("attachment")
    assert client.file(run, "outputs/deep/er/empty").expect(200).body == b""
    assert client.file(run, "outputs/name with blanks and ü.txt").expect(200).body == "ü".encode()
    assert client.file(run, "logs/events.out").expect(200).body == bytes(range(256)) * 100
    part = client.file(run, "logs/events.out", headers={"Range": "bytes=10-19"}).expect(206)
    assert part.body == bytes(range(10, 20)) and part.headers["content-range"] == "bytes 10-19/25600"
    client.file(run, "beside.txt").expect(404)


def test_the_command_line_downloads_what_the_script_wrote(any_server, source, tmp_path):
    script(
        source,
        """
        import os
        os.makedirs("outputs", exist_ok=True)
        open("outputs/run.sh", "w").write("#!/bin/sh\\n")
        os.chmod("outputs/run.sh", 0o755)
    """,
    )
    run = any_server.submit_folder(source)
    any_server.client().wait(run, "Completed")
    any_server.cli("run", "download", run, cwd=tmp_path)
    found = [path for path in tmp_path.rglob("run.sh") if "source" not in path.parts]
    assert len(found) == 1 and found[0].read_text() == "#!/bin/sh\n" and os.access(found[0], os.X_OK)


def test_the_snapshot_keeps_exec_bits_and_inner_links_and_obeys_the_ignore_file(any_server, source):
    script(
        source,
        """
        import os
        print(os.access("tool.sh", os.X_OK), os.access("plain.txt", os.X_OK))
        print(os.readlink("link.txt"), open("link.txt").read())
        print(sorted(os.listdir(".")))
        print(open("data/inner.txt").read())
    """,
    )
    (source / "tool.sh").write_text("#!/bin/sh\n")
    (source / "tool.sh").chmod(0o755)
    (source / "plain.txt").write_text("plain")
    (source / "link.txt").symlink_to("plain.txt")
    (source / "data").mkdir()
    (source / "data" / "inner.txt").write_text("inner")
    (source / "secret.key").write_text("never send this")
    (source / ".amlignore").write_text("*.key\n")
    client, run = any_server.client(), any_server.submit_folder(source)
    client.wait(run, "Completed")
    lines = client.log(run).decode().splitlines()
    assert lines[0] == "True False"
    assert lines[1] == "plain.txt plain"
    assert "secret.key" not in lines[2] and "tool.sh" in lines[2]
    assert lines[3] == "inner"


def test_a_link_that_leaves_the_source_folder_is_refused(any_server, source):
    script(source, "print('never')")
    (source / "out.txt").symlink_to("/etc/passwd")
    done = any_server.cli("run", "submit", "--source", source, "--script", "train.py", check=False)
    assert done.returncode == 2 and "out.txt" in done.stderr and "hint:" in done.stderr


def test_a_failing_script_ends_failed_with_its_exit_code_and_its_outputs(any_server, source):
    script(
        source,
        """
        import os, sys
        os.makedirs("outputs", exist_ok=True)
        open("outputs/partial.txt", "w").write("kept")
        sys.exit(7)
    """,
    )
    client, run = any_server.client(), any_server.submit_folder(source)
    done = client.wait(run, "Failed")
    assert done["error"]["code"] == "script-failed" and "7" in done["error"]["message"]
    assert done["attempts"][0]["exit_code"] == 7 and len(done["attempts"]) == 1
    assert client.file(run, "outputs/partial.txt").expect(200).body == b"kept"


def test_a_traceback_is_in_the_log(any_server, source):
    script(source, "raise ValueError('this went wrong')")
    client, run = any_server.client(), any_server.submit_folder(source)
    client.wait(run, "Failed")
    assert b"ValueError: this went wrong" in client.log(run)


def test_a_script_killed_by_a_signal_says_so(any_server):
    client = any_server.client()
    run = client.submit("kill -SEGV $$")
    done = client.wait(run, "Failed")
    assert done["attempts"][0]["reason"] == "signaled" and done["attempts"][0]["signal"] == 11


def test_a_missing_interpreter_is_a_start_failure(any_server, source):
    script(source, "print('never')")
    run = any_server.submit_folder(source, python="/nonexistent/python3")
    done = any_server.client().wait(run, "Failed")
    assert done["attempts"][0]["reason"] == "start-failed"
    assert "/nonexistent/python3" in done["error"]["message"]


def test_a_missing_script_fails_and_names_it(any_server, source):
    script(source, "print('never')")
    command = ["run", "submit", "--source", source, "--compute", "pool", "--python", sys.executable, "--script"]
    answer = any_server.cli(*command, "absent.py", check=False)
    assert answer.returncode == 2 and "absent.py" in answer.stderr and "hint:" in answer.stderr


def test_a_script_that_the_snapshot_leaves_out_is_refused_at_submit(any_server, source):
    script(source, "print('never')")
    (source / ".amlignore").write_text("train.py\n")
    with pytest.raises(AssertionError, match="ended with 2(?s:.)*no script 'train.py'"):
        any_server.submit_folder(source)


def test_the_process_has_the_variables_of_the_platform_and_of_the_user(any_server, source):
    script(source, "import json, os; print(json.dumps(dict(os.environ)))")
    run = any_server.submit_folder(source, "--experiment", "vars-test", "--env", "MINE=a=b c")
    client = any_server.client()
    client.wait(run, "Completed")
    found = json.loads(client.log(run))
    assert found["AZUREML_RUN_ID"] == run and found["MINE"] == "a=b c"
    assert found["AZUREML_ARM_WORKSPACE_NAME"] == "default" and found["AZUREML_ARM_PROJECT_NAME"] == "vars-test"
    for name in (
        "AZUREML_EXPERIMENT_ID",
        "AZUREML_WORKSPACE_ID",
        "AZUREML_ARM_SUBSCRIPTION",
        "AZUREML_ARM_RESOURCEGROUP",
        "AZUREML_RUN_TOKEN",
        "AZUREML_RUN_TOKEN_EXPIRY",
        "AZUREML_SERVICE_ENDPOINT",
        "LATHE_URL",
        "LATHE_SERVER",
        "LATHE_METRICS_DIR",
        "LATHE_METRICS_ACKS",
    ):
        assert name in found, f"{name} is missing"
    assert "LATHE_RUN_TOKEN" not in found
    assert found["LATHE_URL"] == found["AZUREML_SERVICE_ENDPOINT"]


def test_the_expiry_of_the_token_is_in_seconds_and_after_the_end_of_the_run(any_server):
    client = any_server.client()
    line = "echo $AZUREML_RUN_TOKEN_EXPIRY"
    for limit, grace in ((500, 100), (86400, 0)):
        run = client.submit(line, max_run_duration_seconds=limit, grace_seconds=grace)
        done = client.wait(run, "Completed")
        earliest, latest = (datetime.datetime.fromisoformat(done[name]).timestamp() for name in ("created", "ended"))
        assert earliest - 1 <= int(client.log(run)) - limit - grace <= latest


def test_a_run_has_the_limit_of_open_files_that_the_server_was_started_with(make_server):
    """The server raises its own as far as it may; programs that use select() break above 1024."""
    client = make_server(prefix=["sh", "-c", 'ulimit -Sn 777; exec "$@"', "sh"]).start().prepare().client()
    run = client.submit("ulimit -Sn; ulimit -Hn; env | grep LATHE_DESCRIPTORS")
    client.wait(run, "Failed")  # grep finds nothing
    soft, hard = client.log(run).decode().split()
    assert soft == "777" and (hard == "unlimited" or int(hard) > 777)


def test_variables_in_arguments_are_expanded_on_the_node_and_nothing_else_is(any_server, source):
    script(source, "import json, sys; print(json.dumps(sys.argv[1:]))")
    arguments = ["--data", "$WHERE/x", "${WHERE}", "$UNSET_ANYWHERE", "a b", "*", "`id`", "$(id)", "", "ü"]
    run = any_server.submit_folder(source, "--env", "WHERE=/data", arguments=arguments)
    client = any_server.client()
    client.wait(run, "Completed")
    got = json.loads(client.log(run))
    assert got[:3] == ["--data", "/data/x", "/data"]
    assert got[4:] == ["a b", "*", "`id`", "$(id)", "", "ü"]


def test_use_of_resources_is_kept_with_the_run(any_server, source):
    script(
        source,
        """
        import time
        block = bytearray(64 << 20)
        end = time.process_time() + 0.5
        while time.process_time() < end: pass
    """,
    )
    run = any_server.submit_folder(source)
    done = any_server.client().wait(run, "Completed")
    assert done["usage"]["cpu_seconds"] >= 0.4
    assert done["usage"]["peak_memory_bytes"] >= 60 << 20


def test_the_run_folder_is_gone_after_delivery(any_server, source):
    script(source, "print('done')")
    client, run = any_server.client(), any_server.submit_folder(source)
    work = any_server.state / "work"
    wait_for(lambda: list(work.glob(f"{client.run(run)['sequence']}.*")) or client.status(run) == "Completed", 20, "the run folder")
    done = client.wait(run, "Completed")
    wait_for(lambda: not list(work.glob(f"{done['sequence']}.*")), 20, "the removal of the run folder")


def test_logs_of_the_script_are_shipped_while_it_runs(any_server, source, meeting_place):
    gate = meeting_place / "gate"
    script(
        source,
        f"""
        import os, time
        os.makedirs("logs", exist_ok=True)
        open("logs/early.txt", "w").write("early")
        while not os.path.exists({str(gate)!r}):
            time.sleep(0.02)
    """,
    )
    client, run = any_server.client(), any_server.submit_folder(source)
    try:
        wait_for(lambda: "logs/early.txt" in client.files(run), 30, "logs/early.txt among the files")
        assert client.status(run) == "Running"
        assert client.file(run, "logs/early.txt").expect(200).body == b"early"
    finally:
        gate.touch()
    client.wait(run, "Completed")


def test_a_run_sees_nothing_of_the_state_folder_and_an_isolated_one_no_network(any_server):
    """Proves that the isolated variant of these tests isolates, too."""
    client = any_server.client()
    run = client.submit(f"ls {any_server.state} || true; echo ::; ls /sys/class/net; tail -n +3 /proc/net/dev")
    client.wait(run, "Completed")
    state, network = client.log(run).decode().split("::", 1)
    assert not {"lathe.db", "store", "token", "server.json", "keys"} & set(state.split()), state
    if "launcher" in any_server.config:
        assert len(re.findall(r"^ *\w+:", network, re.M)) == 1, network


def test_the_source_folder_itself_is_never_the_working_folder(any_server, source):
    script(source, "import os; print(os.getcwd()); open('made-here.txt', 'w').close()")
    client, run = any_server.client(), any_server.submit_folder(source)
    client.wait(run, "Completed")
    assert not (source / "made-here.txt").exists()
    assert str(source) not in client.log(run).decode()


def test_a_run_of_several_nodes_has_a_log_for_each(any_server):
    client = any_server.client()
    run = client.submit("echo hello", node_count=2)
    client.wait(run, "Completed")
    logs = {path for path, file in client.files(run).items() if file["kind"] == "log"}
    assert logs == {"azureml-logs/70_driver_log_0.txt", "azureml-logs/70_driver_log_1.txt"}


def test_the_interpreter_is_the_one_that_was_named(any_server, source):
    script(source, "import sys; print(sys.executable)")
    client, run = any_server.client(), any_server.submit_folder(source)
    client.wait(run, "Completed")
    assert os.path.realpath(client.log(run).decode().strip()) == os.path.realpath(sys.executable)
