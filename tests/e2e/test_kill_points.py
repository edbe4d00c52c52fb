"""kill -9 of the server at its N-th write-class system call, for every N: there is no bad moment. strace does the killing."""

import http.client
import os
import random
import shutil

import pytest

from harness.checker import check_blobs, check_database, check_events, check_leftovers, check_processes
from harness.client import TERMINAL, make_submit, new_id
from harness.load import BODY, WHOLE_LOG
from harness.server import StartFailed
from harness.wait import wait_for

pytestmark = [pytest.mark.campaign, pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")]

# What changes a file or tells a client; each is counted by itself, in each thread of the server.
CALLS = ["pwrite64", "fdatasync", "fsync", "ftruncate", "rename,renameat,renameat2", "link,linkat", "unlink,unlinkat",
         "mkdir,mkdirat", "write", "sendmsg,sendto", "clone,clone3,vfork"]  # fmt: skip
# All of them in `./test.sh --all`; otherwise so many that are chosen by the seed.
POINTS = os.environ.get("LATHE_KILL_POINTS", "24")
FARTHEST = 400


def killing_at(calls, number):
    """The prefix of a server that dies at the N-th of these calls of one of its threads. Runners are let go: -b execve."""
    return ["strace", "-f", "-qq", "-b", "execve", "-o", os.devnull, "-e", f"trace={calls}", "-e", f"inject={calls}:signal=SIGKILL:when={number}"]  # fmt: skip


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
    """A run with output and a file, from submit to its end. True when the server lived through it."""
    try:
        server.start()
    except StartFailed:
        start_plainly(server)
    server_was_killed = not server.prefix
    until_answered(server, lambda client: client.put("/api/v1/workspaces/default/computes/pool", {"vm_size": "machine", "max_nodes": 8}), (200, 201))  # fmt: skip
    submit = make_submit(BODY, environment={"variables": {"E2E_MARK": mark}})
    until_answered(server, lambda client: client.post(client.path("runs"), submit), (200, 201))

    def is_over():
        answer = until_answered(server, lambda client: client.get(client.path("runs", submit["id"])), (200,))
        return answer.json()["status"] in TERMINAL

    wait_for(is_over, 60, "the end of the run")
    server_was_killed = server_was_killed or not server.prefix
    if not server_was_killed:
        os.kill(server.pid, 15)
        server.process.wait(30)
    start_plainly(server) if not server.is_up() else None
    check(server, submit["id"], mark)
    return not server_was_killed


def check(server, run, mark):
    client = server.client()
    found = client.run(run)
    assert found["status"] == "Completed", f"{found['error']} {found['attempts']}"
    assert len(found["attempts"]) == 1, found["attempts"]
    check_events(client, run)
    assert client.log(run) == WHOLE_LOG and client.file(run, "outputs/id").expect(200).body == run.encode() + b"\n"
    check_processes(server.state, mark)
    check_leftovers(server.state)
    server.stop()
    check_database(server.state)
    assert check_blobs(server.state) > 0


def chosen_points():
    """(calls, N) in the order of the calls; N is None for "every N until the server lives through it"."""
    if POINTS == "all":
        return [(calls, None) for calls in CALLS]
    seed = int(os.environ.get("LATHE_SEED", random.SystemRandom().randrange(2**31)))
    print(f"kill points: {POINTS} of all, seed {seed}")
    chance = random.Random(seed)
    return [(calls, min(int(chance.paretovariate(0.7)), 60)) for calls in chance.choices(CALLS, k=int(POINTS))]


def test_a_server_killed_at_any_write_loses_nothing(make_server):
    killed = 0
    for calls, only in chosen_points():
        for number in [only] if only else range(1, FARTHEST):
            server, mark = make_server(prefix=killing_at(calls, number)), new_id("mark")
            try:
                lived = scenario(server, mark)
            except Exception as failure:
                raise AssertionError(f"after a kill at {calls} number {number}") from failure
            finally:
                server.close()
            killed += not lived
            if lived:
                break
        print(f"kill points: {calls}: up to {number}; {killed} kills in all", flush=True)
