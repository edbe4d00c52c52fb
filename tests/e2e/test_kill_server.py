"""kill -9 of the server at random moments under load: nothing acknowledged is lost, and no script notices."""

import http.client
import os
import sys
import time

import pytest

from harness import processes
from harness.campaign import Campaign
from harness.checker import check_blobs, check_database, check_events, check_leftovers, check_processes, check_runs
from harness.client import new_id
from harness.ledger import Ledger
from harness.load import KINDS, WHOLE_LOG, Load
from harness.server import Server, isolated_config
from harness.wait import wait_for


def check_everything(server, ledger, mark):
    client, attempted = server.client(), ledger.runs_attempted()
    for run in client.items(client.path("runs"), limit=500):
        if attempted[run["id"]]["kind"] == "cancelled":
            client.cancel(run["id"]).expect(200, 202, 409)
    wait_for(
        lambda: all(
            run["status"] in ("Completed", "Failed", "Canceled") for run in client.items(client.path("runs"), limit=500)
        ),
        60,
        "the end of all runs",
        every=0.1,
    )
    stored = check_runs(client, ledger)
    for run in stored.values():
        check_one(client, run["id"], attempted[run["id"]]["kind"])
    check_processes(server.state, mark)
    check_leftovers(server.state)
    assert client.post("/api/v1/store/verify").expect(200).json()["damaged"] == []
    server.stop()
    check_database(server.state)
    check_blobs(server.state)
    return len(stored)


def check_one(client, run, kind):
    """A run that nobody cancelled ends as its script says, in one attempt, with its whole log and its outputs."""
    found = client.run(run)
    check_events(client, run)
    assert found["status"] == KINDS[kind][1], f"{run} is {found['status']}: {found['error']} {found['attempts']}"
    assert len(found["attempts"]) <= 1, f"{run} was started more than once: {found['attempts']}"
    if kind != "cancelled":
        assert client.log(run) == WHOLE_LOG, f"the log of {run} is not what the script wrote"
        assert client.file(run, "outputs/id").expect(200).body == run.encode() + b"\n"


@pytest.mark.campaign
def test_nothing_acknowledged_is_lost_when_the_server_is_killed_at_random(tmp_path):
    campaign = Campaign("kill-server", "LATHE_KILLS", 100)
    for block in campaign.blocks(50):
        first = block[0][0]
        mark, ledger, server = new_id("mark"), Ledger(tmp_path / f"ledger.{first}"), Server()
        # In every other block the runners see nothing of the server but its socket, and send their logs as bytes.
        if first // 50 % 2 == 1 and os.geteuid() == 0:
            server.write_config(isolated_config(server.state))
        with server:
            load = Load(server, ledger, mark, seed=f"{campaign.seed}.{first}")
            for _, chance in block:
                time.sleep(chance.uniform(0.02, 1.0))  # the moment of the fault, not a wait
                server.kill()
                server.start()
            load.stop()
            campaign.add(runs=check_everything(server, ledger, mark))


COUNTER = "import os, time\nfor i in range(300): print(os.getpid(), i, flush=True); time.sleep(0.01)"


def test_a_script_does_not_notice_that_the_server_was_killed(make_server, mark):
    server = make_server().start().prepare()
    client = server.client()
    run = client.submit([sys.executable, "-c", COUNTER], environment={"variables": {"E2E_MARK": mark}})
    wait_for(lambda: client.log(run), 20, "the first line")
    before = processes.with_environment("E2E_MARK", mark)
    for _ in range(3):
        server.kill()
        assert processes.with_environment("E2E_MARK", mark) == before
        server.start()
        size = len(client.log(run))
        wait_for(lambda: len(client.log(run)) > size or client.status(run) == "Completed", 20, "new output after the restart")
    done = client.wait(run, "Completed")
    lines = [line.split() for line in client.log(run).decode().splitlines()]
    assert [int(number) for _, number in lines] == list(range(300))
    assert len({pid for pid, _ in lines}) == 1 and len(done["attempts"]) == 1


def test_a_script_that_ends_while_the_server_is_away_is_delivered_when_it_returns(make_server, mark, tmp_path):
    server, gate = make_server().start().prepare(), tmp_path / "gate"
    client = server.client()
    run = client.submit(
        f"echo ready; while [ ! -e {gate} ]; do sleep 0.02; done; mkdir -p outputs; echo late > outputs/late; echo over; exit 5",
        environment={"variables": {"E2E_MARK": mark}},
    )
    wait_for(lambda: b"ready" in client.log(run), 20, "the start of the script")
    server.kill()
    gate.touch()
    wait_for(lambda: not processes.with_environment("E2E_MARK", mark), 20, "the end of the script")
    server.start()
    done = client.wait(run, "Failed")
    assert done["attempts"][0]["exit_code"] == 5 and len(done["attempts"]) == 1
    assert client.log(run) == b"ready\nover\n" and client.file(run, "outputs/late").expect(200).body == b"late\n"


def test_a_cancel_that_was_acknowledged_is_kept_across_a_kill(make_server, mark):
    server = make_server().start().prepare()
    client = server.client()
    run = client.submit("echo ready; sleep 600", environment={"variables": {"E2E_MARK": mark}})
    wait_for(lambda: b"ready" in client.log(run), 20, "the start of the script")
    client.cancel(run).expect(200, 202)
    server.kill()
    server.start()
    client.wait(run, "Canceled")
    assert not processes.with_environment("E2E_MARK", mark)


def test_the_time_limit_holds_while_the_server_is_away(make_server, mark):
    server = make_server().start().prepare()
    client = server.client()
    run = client.submit(
        "echo ready; sleep 600", max_run_duration_seconds=2, grace_seconds=0, environment={"variables": {"E2E_MARK": mark}}
    )
    wait_for(lambda: b"ready" in client.log(run), 20, "the start of the script")
    server.kill()
    wait_for(lambda: not processes.with_environment("E2E_MARK", mark), 20, "the end at the time limit")
    server.start()
    assert client.wait(run, "Failed")["attempts"][0]["reason"] == "timed-out"


def test_a_clean_stop_leaves_runs_alone_and_ends_with_zero(make_server, mark):
    server = make_server().start().prepare()
    client = server.client()
    run = client.submit("echo ready; sleep 2; echo over", environment={"variables": {"E2E_MARK": mark}})
    wait_for(lambda: b"ready" in client.log(run), 20, "the start of the script")
    assert server.stop() == 0
    assert processes.with_environment("E2E_MARK", mark)
    server.start()
    client.wait(run, "Completed")
    assert client.log(run) == b"ready\nover\n"


def test_a_follower_goes_on_at_its_offset_after_a_kill(make_server):
    server = make_server().start().prepare()
    client = server.client()
    run = client.submit([sys.executable, "-c", COUNTER.replace("os.getpid(), ", "")])
    seen, kills = b"", 0
    while True:
        try:
            for piece in client.follow(run, offset=len(seen)):
                seen += piece
                if kills < 3 and seen.count(b"\n") > 40 * (kills + 1):
                    kills += 1
                    server.kill()
                    server.start()
        except (OSError, http.client.HTTPException):
            continue
        if client.status(run) == "Completed":
            break
    seen += client.log(run, offset=len(seen))
    assert seen == b"".join(b"%d\n" % i for i in range(300))
