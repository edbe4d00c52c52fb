"""kill -9 of runners: their processes die with them, the attempt ends node-lost, its spool is delivered exactly once."""

import sys
import time

import pytest

from harness import processes
from harness.campaign import Campaign
from harness.checker import check_blobs, check_database, check_events, check_leftovers, check_processes
from harness.client import new_id
from harness.server import Server
from harness.wait import wait_for

# Counts for ever, or `$COUNT` lines; leaves a daemon of its own behind: forked twice, in a session of its own.
SCRIPT = """
import os, subprocess, sys, time
subprocess.run(["/bin/sh", "-c", "setsid sleep 600 </dev/null >/dev/null 2>&1 &"])
i, end = 0, int(os.environ["COUNT"])
while i != end:
    sys.stdout.write(f"line {i}\\n")
    sys.stdout.flush()
    i += 1
    if i % 50 == 0: time.sleep(0.005)
"""
AT_ONCE = 5


def lines(count):
    return b"".join(b"line %d\n" % i for i in range(count))


def runner_of(client, run):
    """The process of the runner itself, by the folder of its task; not its guardian, and not an adopter."""
    found = client.run(run)
    folder = client.socket_path.parents[1] / "work" / f"{found['sequence']}.{found['attempt']}.0"
    runners = [pid for pid in processes.with_argument(folder) if b"--work" in processes.arguments(pid)]
    return next((pid for pid in runners if processes.name(pid) != "lathe-guardian" and processes.is_alive(pid)), None)


def kill_runner(client, run):
    processes.kill(wait_for(lambda: runner_of(client, run), 20, f"the runner of {run}"))


def check_log(log):
    """The log is a beginning of what the script wrote: no byte lost before its end, none doubled."""
    assert log == lines(log.count(b"\n") + 1)[: len(log)], "the log is not a beginning of the script's output"


def submit(client, mark, count, **fields):
    variables = {"E2E_MARK": mark, "COUNT": str(count)}
    return client.submit([sys.executable, "-c", SCRIPT], environment={"variables": variables}, **fields)


def check_end(client, run, seen):
    done = client.wait(run, "Failed", "Completed", deadline=60)
    check_events(client, run)
    log = client.log(run)
    check_log(log)
    assert log.startswith(seen), "bytes that a client had seen are gone"
    if done["status"] == "Failed":
        assert done["error"]["code"] == "node-lost", done["error"]
        assert done["attempts"][-1]["reason"] == "node-lost"
    else:
        assert log == lines(400)
    return done["status"]


@pytest.mark.campaign
def test_a_killed_runner_ends_its_attempt_and_its_spool_is_delivered_once():
    campaign = Campaign("kill-runner", "LATHE_RUNNER_KILLS", 50)
    mark = new_id("mark")
    with Server() as server:
        client = server.client()
        for block in campaign.blocks(AT_ONCE):
            # Some scripts are short, so that some kills fall on their end and on the delivery.
            runs = [submit(client, mark, chance.choice([-1, -1, 400])) for _, chance in block]
            for (_, chance), run in zip(block, runs):
                wait_for(lambda: runner_of(client, run) or client.status(run) in ("Completed", "Failed"), 30, f"the runner of {run}")
                time.sleep(chance.uniform(0, 0.3))  # the moment of the fault, not a wait
                seen, pid = client.log(run), runner_of(client, run)
                if chance.random() < 0.2:
                    server.kill()
                if pid:
                    processes.kill(pid)
                if not server.is_up():
                    server.start()
                status = check_end(client, run, seen)
                campaign.add(**{"node-lost" if status == "Failed" else "completed": 1})
            wait_for(lambda: not processes.with_environment("E2E_MARK", mark), 10, "the end of all processes")
        check_processes(server.state, mark)
        check_leftovers(server.state)
        server.stop()
        check_database(server.state)
        check_blobs(server.state)


def test_a_lost_node_is_told_apart_from_a_failing_script(server, client, mark):
    run = submit(client, mark, -1)
    wait_for(lambda: client.log(run), 30, "the first output")
    kill_runner(client, run)
    done = client.wait(run, "Failed")
    assert done["error"]["code"] == "node-lost" and done["attempts"][0]["reason"] == "node-lost"
    assert done["attempts"][0]["exit_code"] in (None, 0)


def test_a_declared_retry_reruns_after_a_lost_node(server, client, mark, tmp_path):
    flag = tmp_path / "flag"
    run = client.submit(
        f"if [ -e {flag} ]; then echo second; else touch {flag}; echo first; sleep 600; fi",
        retries={"infrastructure": 1},
        environment={"variables": {"E2E_MARK": mark}},
    )
    wait_for(lambda: client.log(run) == b"first\n", 30, "the first output")
    kill_runner(client, run)
    done = client.wait(run, "Completed")
    assert [attempt["reason"] for attempt in done["attempts"]] == ["node-lost", "exited"]
    assert client.log(run, attempt=1) == b"first\n" and client.log(run, attempt=2) == b"second\n"


def test_user_retries_do_not_cover_a_lost_node(server, client, mark):
    run = submit(client, mark, -1, retries={"user": 3})
    wait_for(lambda: client.log(run), 30, "the first output")
    kill_runner(client, run)
    assert len(client.wait(run, "Failed")["attempts"]) == 1


def test_outputs_on_disk_are_delivered_although_the_runner_died(server, client, mark):
    run = client.submit(
        "mkdir -p outputs; echo saved > outputs/checkpoint; echo ready; sleep 600",
        environment={"variables": {"E2E_MARK": mark}},
    )
    wait_for(lambda: b"ready" in client.log(run), 30, "the first output")
    kill_runner(client, run)
    client.wait(run, "Failed")
    assert client.file(run, "outputs/checkpoint").expect(200).body == b"saved\n"


def test_a_runner_killed_while_the_server_is_away_is_found_lost_when_it_returns(make_server, mark):
    server = make_server().start().prepare()
    client = server.client()
    run = submit(client, mark, -1)
    wait_for(lambda: client.log(run), 30, "the first output")
    seen, pid = client.log(run), runner_of(client, run)
    server.kill()
    processes.kill(pid)
    wait_for(lambda: not processes.with_environment("E2E_MARK", mark), 10, "the end of its processes")
    server.start()
    check_end(client, run, seen)


def test_nodes_are_free_again_after_lost_runners(server, client, mark):
    runs = [submit(client, mark, -1) for _ in range(4)]
    for run in runs:
        wait_for(lambda: client.log(run), 30, "the first output")
        kill_runner(client, run)
    for run in runs:
        client.wait(run, "Failed")
    wait_for(lambda: client.get(client.path("computes", "pool")).json()["nodes"]["running"] == 0, 20, "free nodes")
