"""A machine without descriptors or processes to give: the server says so, waits, and goes on when there are some again. No run
fails because of it."""

import contextlib
import os
import pathlib
import signal
import socket
import time

import pytest

from harness import processes
from harness.checker import check_slots
from harness.client import make_submit
from harness.wait import wait_for

PIDS = pathlib.Path("/sys/fs/cgroup/pids")
LONG = "LATHE_LONG" in os.environ


def answers(server):
    with contextlib.suppress(OSError):
        return server.client(timeout=5).get("/healthz").status == 200
    return False


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.parametrize("limit", [64, 96, 256])
def test_a_server_without_descriptors_recovers_and_loses_no_run(make_server, mark, limit):
    """Idle connections take all that there are; runs that are under way end well."""
    server = make_server(prefix=["prlimit", f"--nofile={limit}:{limit}"]).start().prepare()
    client, pid = server.client(), server.pid
    variables = {"environment": {"variables": {"E2E_MARK": mark}}}
    running = [client.submit("echo begun; sleep 1; mkdir -p outputs; echo kept > outputs/kept; echo over", **variables) for _ in range(2)]
    wait_for(lambda: all(b"begun" in client.log(run) for run in running), 30, "both runs")
    with contextlib.ExitStack() as crowd:
        for _ in range(limit + 20):
            idle = crowd.enter_context(socket.socket(socket.AF_UNIX))
            idle.settimeout(1)
            with contextlib.suppress(OSError):
                idle.connect(str(client.socket_path))
        wait_for(lambda: not processes.with_environment("E2E_MARK", mark), 30, "the end of both scripts")
        assert server.is_up() and descriptors(pid) <= limit
    wait_for(lambda: answers(server), 60, "an answer when descriptors are free again")
    for run in running:
        done = client.wait(run, "Completed", deadline=60)
        assert len(done["attempts"]) == 1 and client.log(run) == b"begun\nover\n"
        assert client.file(run, "outputs/kept").expect(200).body == b"kept\n"
    client.wait(client.submit("true"), "Completed")
    assert server.pid == pid
    check_slots(client)


@pytest.fixture
def group():
    """A control group in which the number of processes can be limited."""
    if os.geteuid() != 0 or not os.access(PIDS / "cgroup.procs", os.W_OK):
        pytest.skip("needs the pids controller")
    folder = PIDS / f"lathe-few-{os.getpid()}"
    folder.mkdir()
    yield folder
    (folder / "pids.max").write_text("max")
    for pid in (folder / "cgroup.procs").read_text().split():
        with contextlib.suppress(OSError):
            (PIDS / "cgroup.procs").write_text(pid)
    wait_for(lambda: not (folder / "cgroup.procs").read_text(), 10, "an empty group")
    folder.rmdir()


def enter(group, server):
    for pid in (server.pid, *processes.children(server.pid)):
        (group / "cgroup.procs").write_text(str(pid))


def test_a_run_waits_for_processes_as_it_waits_for_room_on_the_disk(make_server, group):
    """No process can be started for longer than a broken runner gets tries; then there are some again."""
    server = make_server().start().prepare()
    client = server.client()
    client.wait(client.submit("true"), "Completed")
    enter(group, server)
    (group / "pids.max").write_text((group / "pids.current").read_text())
    run = client.submit("echo at last")
    tried_until = time.monotonic() + 14  # a broken runner gets twelve seconds
    enough = lambda: server.said().count("could not be started") >= 8 or time.monotonic() > tried_until  # noqa: E731
    wait_for(lambda: enough() or client.run(run)["ended"], 60, "more tries than a broken runner gets", every=0.1)
    assert client.run(run)["ended"] is None, client.run(run)["error"]
    (group / "pids.max").write_text("max")
    done = client.wait(run, "Completed", deadline=60)
    assert client.log(run) == b"at last\n" and len(done["attempts"]) == 1


def test_a_server_without_processes_answers_and_its_runs_go_on(make_server, group, mark):
    server = make_server().start().prepare()
    client = server.client()
    run = client.submit("echo begun; sleep 1; echo over", environment={"variables": {"E2E_MARK": mark}})
    wait_for(lambda: b"begun" in client.log(run), 30, "the run")
    enter(group, server)
    (group / "pids.max").write_text((group / "pids.current").read_text())
    client.wait(run, "Completed")
    assert client.log(run) == b"begun\nover\n"
    submit = make_submit("true")
    client.post(client.path("runs"), submit).expect(201)
    client.cancel(submit["id"]).expect(200, 202)
    client.wait(submit["id"], "Canceled", deadline=60)
    (group / "pids.max").write_text("max")
    client.wait(client.submit("true"), "Completed")


@pytest.mark.skipif(not LONG, reason="takes long; LATHE_LONG=1, as ./test.sh --all sets it")
def test_a_stopped_server_is_waited_for_by_its_runs(make_server, mark):
    """A gray failure: it neither answers nor dies, for longer than any request may take."""
    server = make_server().start().prepare()
    client = server.client()
    runs = [client.submit("echo a; sleep 3; echo b", environment={"variables": {"E2E_MARK": mark}}) for _ in range(6)]
    wait_for(lambda: all(client.log(run) for run in runs), 30, "all runs")
    os.kill(server.pid, signal.SIGSTOP)
    try:
        wait_for(lambda: not processes.with_environment("E2E_MARK", mark), 60, "the end of all scripts")
        wait_for(lambda: len(processes.runners_of(server.state)) >= len(runs), 70, "runners that wait")
    finally:
        os.kill(server.pid, signal.SIGCONT)
    for run in runs:
        client.wait(run, "Completed", deadline=90)
        assert client.log(run) == b"a\nb\n"
