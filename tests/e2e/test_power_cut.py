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
from harness.checker import check_blobs, check_database, check_events, check_leftovers
from harness.client import TERMINAL, new_id
from harness.ledger import Ledger
from harness.load import KINDS, WHOLE_LOG, Load
from harness.server import Server
from harness.wait import wait_for

EXT4_IOC_SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32)
NO_LOG_FLUSH = 2


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


def check(server, acknowledged, ended, ledger):
    client = server.client()
    for run in client.items(client.path("runs"), limit=500):
        if ledger.runs_attempted()[run["id"]]["kind"] == "cancelled" and run["status"] not in TERMINAL:
            client.cancel(run["id"]).expect(200, 202, 409)
    wait_for(
        lambda: all(run["status"] in TERMINAL for run in client.items(client.path("runs"), limit=500)), 60, "all ends", every=0.1
    )
    stored = {run["id"]: run for run in client.items(client.path("runs"), limit=500)}
    assert acknowledged <= set(stored), f"acknowledged and lost: {sorted(acknowledged - set(stored))[:5]}"
    for run in stored:
        check_run(client, run, ledger.runs_attempted()[run]["kind"], run in ended)
    check_leftovers(server.state)
    assert client.post("/api/v1/store/verify").expect(200).json()["damaged"] == []
    return len(stored)


def check_run(client, run, kind, had_ended):
    """A run ended as its script says, or its node was lost in the cut; one whose end was told keeps that end, whole."""
    found = client.run(run)
    check_events(client, run)
    assert len(found["attempts"]) <= 1, found["attempts"]
    lost = found["status"] == "Failed" and found["error"]["code"] == "node-lost"
    assert lost or found["status"] == KINDS[kind][1], f"{run}: {found['status']} {found['error']}"
    if not lost and kind != "cancelled":
        assert client.log(run) == WHOLE_LOG
        assert client.file(run, "outputs/id").expect(200).body == run.encode() + b"\n"
    assert not (lost and had_ended), f"{run} had ended, and is lost now"


@pytest.mark.root
@pytest.mark.campaign
@pytest.mark.skipif(not os.path.exists("/dev/loop-control"), reason="needs loop devices")
def test_nothing_acknowledged_is_lost_in_a_power_cut(disk, tmp_path):
    campaign = Campaign("power-cut", "LATHE_CUTS", 3)
    for number, block in enumerate(campaign.blocks(1)):
        ((_, chance),) = block
        mark, ledger = new_id("mark"), Ledger(tmp_path / f"ledger.{number}")
        with Server(disk.mounted / f"state{number}") as server:
            load = Load(server, ledger, mark, seed=f"{campaign.seed}.{number}")
            time.sleep(chance.uniform(0.2, 2.5))  # the moment of the fault, not a wait
            client = server.client()
            ended = {run["id"] for run in client.items(client.path("runs"), limit=500) if run["status"] in TERMINAL}
            acknowledged = ledger.runs_acknowledged()  # before the cut: a write that races it may be told and lost
            cut_power(server, disk, mark, ledger)
            server.start()
            load.stop()
            campaign.add(runs=check(server, acknowledged, ended, ledger))
            server.stop()
            check_database(server.state)
            check_blobs(server.state)
        subprocess.run(["rm", "-rf", server.state], check=True)
