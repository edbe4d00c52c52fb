"""How runs end before their time: cancel, time-out, memory, retries. In the end no process is left."""

import os
import time

import pytest

from harness import cgroups, processes
from harness.wait import wait_for

# A daemon that forks twice, leaves the session and ignores SIGTERM.
DAEMON = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        time.sleep(600)
    os._exit(0)
print("ready", flush=True)
time.sleep(600)
"""


def marked(mark):
    return {"variables": {"E2E_MARK": mark}}


def started(client, run, text=b"ready"):
    wait_for(lambda: text in client.log(run), 30, f"{text!r} in the log")


def cancel(client, run):
    asked = client.cancel(run).expect(200, 202).json()
    assert asked["status"] in ("CancelRequested", "Canceled")
    return client.wait(run, "Canceled")


def test_cancel_ends_a_run_and_keeps_its_outputs(any_server, mark):
    client = any_server.client()
    run = client.submit("mkdir -p outputs; echo kept > outputs/kept.txt; echo ready; sleep 600", environment=marked(mark))
    started(client, run)
    done = cancel(client, run)
    assert done["attempts"][-1]["reason"] == "canceled"
    assert client.file(run, "outputs/kept.txt").expect(200).body == b"kept\n"
    reached = [to for _, to in client.moves(run)]
    assert reached[-1] == "Canceled" and "CancelRequested" in reached


def test_cancel_gives_the_script_its_grace(any_server, mark):
    client = any_server.client()
    run = client.submit(
        "trap 'mkdir -p outputs; echo saved > outputs/checkpoint; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
        environment=marked(mark),
        grace_seconds=20,
    )
    started(client, run)
    begun = time.monotonic()
    cancel(client, run)
    assert time.monotonic() - begun < 15, "a script that ends at SIGTERM must not cost the whole grace"
    assert client.file(run, "outputs/checkpoint").expect(200).body == b"saved\n"


def test_cancel_kills_a_process_that_ignores_sigterm_after_the_grace(any_server, mark):
    client = any_server.client()
    run = client.submit("trap '' TERM; echo ready; while :; do sleep 0.1; done", environment=marked(mark), grace_seconds=1)
    started(client, run)
    begun = time.monotonic()
    cancel(client, run)
    assert 0.9 <= time.monotonic() - begun < 1 + 5, "grace, then at most five seconds"
    assert not processes.with_environment("E2E_MARK", mark)


def test_cancel_also_kills_a_daemon_that_forked_twice_and_left_the_session(any_server, mark):
    client = any_server.client()
    run = client.submit(["/usr/bin/env", "python3", "-c", DAEMON], environment=marked(mark), grace_seconds=1)
    started(client, run)
    wait_for(lambda: len(processes.with_environment("E2E_MARK", mark)) >= 2, 10, "the daemon")
    cancel(client, run)
    assert not processes.with_environment("E2E_MARK", mark)


def test_a_daemon_left_by_a_script_that_ended_is_gone_when_the_run_is_over(any_server, mark):
    client = any_server.client()
    run = client.submit(
        "setsid sh -c 'trap \"\" TERM HUP; sleep 600' </dev/null >/dev/null 2>&1 & echo done",
        environment=marked(mark),
        grace_seconds=1,
    )
    client.wait(run, "Completed")
    assert not processes.with_environment("E2E_MARK", mark)


def test_a_child_that_keeps_the_pipe_open_does_not_keep_the_run_open(any_server, mark):
    client = any_server.client()
    run = client.submit("sleep 600 & echo over", environment=marked(mark), grace_seconds=1)
    client.wait(run, "Completed", deadline=20)
    assert client.log(run) == b"over\n"


def test_cancel_of_a_queued_run_needs_no_node(any_server):
    client = any_server.client()
    client.put(client.path("computes", "one"), {"vm_size": "machine", "max_nodes": 1}).expect(200, 201)
    first = client.submit("echo ready; sleep 600", compute="one")
    started(client, first)
    second = client.submit("true", compute="one")
    waiting = client.wait(second, "Queued")
    assert waiting["waiting"]["reason"] and waiting["waiting"]["would_start_when"]
    done = cancel(client, second)
    assert done["attempts"] == [] and done["started"] is None
    cancel(client, first)


def test_cancel_twice_and_cancel_of_a_finished_run_change_nothing(any_server):
    client = any_server.client()
    run = client.submit("true")
    done = client.wait(run, "Completed")
    again = client.cancel(run)
    assert again.status in (200, 409)
    assert client.run(run)["generation"] == done["generation"]


def test_the_time_limit_ends_a_run(any_server, mark):
    client = any_server.client()
    run = client.submit(
        "mkdir -p outputs; echo kept > outputs/kept; echo ready; sleep 600",
        environment=marked(mark),
        max_run_duration_seconds=1,
        grace_seconds=1,
    )
    done = client.wait(run, "Failed", deadline=20)
    assert done["attempts"][0]["reason"] == "timed-out" and done["error"]["code"] == "timed-out"
    assert client.file(run, "outputs/kept").expect(200).body == b"kept\n"


def test_user_retries_rerun_a_failing_script_and_only_as_often_as_declared(any_server):
    client = any_server.client()
    run = client.submit("echo try; exit 3", retries={"user": 2})
    done = client.wait(run, "Failed")
    assert [attempt["number"] for attempt in done["attempts"]] == [1, 2, 3]
    assert all(attempt["exit_code"] == 3 for attempt in done["attempts"])
    assert client.log(run, attempt=1) == client.log(run, attempt=3) == b"try\n"


def test_a_retry_that_succeeds_completes_the_run(any_server, meeting_place):
    client, flag = any_server.client(), meeting_place / "flag"
    run = client.submit(f"test -e {flag} || {{ touch {flag}; exit 1; }}", retries={"user": 5})
    done = client.wait(run, "Completed")
    assert len(done["attempts"]) == 2 and done["error"] is None


def test_without_declared_retries_a_failure_is_final(any_server):
    client = any_server.client()
    done = client.wait(client.submit("exit 1", retries={"infrastructure": 3}), "Failed")
    assert len(done["attempts"]) == 1


def memory_limit_possible():
    return os.access("/sys/fs/cgroup/memory", os.W_OK) or os.access("/sys/fs/cgroup/cgroup.subtree_control", os.W_OK)


@pytest.mark.root
@pytest.mark.skipif(not memory_limit_possible(), reason="no memory cgroup that can be written")
def test_a_run_over_its_memory_says_out_of_memory_and_the_limit(any_server, mark):
    client = any_server.client()
    memory = client.get("/api/v1/server").expect(200).json()["machine"]["memory_bytes"]
    nodes = max(2, min(1000, memory // (192 << 20)))
    client.put(client.path("computes", "tiny"), {"vm_size": "machine", "max_nodes": nodes}).expect(200, 201)
    hog = "b = []\nwhile True: b.append(bytearray(8 << 20))"
    run = client.submit(["/usr/bin/env", "python3", "-c", hog], compute="tiny", environment=marked(mark))
    done = client.wait(run, "Failed", deadline=60)
    assert done["attempts"][0]["reason"] == "out-of-memory" and done["error"]["code"] == "out-of-memory"
    assert "MiB" in done["error"]["message"] or "GiB" in done["error"]["message"]


def idle_groups(server):
    """Control groups that short runs of this server left to the next ones, in the slots of their task folders."""
    folders = (server.state / "work").glob("*/spool")
    return sorted(cgroups.starting_with(*(f"lathe-idle-{folder.stat().st_ino % 64}-" for folder in folders)))


@pytest.mark.root
@pytest.mark.skipif(not os.access("/sys/fs/cgroup/memory", os.W_OK), reason="only cgroups v1 are used again")
def test_control_groups_are_used_again_and_go_with_the_server(make_server):
    server = make_server().start().prepare()
    client = server.client()
    client.wait(client.submit(["/bin/true"]), "Completed")
    wait_for(lambda: idle_groups(server), 20, "a group that was left idle")
    left = idle_groups(server)
    client.wait(client.submit(["/bin/true"]), "Completed")
    wait_for(lambda: idle_groups(server) == left, 20, "the same again and no more")
    server.kill()
    wait_for(lambda: not idle_groups(server), 20, "none is left")


def test_what_can_never_run_is_refused_at_submit(any_server):
    client = any_server.client()
    refused = client.submit_answer("true", node_count=9)
    assert refused.status == 400 and refused.error() == "invalid"
    assert refused.json()["field"] == "node_count" and refused.json()["hint"]
    client.submit_answer("true", compute="no-such-pool").expect(400, 404)
