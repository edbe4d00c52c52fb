"""kill -9 of runners, of what guards their runs, of adopters and of the fork server, alone and together: the processes of
the run die, the attempt ends once, and its spool is delivered exactly once."""

import os
import time

import pytest

from harness import processes
from harness.campaign import Campaign
from harness.checker import check_events, check_files, check_machine, check_processes
from harness.client import new_id
from harness.collector import Collector
from harness.ledger import Ledger
from harness.paths import PYTHON
from harness.server import Server
from harness.victims import COMPANIES, kill_company
from harness.wait import wait_for

# Saves a checkpoint, then counts for ever, or `$COUNT` lines; leaves a daemon of its own behind: forked twice, in a session
# of its own.
SCRIPT = """
import os, subprocess, sys, time
os.makedirs("outputs", exist_ok=True)
with open("outputs/checkpoint", "w") as file: file.write("saved")
subprocess.run(["/bin/sh", "-c", "setsid sleep 600 </dev/null >/dev/null 2>&1 &"])
i, end = 0, int(os.environ["COUNT"])
while i != end:
    sys.stdout.write(f"line {i}\\n")
    sys.stdout.flush()
    i += 1
    if i % 50 == 0: time.sleep(0.005)
"""
AT_ONCE = 5
NOBODY = 65534
# What the run comes to when nobody is killed: a number of lines, or a stop that somebody asks for.
PLANS = ("endless", "endless", "short", "cancel", "time-out")


def lines(count):
    return b"".join(b"line %d\n" % i for i in range(count))


def runner_of(client, run):
    """The process of the runner itself, by the folder of its task; not its guardian, and not an adopter."""
    found = client.run(run)
    return processes.runner_of(client.socket_path.parents[1], f"{found['sequence']}.{found['attempt']}.0")


def kill_runner(client, run):
    processes.kill(wait_for(lambda: runner_of(client, run), 20, f"the runner of {run}"))


def check_log(log):
    """The log is a beginning of what the script wrote: no byte lost before its end, none doubled."""
    assert log == lines(log.count(b"\n") + 1)[: len(log)], "the log is not a beginning of the script's output"


def submit(client, mark, count, **fields):
    variables = {"E2E_MARK": mark, "COUNT": str(count)}
    return client.submit([PYTHON, "-c", SCRIPT], environment={"variables": variables}, **fields)


def submit_plan(client, mark, plan):
    limit = {"max_run_duration_seconds": 1} if plan == "time-out" else {}
    return submit(client, mark, 400 if plan == "short" else -1, grace_seconds=0, **limit)


def check_end(client, run, seen, plan="endless", company=("runner",)):
    if client.status(run) not in ("Completed", "Failed", "Canceled") and not set(company) & {"runner", "guard"}:
        client.cancel(run).expect(200, 202, 409)  # nobody has ended it: its script goes on for ever
        plan = "cancel"
    done = client.wait(run, "Failed", "Completed", "Canceled", deadline=60)
    check_events(client, run)
    assert len(done["attempts"]) == 1, done["attempts"]
    log = client.log(run)
    check_log(log)
    assert log.startswith(seen), "bytes that a client had seen are gone"
    if log:  # whatever ends a run, what it had saved before arrives
        assert client.file(run, "outputs/checkpoint").expect(200).body == b"saved", f"{company} under {plan}"
    check_status(done, log, plan, company)
    return done["status"]


def check_status(done, log, plan, company):
    if plan == "cancel":
        return  # who was first, the cancel or the kill, is open; either end is one
    if done["status"] == "Failed" and "guard" not in company and plan != "time-out":
        assert done["error"]["code"] == "node-lost" and done["attempts"][-1]["reason"] == "node-lost", done["error"]
    if done["status"] == "Completed":
        assert plan == "short" and log == lines(400)
    assert done["status"] != "Canceled", "nobody has cancelled it"


@pytest.mark.campaign
def test_whoever_is_killed_the_attempt_ends_and_its_spool_is_delivered_once(tmp_path):
    campaign = Campaign("kill-runner", "LATHE_RUNNER_KILLS", 50)
    for block in campaign.blocks(25):
        mark = new_id("mark")
        # Every other block belongs to an ordinary user, for whom the modes of files count.
        ordinary = block[0][0] // 25 % 2 == 1 and os.geteuid() == 0
        with processes.ended(mark), Server(user=NOBODY if ordinary else None) as server:
            runs, collector = [], Collector(server, Ledger(tmp_path / f"ledger.{block[0][0]}"))
            for start in range(0, len(block), AT_ONCE):
                runs += kill_some(server, mark, block[start : start + AT_ONCE], campaign)
            campaign.add(collected=collector.stop())
            check_processes(server.state, mark)
            check_machine(server, runs)
            check_files(server)


def kill_some(server, mark, faults, campaign):
    """Several runs at once, each with its own plan and company; their ends overlap. Their ids."""
    client, under_way = server.client(), []
    for _, chance in faults:
        plan, company = chance.choice(PLANS), chance.choice(COMPANIES)
        under_way.append((submit_plan(client, mark, plan), plan, company, chance))
    ends = []
    for run, plan, company, chance in under_way:
        wait_for(lambda: runner_of(client, run) or client.run(run)["ended"], 30, f"the runner of {run}")
        time.sleep(chance.uniform(0, 0.3))  # the moment of the fault, not a wait
        seen = client.log(run)
        if plan == "cancel":
            client.cancel(run).expect(200, 202, 409)
        kill_company(server, client, run, company)
        ends.append((run, seen, plan, company))
    for run, seen, plan, company in ends:
        campaign.add(**{check_end(client, run, seen, plan, company): 1})
    return [run for run, *_ in ends]


def test_a_lost_node_is_told_apart_from_a_failing_script(server, client, mark):
    run = submit(client, mark, -1)
    wait_for(lambda: client.log(run), 30, "the first output")
    kill_runner(client, run)
    done = client.wait(run, "Failed")
    assert done["error"]["code"] == "node-lost" and done["attempts"][0]["reason"] == "node-lost"
    assert done["attempts"][0]["exit_code"] in (None, 0)


def test_a_declared_retry_reruns_after_a_lost_node(server, client, mark, meeting_place):
    flag = meeting_place / "flag"
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
