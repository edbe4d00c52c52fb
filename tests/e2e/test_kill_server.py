"""kill -9 of the server at random moments under load: nothing acknowledged is lost, and no script notices."""

import http.client
import os
import sys
import time

import pytest

from harness import processes
from harness.campaign import Campaign
from harness.checker import check_everything
from harness.client import TERMINAL, new_id
from harness.collector import Collector
from harness.ledger import Ledger
from harness.load import Load
from harness.server import Server, isolated_config
from harness.wait import wait_for

NOBODY = 65534
# Who the server and its runners are, block by block: the machine's, those of an ordinary user, or runners that see nothing
# of the server but its socket, and send their logs as bytes.
KINDS_OF_SERVERS = ("plain", "nobody", "isolated", "nobody")


def make_kind(number):
    kind = KINDS_OF_SERVERS[number % len(KINDS_OF_SERVERS)] if os.geteuid() == 0 else "plain"
    server = Server(user=NOBODY if kind == "nobody" else None)
    if kind == "isolated":
        server.write_config(isolated_config(server.state))
    return server


def kill_and_start(server, chance):
    """Kills it at a random moment of its life, and some of those that follow while they start and recover. How many died."""
    time.sleep(chance.uniform(0.02, 1.0))  # the moment of the fault, not a wait
    server.kill()
    kills = 1
    while chance.random() < 0.3:
        server.start_and_kill(chance.uniform(0, 0.25))
        kills += 1
    server.start()
    return kills


@pytest.mark.campaign
def test_nothing_acknowledged_is_lost_when_the_server_is_killed_at_random(tmp_path):
    campaign = Campaign("kill-server", "LATHE_KILLS", 100)
    for block in campaign.blocks(25):
        first = block[0][0]
        mark, ledger, server = new_id("mark"), Ledger(tmp_path / f"ledger.{first}"), make_kind(first // 25)
        with server:
            load, collector = Load(server, ledger, mark, seed=f"{campaign.seed}.{first}"), Collector(server, ledger)
            for _, chance in block:
                campaign.add(kills=kill_and_start(server, chance))
            load.stop()
            campaign.add(collected=collector.stop())
            campaign.add(runs=check_everything(server, ledger, mark), deeds=len(ledger.acknowledgements()))
    assert campaign.totals["collected"] > 0, "no collection has removed anything: it was not tried"


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


def test_a_script_that_ends_while_the_server_is_away_is_delivered_when_it_returns(make_server, mark, meeting_place):
    server, gate = make_server().start().prepare(), meeting_place / "gate"
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
        if client.status(run) in TERMINAL:
            break
    seen += client.log(run, offset=len(seen))
    assert seen == b"".join(b"%d\n" % i for i in range(300))
