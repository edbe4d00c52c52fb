"""A run on several nodes ends as a whole: one node that fails takes the others with it, also one that does not listen."""

import os
import signal
import sys

import pytest

from harness import processes
from harness.client import new_id
from harness.paths import REPOSITORY
from harness.server import Server
from harness.wait import wait_for

# A node knows itself by its task's folder, RUN.ATTEMPT.NODE.
FIRST_FAILS = "case $PWD in *.0/*) {first};; *) {other};; esac"


@pytest.fixture(scope="module")
def pair(binary):
    """A server with room for two nodes."""
    config = {"providers": {"local": {"machine": {"cores": 4, "memory_gb": 4, "gpus": []}, "enforce_memory": False}}}
    with Server(config=config) as server:
        yield server


def submit(client, first, other, mark, **fields):
    line = FIRST_FAILS.format(first=first, other=other)
    environment = {"variables": {"E2E_MARK": mark}}
    return client.submit(line, compute="pool", node_count=2, environment=environment, **fields)


def test_the_failure_of_one_node_stops_the_others(pair, mark, meeting_place):
    client, gate = pair.client(), meeting_place / "gate"
    run = submit(client, f"while [ ! -e {gate} ]; do sleep 0.02; done; exit 7", "echo up; sleep 600", mark)
    wait_for(lambda: client.run(run)["attempts"], 20, "the attempt")
    wait_for(lambda: client.log(run, name="azureml-logs/70_driver_log_1.txt"), 20, "the other node")
    gate.touch()
    done = client.wait(run, "Failed", deadline=60)
    assert done["error"]["code"] == "script-failed" and "7" in done["error"]["message"], done["error"]
    assert not processes.with_environment("E2E_MARK", mark)


def test_a_node_that_ends_well_leaves_the_others_their_time(pair, mark):
    client = pair.client()
    run = submit(client, "exit 0", "sleep 1; echo late", mark)
    client.wait(run, "Completed", deadline=60)
    assert client.log(run, name="azureml-logs/70_driver_log_1.txt") == b"late\n"


def test_a_process_that_ignores_the_stop_is_killed_after_the_grace(pair, mark, meeting_place):
    client, gate = pair.client(), meeting_place / "gate"
    stubborn = "trap '' TERM; echo up; while :; do sleep 0.1; done"
    run = submit(client, f"while [ ! -e {gate} ]; do sleep 0.02; done; exit 7", stubborn, mark, grace_seconds=1)
    wait_for(lambda: client.run(run)["attempts"], 20, "the attempt")
    wait_for(lambda: client.log(run, name="azureml-logs/70_driver_log_1.txt"), 20, "the other node")
    gate.touch()
    assert client.wait(run, "Failed", deadline=60)["error"]["code"] == "script-failed"


def test_a_runner_that_does_not_listen_is_killed_by_the_server(pair, mark, meeting_place):
    """Stopped by a signal: it neither hears the server nor dies of anything but SIGKILL."""
    client, gate = pair.client(), meeting_place / "gate"
    first = f"while [ ! -e {gate} ]; do sleep 0.02; done; exit 7"
    run = submit(client, first, "echo up; sleep 600", mark, grace_seconds=0)
    wait_for(lambda: client.run(run)["attempts"], 20, "the attempt")
    wait_for(lambda: client.log(run, name="azureml-logs/70_driver_log_1.txt"), 20, "the other node")
    deaf = processes.runner_of(pair.state, f"{client.run(run)['sequence']}.1.1")
    os.kill(deaf, signal.SIGSTOP)
    gate.touch()
    done = client.wait(run, "Failed", deadline=90)
    assert done["error"]["code"] == "script-failed" and "7" in done["error"]["message"], done["error"]
    wait_for(lambda: not processes.is_alive(deaf), 20, "the end of the deaf runner")
    wait_for(lambda: not processes.with_environment("E2E_MARK", mark), 20, "the end of its processes")


READ = """
import os, sys
from azureml.core import Run
value = Run.get_context().get_secret("gang")
print("read", value, flush=True)
with open(sys.argv[1] + ".new", "w") as file: file.write(value)
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""


@pytest.mark.parametrize("other", ["prints it too", "is over before"])
def test_a_secret_that_one_node_reads_is_hidden_on_all(pair, mark, meeting_place, other):
    client, shared, value = pair.client(), meeting_place / "shared", new_id("secret")
    client.put(client.path("secrets", "gang"), {"value": value}).expect(204)
    (meeting_place / "read.py").write_text(READ)
    first = f"PYTHONPATH={REPOSITORY / 'sdk/python'} {sys.executable} {meeting_place / 'read.py'} {shared}"
    late = f"while [ ! -e {shared} ]; do sleep 0.02; done; cat {shared}; echo"
    if other == "is over before":
        first = f"while [ ! -e {meeting_place / 'over'} ]; do sleep 0.02; done; {first}"
        late = "echo over"
    run = submit(client, first, late, mark)
    if other == "is over before":
        wait_for(lambda: client.log(run, name="azureml-logs/70_driver_log_1.txt") == b"over\n", 30, "the other node")
        (meeting_place / "over").touch()
    client.wait(run, "Completed", deadline=60)
    assert shared.read_text() == value
    logs = [client.log(run, name=f"azureml-logs/70_driver_log_{node}.txt") for node in (0, 1)]
    assert logs == [b"read ***\n", b"***\n" if other == "prints it too" else b"over\n"]
