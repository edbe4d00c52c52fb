"""Runs that are asked to stop: whoever dies or is slow meanwhile, their outputs and the end of their log arrive."""

import contextlib
import sys

import pytest

from harness import processes
from harness.attempt import HeldAttempt
from harness.blobs import digest, pack
from harness.faults import injected, needs_strace
from harness.server import Server, holding_config
from harness.wait import never, wait_for

# Saves a checkpoint when it is asked to stop; the file gets its name when the line is printed and all is written. Then it
# ends, or stays to be killed.
SCRIPT = """
import os, signal, sys, time
size, then = int(sys.argv[1]), sys.argv[2]
def save(*_):
    with open("outputs/checkpoint.new", "wb") as file: file.write(b"x" * size)
    print("saved", flush=True)
    os.rename("outputs/checkpoint.new", "outputs/checkpoint")
    if then == "exit": os._exit(0)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
while True: time.sleep(0.05)
"""
FIRST_FAILS = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.02)\nsys.exit(7)"
MARGIN = 1


def config(**rules):
    """A machine of the test's own size on which force comes soon."""
    local = {"machine": {"cores": 4, "memory_gb": 4, "gpus": []}, "enforce_memory": False, "stop_margin_seconds": MARGIN}
    return {"providers": {"local": local | rules}}


@pytest.fixture(scope="module")
def stopping(binary):
    with Server(config=config()) as server:
        client = server.client()
        client.put(client.path("computes", "cheap"), {"max_nodes": 1, "priority": "lowpriority"}).expect(201)
        client.put(client.path("computes", "dear"), {"max_nodes": 1}).expect(201)
        yield server


class Stop:
    """A run with a checkpoint and one way to have it stopped."""

    def __init__(self, server, kind, gate, mark, size=1, then="stay", grace=60):
        self.server, self.client, self.kind, self.gate = server, server.client(), kind, gate
        fields = {"grace_seconds": grace, "environment": {"variables": {"E2E_MARK": mark}}}
        command = [sys.executable, "-c", SCRIPT, str(size), then]
        self.node, log = 0, None
        if kind == "time-out":
            fields["max_run_duration_seconds"] = 2
        if kind == "preemption":
            fields["compute"] = "cheap"
        if kind == "gang":
            self.node, log = 1, "azureml-logs/70_driver_log_1.txt"
            first = [sys.executable, "-c", FIRST_FAILS, str(gate)]
            line = 'case $PWD in *.0/*) exec "$1" "$2" "$3" "$4";; *) shift 4; exec "$@";; esac'
            command, fields["node_count"] = ["/bin/sh", "-c", line, "choose", *first, *command], 2
        self.run = self.client.submit(command, **fields)
        self.log = lambda: self.client.log(self.run, name=log)
        wait_for(lambda: self.client.run(self.run)["attempts"], 20, "the attempt")
        wait_for(lambda: b"ready" in self.log(), 30, "the script")

    def ask(self):
        if self.kind == "cancel":
            self.client.cancel(self.run).expect(200)
        if self.kind == "preemption":
            self.dear = self.client.submit("true", compute="dear")
        if self.kind == "gang":
            self.gate.touch()

    @property
    def folder(self):
        return self.server.state / "work" / f"{self.client.run(self.run)['sequence']}.1.{self.node}"

    def wait_for_checkpoint(self):
        wait_for((self.folder / "run" / "outputs" / "checkpoint").exists, 30, "the checkpoint")

    def check(self, size=1):
        done = self.client.wait(self.run, "Canceled" if self.kind == "cancel" else "Failed", deadline=90)
        assert self.client.file(self.run, "outputs/checkpoint").expect(200).body == b"x" * size
        assert self.log() == b"ready\nsaved\n"
        if self.kind == "preemption":
            self.client.wait(self.dear, "Completed")
        return done


@pytest.mark.parametrize("kind", ["cancel", "preemption", "gang", "time-out"])
def test_what_a_runner_that_was_killed_under_a_stop_left_is_delivered(stopping, tmp_path, mark, kind):
    stop = Stop(stopping, kind, tmp_path / "gate", mark)
    stop.ask()
    stop.wait_for_checkpoint()
    processes.kill(processes.runner_of(stopping.state, stop.folder.name))
    stop.check()


def test_a_runner_killed_under_a_cancel_while_the_server_is_away_is_adopted_by_the_next(make_server, tmp_path, mark):
    server = make_server(config=config()).start().prepare()
    stop = Stop(server, "cancel", tmp_path / "gate", mark)
    task = stop.folder.name
    stop.ask()
    stop.wait_for_checkpoint()
    server.kill()
    processes.kill(processes.runner_of(server.state, task))
    server.start()
    stop.check()


