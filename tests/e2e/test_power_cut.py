"""A power cut: everything that was not synced is gone. The state folder is on an ext4 file system that is shut down under
the server (EXT4_IOC_SHUTDOWN without flushing its journal), unmounted, mounted again and recovered."""

import http.client
import os
import signal
import subprocess
import threading
import time

import pytest

from harness import cgroups, disks, processes
from harness.attempt import HeldAttempt
from harness.campaign import Campaign
from harness.checker import check_files
from harness.client import TERMINAL, make_submit, new_id
from harness.collector import Collector
from harness.disks import LoopDisk
from harness.ledger import Ledger
from harness.load import Load
from harness.server import Server, holding_config
from harness.survivors import check_survivors
from harness.wait import wait_for

# What a follower has seen is on disk a second later (docs/dev/promises.md, A3); a loaded machine gets some more.
SYNC_PERIOD = 2.0


@pytest.fixture
def disk():
    disk = LoopDisk()
    yield disk
    disk.remove()


def kill_all(server, mark):
    """Those that were found: what is not stopped may fork on between a look and its kill."""
    found = [*processes.runners_of(server.state), *processes.with_environment("E2E_MARK", mark)]
    for pid in found:
        processes.kill(pid)
    return found


def cut_power(server, disk, mark, ledger):
    """Everything stops where it is, and nothing of it runs on a disk that is gone."""
    os.kill(server.pid, signal.SIGSTOP)
    for pid in processes.runners_of(server.state):
        processes.kill(pid, signal.SIGSTOP)
    disk.cut()
    server.kill()
    wait_for(lambda: not kill_all(server, mark), 20, "the end of everything that ran")
    groups = cgroups.of_runs(ledger.runs_attempted())  # in memory: a power cut takes them, too
    wait_for(lambda: cgroups.are_removed(groups), 20, "the end of their control groups")
    disk.unmount()
    disk.replace()
    disk.mount()


TALKER = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.05; done"


def start_talkers(client, ledger, mark):
    """Runs that speak until the cut; what they have said is not in any ended log."""
    talkers = [make_submit(TALKER, id=new_id("talker"), environment={"variables": {"E2E_MARK": mark}}) for _ in range(2)]
    for submit in talkers:
        ledger.attempted(submit["id"], kind="cancelled")
        client.post(client.path("runs"), submit).expect(201)
    return [submit["id"] for submit in talkers]


@pytest.mark.root
@pytest.mark.campaign
@pytest.mark.skipif(not disks.are_possible(), reason="needs loop devices")
def test_nothing_acknowledged_is_lost_in_a_power_cut(disk, tmp_path):
    campaign = Campaign("power-cut", "LATHE_CUTS", 3)
    for number, block in enumerate(campaign.blocks(1)):
        ((_, chance),) = block
        mark, ledger = new_id("mark"), Ledger(tmp_path / f"ledger.{number}")
        with Server(disk.mounted / f"state{number}") as server:
            client = server.client()
            talkers = start_talkers(client, ledger, mark)
            load, collector = Load(server, ledger, mark, seed=f"{campaign.seed}.{number}"), Collector(server, ledger)
            time.sleep(chance.uniform(0.2, 2.5))  # the moment of the fault, not a wait
            shown = {run: client.log(run) for run in talkers}
            time.sleep(SYNC_PERIOD)  # what was shown that long ago is promised
            ended = {run["id"] for run in client.items(client.path("runs"), limit=500) if run["status"] in TERMINAL}
            before = ledger.acknowledgements()
            cut_power(server, disk, mark, ledger)
            server.start()
            load.stop()
            campaign.add(collected=collector.stop())
            campaign.add(runs=check_survivors(server, before, ended, ledger, shown))
            check_files(server)
        subprocess.run(["rm", "-rf", server.state], check=True)


class Follower:
    """Reads a log as a person does, and remembers what it was shown when."""

    def __init__(self, client, run):
        self.shown = []  # (time, bytes of the log so far)
        self.thread = threading.Thread(target=self.read, args=(client, run), daemon=True)
        self.thread.start()

    def read(self, client, run):
        size = 0
        try:
            for piece in client.follow(run):
                size += len(piece)
                self.shown.append((time.monotonic(), size))
        except (OSError, ValueError, http.client.HTTPException):
            pass  # the server is gone

    def shown_before(self, moment):
        return max((size for at, size in list(self.shown) if at <= moment), default=0)


@pytest.mark.root
@pytest.mark.skipif(not disks.are_possible(), reason="needs loop devices")
@pytest.mark.parametrize("way", ["linked", "sent"])
def test_lines_that_were_shown_a_second_before_a_power_cut_are_kept(disk, tmp_path, way):
    """Of a run that goes on: by its runner, which syncs its spool, and by request, where the server syncs what it was sent."""
    mark, ledger = new_id("mark"), Ledger(tmp_path / "ledger")
    with Server(disk.mounted / "state", config=holding_config(tmp_path) if way == "sent" else None) as server:
        client = server.client()
        script = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done"
        run = client.submit(script, environment={"variables": {"E2E_MARK": mark}})
        if way == "sent":
            attempt, sent = HeldAttempt(server, tmp_path, run), 0
            attempt.claim().expect(200)
        follower, begun = Follower(client, run), time.monotonic()

        def is_long_enough():
            nonlocal sent
            if way == "sent":
                line = f"line {sent}\n".encode()
                attempt.append(line, sent).expect(200)
                sent += len(line)
            return follower.shown_before(time.monotonic() - 1) > 200 and time.monotonic() - begun > 3

        wait_for(is_long_enough, 60, "lines that were shown a second ago", every=0.02)
        cut_at = time.monotonic()
        os.kill(server.pid, signal.SIGSTOP)
        must_be_kept = follower.shown_before(cut_at - 1)
        for pid in processes.with_environment("LATHE_HOLD", str(tmp_path)):
            processes.kill(pid)
        cut_power(server, disk, mark, ledger)
        server.start()
        client = server.client()
        client.wait(run, "Failed")
        kept = client.log(run)
        assert len(kept) >= must_be_kept > 0, f"{must_be_kept} bytes were shown, {len(kept)} are kept"
        for number, line in enumerate(kept.decode().splitlines()[:-1], 1):
            assert way == "sent" or line == f"line {number}"
