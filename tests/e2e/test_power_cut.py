"""A power cut: everything that was not synced is gone. The state folder is on an ext4 file system that is shut down under
the server (EXT4_IOC_SHUTDOWN without flushing its journal), unmounted, mounted again and recovered."""

import fcntl
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import time

import pytest

from harness import cgroups, processes
from harness.campaign import Campaign
from harness.checker import all_are_over, check_content, check_events, check_files, check_machine, end_the_rest
from harness.client import TERMINAL, make_submit, new_id
from harness.collector import Collector
from harness.deeds import check_deeds
from harness.ledger import Ledger
from harness.load import KINDS, Load
from harness.server import Server
from harness.wait import wait_for

EXT4_IOC_SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32)
NO_LOG_FLUSH = 2
# What a follower has seen is on disk a second later (docs/dev/promises.md, A3); a loaded machine gets some more.
SYNC_PERIOD = 2.0


class CutDisk:
    """An ext4 file system in a file."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lathe-cut-"))
        self.image, self.mounted = self.folder / "image", self.folder / "disk"
        self.mounted.mkdir()
        with self.image.open("wb") as file:
            file.truncate(256 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", self.image], check=True)
        self.mount()

    def mount(self):
        subprocess.run(["mount", "-o", "loop", self.image, self.mounted], check=True)

    def cut(self):
        folder = os.open(self.mounted, os.O_RDONLY)
        fcntl.ioctl(folder, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        os.close(folder)

    def unmount(self):
        wait_for(lambda: subprocess.run(["umount", self.mounted], capture_output=True).returncode == 0, 30, "an unmounted disk")

    def replace(self):
        """A new disk with the bytes of the old one: some other mount namespace may keep the old one's file system alive."""
        copy = self.image.with_suffix(".copy")
        subprocess.run(["cp", "--sparse=always", self.image, copy], check=True)
        copy.replace(self.image)

    def remove(self):
        self.unmount()
        self.image.unlink()
        self.mounted.rmdir()
        self.folder.rmdir()


@pytest.fixture
def disk():
    disk = CutDisk()
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


def check(server, before, ended, ledger, lines_seen):
    """`before` are the ledger's acknowledgements from before the cut: a write that races it may be told and lost."""
    client, attempted = server.client(), ledger.runs_attempted()
    end_the_rest(client, ledger)
    wait_for(lambda: all_are_over(client), 60, "all ends", every=0.1)
    stored = {run["id"]: run for run in client.items(client.path("runs"), limit=500)}
    submitted = {row["run"] for row in before if row["action"] == "submit"}
    cancelled = {row["run"] for row in before if row["action"] == "cancel"}
    assert submitted <= set(stored), f"acknowledged and lost: {sorted(submitted - set(stored))[:5]}"
    for run in stored:
        check_run(client, run, attempted[run]["kind"], run in ended, run in cancelled)
        shown = lines_seen.get(run, b"")
        assert client.log(run).startswith(shown), f"{run}: lines that were shown long before the cut are lost"
    check_deeds(client, before)
    check_machine(server, stored)
    return len(stored)


def check_run(client, run, kind, had_ended, was_cancelled):
    """A run ended as its script says, or its node was lost in the cut; one whose end was told keeps that end, whole. A
    cancel that was acknowledged is kept, whatever became of the node."""
    found = client.run(run)
    check_events(client, run)
    assert len(found["attempts"]) <= 1, found["attempts"]
    lost = found["status"] == "Failed" and found["error"]["code"] == "node-lost"
    assert lost or found["status"] == KINDS[kind][1], f"{run}: {found['status']} {found['error']}"
    if not lost and kind != "cancelled":
        check_content(client, run)
    assert not (lost and had_ended), f"{run} had ended, and is lost now"
    assert not (lost and was_cancelled), f"{run} was cancelled, and is lost now"


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
@pytest.mark.skipif(not os.path.exists("/dev/loop-control"), reason="needs loop devices")
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
            campaign.add(runs=check(server, before, ended, ledger, shown))
            check_files(server)
        subprocess.run(["rm", "-rf", server.state], check=True)