@pytest.mark.root
@needs_strace
@pytest.mark.parametrize("kind", ["cancel", "preemption", "time-out"])
def test_an_upload_that_takes_longer_than_the_grace_is_not_broken_off(stopping, tmp_path, mark, kind):
    """Nobody dies; the store is slow. Force would come after MARGIN, the upload takes several times as long."""
    size = (12 << 20) + len(kind)  # what is in the store already would not be uploaded
    stop = Stop(stopping, kind, tmp_path / "gate", mark, size, "exit", grace=1)
    partial = stopping.state / "store" / "partial" / digest(b"x" * size)
    with injected(stopping.pid, "pwrite64", "delay_enter=500000", file=partial):
        stop.ask()
        done = stop.check(size)
    assert done["attempts"][0]["reason"] in ("canceled", "preempted", "timed-out")


class HeldStop:
    """The test is the runner of a run that was asked to stop and says that its processes are gone."""

    def __init__(self, server, folder):
        self.client = server.client()
        self.attempt = HeldAttempt(server, folder, self.client.submit("true", grace_seconds=0))
        self.attempt.claim().expect(200)
        # As whole as a runner's: what is left can be adopted.
        (task,) = (server.state / "work").glob(f"{self.client.run(self.attempt.run)['sequence']}.*")
        (task / "spool" / "spool.json").write_text("{}\n")
        self.runner = processes.with_environment("LATHE_HOLD", str(folder))[0]
        self.client.cancel(self.attempt.run).expect(200)
        self.attempt.client.post(f"{self.attempt.path}/state", {"state": "finalizing"}, query={"node": 0}).expect(204)

    def is_alive(self):
        return processes.is_alive(self.runner)


@pytest.fixture
def held_server(make_server, tmp_path):
    """Its runners never come; force comes soon, and a delivery has two seconds for each step."""
    rules = holding_config(tmp_path)["providers"]["local"]
    server = make_server(config=config(delivery_patience_seconds=2, **rules)).start().prepare()
    yield server
    for pid in processes.with_environment("LATHE_HOLD", str(tmp_path)):
        processes.kill(pid)


def test_a_delivery_goes_on_for_as_long_as_something_arrives(held_server, tmp_path):
    held = HeldStop(held_server, tmp_path)
    for number in range(12):  # six times the margin, twice the patience, in small steps
        held.attempt.append(b"line\n", 5 * number).expect(200)
        never(lambda: not held.is_alive(), 0.5, "force against a delivery")
    data = b"late"
    held.attempt.client.request("POST", "/api/v1/blobs/pack", body=pack(data)).expect(200)
    file = {"path": "outputs/late", "digest": digest(data), "size": len(data), "executable": False}
    held.attempt.call("artifacts", {"files": [file]}).expect(204)
    held.attempt.finish(reason="canceled").expect(200)
    held.client.wait(held.attempt.run, "Canceled")
    assert held.client.file(held.attempt.run, "outputs/late").expect(200).body == data


def test_a_delivery_that_does_not_get_on_is_ended_and_begun_again(held_server, tmp_path):
    held = HeldStop(held_server, tmp_path)
    wait_for(lambda: not held.is_alive(), 20, "the end of the runner that says nothing more")
    log = held_server.said
    wait_for(lambda: "what it left is adopted" in log(), 20, "an adopter")


def test_nothing_but_the_stop_is_said_to_a_runner_that_is_to_stop(held_server, tmp_path):
    """A secret that waits to be hidden is no reason to tell it to run."""
    client = held_server.client()
    attempt = HeldAttempt(held_server, tmp_path, client.submit("true", grace_seconds=60))
    attempt.claim().expect(200)
    client.put(client.path("secrets", "late"), {"value": "a value to be hidden"}).expect(204)
    with contextlib.suppress(OSError):
        attempt.client.request("GET", client.path("secrets", "late"), timeout=1)  # nobody hides it
    client.cancel(attempt.run).expect(200)
    wishes = attempt.desired()
    said = [next(wishes)]
    attempt.finish(reason="canceled").expect(200)
    assert said + list(wishes) == [{"desired": "stop", "reason": "canceled"}]


def test_what_nobody_can_deliver_is_kept_and_the_run_says_where(make_server, tmp_path, mark):
    """Every adopter fails at once, as with a spool that its version cannot read."""
    launcher = tmp_path / "launcher"
    launcher.write_text('#!/bin/sh\ncase "$*" in *--adopt*) exit 1;; esac\nexec "$@"\n')
    launcher.chmod(0o755)
    server = make_server(config=config(launcher=[str(launcher)])).start().prepare()
    stop = Stop(server, "cancel", tmp_path / "gate", mark)
    folder = stop.folder
    stop.ask()
    stop.wait_for_checkpoint()
    processes.kill(processes.runner_of(server.state, folder.name))
    done = stop.client.wait(stop.run, "Canceled", deadline=60)
    assert any(str(folder) in note and "kept" in note for note in done["notes"]), done["notes"]
    assert (folder / "run" / "outputs" / "checkpoint").read_bytes() == b"x"
    server.restart()
    assert (folder / "run" / "outputs" / "checkpoint").read_bytes() == b"x"
    assert str(folder) in server.cli("run", "show", stop.run).stdout
