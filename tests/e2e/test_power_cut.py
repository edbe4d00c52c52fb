"""A power cut: everything that was not synced is gone. The state folder is on an ext4 file system that is shut down under
the server (EXT4_IOC_SHUTDOWN without flushing its journal), unmounted, mounted again and recovered."""

import os
import signal
import subprocess
import time

import pytest

from harness import cgroups, disks, processes
from harness.campaign import Campaign
from harness.checker import check_files
from harness.client import TERMINAL, make_submit, new_id
from harness.collector import Collector
from harness.disks import LoopDisk
from harness.ledger import Ledger
from harness.load import Load
from harness.server import Server
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
