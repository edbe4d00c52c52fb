"""Faults at the N-th write-class system call of the server, for every N: a kill -9, and a disk that is full for a moment.
strace makes them. There is no bad moment."""

import collections
import http.client
import os
import random
import shutil
import signal

import pytest

from harness import campaign
from harness.checker import check_content, check_events, check_files, check_machine, check_processes
from harness.client import TERMINAL, make_submit, new_id
from harness.load import BODY
from harness.server import StartFailed
from harness.wait import wait_for

pytestmark = [pytest.mark.campaign, pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")]

# What changes a file or tells a client; each is counted by itself, in each thread of the server.
CALLS = ["pwrite64", "fdatasync", "fsync", "ftruncate", "rename,renameat,renameat2", "link,linkat", "unlink,unlinkat",
         "mkdir,mkdirat", "write", "sendmsg,sendto", "clone,clone3,vfork"]  # fmt: skip
# All of them in `./test.sh --all`; otherwise so many that are chosen by the seed.
POINTS = os.environ.get("LATHE_KILL_POINTS", "24")
NOBODY = 65534
FARTHEST = 400
# What can need room on the disk.
FILLING = ["pwrite64", "ftruncate", "rename,renameat,renameat2", "link,linkat", "mkdir,mkdirat"]


def failing_at(calls, number, fault):
    """The prefix of a server with a fault at the N-th of these calls of each of its threads. Runners are let go: -b execve."""
    return ["strace", "-f", "-qq", "-b", "execve", "-o", os.devnull, "-e", f"trace={calls}", "-e", f"inject={calls}:{fault}:when={number}"]  # fmt: skip


def until_answered(server, call, wanted):
    """Calls until the server answers well; one that was killed is started again, without strace."""

    def answered():
        try:
            answer = call(server.client(timeout=10))
            return answer if answer.status in wanted else None
        except (OSError, http.client.HTTPException, ValueError):
            if not server.is_up():
                start_plainly(server)
            return None

    return wait_for(answered, 30, "an answer")


def start_plainly(server):
    server.prefix = []
    server.start()


def scenario(server, mark):
    """A run with output and a file, from submit to its end. Tells whether the server "lived" through it, had "died", or
    was "not started"."""
    try:
        server.start()
        fate = "lived"
    except StartFailed:
        start_plainly(server)
        fate = "not started"
    until_answered(server, lambda client: client.put("/api/v1/workspaces/default/computes/pool", {"vm_size": "machine", "max_nodes": 8}), (200, 201))  # fmt: skip
    submit = make_submit(BODY, environment={"variables": {"E2E_MARK": mark}})
    until_answered(server, lambda client: client.post(client.path("runs"), submit), (200, 201))

    def is_over():
        answer = until_answered(server, lambda client: client.get(client.path("runs", submit["id"])), (200,))
        return answer.json()["status"] in TERMINAL

    wait_for(is_over, 60, "the end of the run")
    if fate == "lived" and not server.prefix:
        fate = "died"
    if fate == "lived":
        os.kill(server.pid, signal.SIGTERM)
        server.process.wait(30)
    if not server.is_up():
        start_plainly(server)
    check(server, submit["id"], mark)
    return fate


def check(server, run, mark):
    client = server.client()
    found = client.run(run)
    assert found["status"] == "Completed", f"{found['error']} {found['attempts']}"
    assert len(found["attempts"]) == 1, found["attempts"]
    check_events(client, run)
    check_content(client, run)
    check_processes(server.state, mark)
    check_machine(server, [run])
    check_files(server)


def chosen_points(all_calls):
    """(calls, N); N is None for "every N until the server lives through it"."""
    if POINTS == "all":
        return [(calls, None) for calls in all_calls]
    seed = int(os.environ.get("LATHE_SEED", random.SystemRandom().randrange(2**31)))
    campaign.say(f"kill points: {POINTS} of all, seed {seed}")
    chance = random.Random(seed)
    return [(calls, min(int(chance.paretovariate(0.7)), 60)) for calls in chance.choices(all_calls, k=int(POINTS))]


def inject(make_server, calls, number, fault):
    """What became of the server. Every other one belongs to an ordinary user."""
    user = NOBODY if number % 2 == 0 and os.geteuid() == 0 else None
    server, mark = make_server(prefix=failing_at(calls, number, fault), user=user), new_id("mark")
    try:
        return scenario(server, mark)
    except Exception as failure:
        raise AssertionError(f"after {fault} at {calls} number {number}") from failure
    finally:
        server.close()


def test_a_server_killed_at_any_write_loses_nothing(make_server):
    killed = 0
    for calls, only in chosen_points(CALLS):
        for number in [only] if only else range(1, FARTHEST):
            if inject(make_server, calls, number, "signal=SIGKILL") == "lived":
                break
            killed += 1
        if POINTS == "all":
            campaign.say(f"kill points: {calls}: up to {number}; {killed} kills in all")
    campaign.say(f"kill points: {killed} kills, nothing lost")


def test_a_disk_that_is_full_for_a_moment_at_any_write_costs_nothing(make_server):
    """A server that is up goes on; one that is starting may give up, and starts when it is asked again."""
    fates = collections.Counter()
    for calls, only in chosen_points(FILLING):
        for number in [only] if only else range(1, 60):
            fate = inject(make_server, calls, number, "error=ENOSPC")
            assert fate != "died", f"a full disk at {calls} number {number} ended the server"
            fates[fate] += 1
    campaign.say(f"full-disk points: {dict(fates)}; nothing lost")
