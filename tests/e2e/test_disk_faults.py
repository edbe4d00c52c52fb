"""Disks that break under a real file system: errors of the device, a file system that turns read-only, one that is slow, one
that hangs. Nothing acknowledged is lost, nothing is acknowledged that is not on disk, and an error is never tried away."""

import contextlib
import http.client
import os
import time

import pytest

from harness import cgroups, disks, processes
from harness.campaign import Campaign
from harness.checker import check_everything, check_files
from harness.client import TERMINAL, make_submit, new_id
from harness.disks import LoopDisk, slow_group
from harness.ledger import Ledger
from harness.load import KINDS, Load
from harness.server import Server
from harness.survivors import check_survivors
from harness.wait import wait_for

pytestmark = [pytest.mark.root, pytest.mark.skipif(not disks.are_possible(), reason="needs loop devices")]

MIB = 1 << 20


@contextlib.contextmanager
def disk_of(**options):
    disk = LoopDisk(**options)
    try:
        yield disk
    finally:
        disk.remove()


def is_stored(server, ledger, mark):
    """One more submit: a server that writes nothing may not notice what its disk has become."""
    submit = make_submit(KINDS["quick"][0], id=new_id("quick"), environment={"variables": {"E2E_MARK": mark}})
    ledger.attempted(submit["id"], kind="quick")
    try:
        client = server.client(timeout=5)
        return client.post(client.path("runs"), submit).status in (200, 201)
    except (OSError, http.client.HTTPException, ValueError):
        return False


def end_all(server, mark):
    """Nothing of a machine whose disk is gone runs on."""
    server.kill()

    def found():
        left = [*processes.runners_of(server.state), *processes.with_environment("E2E_MARK", mark)]
        for pid in left:
            processes.kill(pid)
        return left

    wait_for(lambda: not found(), 20, "the end of everything that ran")


def break_and_replace(campaign, tmp_path, spoil, must_end=True, **options):
    """Under load the disk is spoiled; the server must end by itself, and what it had said must be on the disk."""
    for number, block in enumerate(campaign.blocks(1)):
        ((_, chance),) = block
        mark, ledger = new_id("mark"), Ledger(tmp_path / f"{campaign.name}.{number}")
        with disk_of(**options) as disk, processes.ended(mark), Server(disk.mounted / "state") as server:
            load = Load(server, ledger, mark, seed=f"{campaign.seed}.{number}")
            time.sleep(chance.uniform(0.3, 1.5))  # the moment of the fault, not a wait
            client = server.client()
            ended = {run["id"] for run in client.items(client.path("runs"), limit=500) if run["status"] in TERMINAL}
            before = ledger.acknowledgements()
            spoil(disk)
            wait_for(lambda: not is_stored(server, ledger, mark), 60, "a refusal")
            if must_end:
                wait_for(lambda: is_stored(server, ledger, mark) or not server.is_up(), 60, "the end of the server")
                assert not server.is_up() and server.process.returncode not in (0, -6, -9, -11), server.said()[-2000:]
            told = ledger.acknowledgements()
            end_all(server, mark)
            groups = cgroups.of_runs(ledger.runs_attempted())  # whoever would remove them was killed, and their spools may be gone
            wait_for(lambda: cgroups.are_removed(groups), 20, "the end of their control groups")
            disk.renew()
            server.start()
            load.stop()
            for submit in [row for row in told if row["action"] == "submit"]:
                client.get(client.path("runs", submit["run"])).expect(200)
            campaign.add(runs=check_survivors(server, before, ended, ledger))
            check_files(server)


@pytest.mark.campaign
def test_an_error_of_the_device_ends_the_server_and_loses_nothing(tmp_path):
    """Every request is EIO; ext4 gives it to fsync, and its journal stops."""
    campaign = Campaign("device-errors", "LATHE_DISK_FAULTS", 2)
    break_and_replace(campaign, tmp_path, lambda disk: disk.break_device(), kind="breaking")


@pytest.mark.campaign
@pytest.mark.skipif("LATHE_LONG" not in os.environ, reason="a start after it may be refused (docs/dev/progress.md); LATHE_LONG=1 runs it")
def test_a_device_without_room_loses_nothing_that_was_told(tmp_path):
    """Syncs fail although writes had succeeded: what the kernel has dropped must not be told on a second try."""
    campaign = Campaign("thin-device", "LATHE_DISK_FAULTS", 2)
    room = {"kind": "thin", "size": 192 * MIB, "limit": 210 * MIB}
    break_and_replace(campaign, tmp_path, lambda disk: disk.fill_device(), must_end=False, **room)


@pytest.mark.campaign
def test_a_disk_that_turns_read_only_ends_the_server_and_loses_nothing(tmp_path):
    campaign = Campaign("read-only", "LATHE_DISK_FAULTS", 2)
    break_and_replace(campaign, tmp_path, lambda disk: disk.make_read_only())


def under_load(campaign, tmp_path, fault):
    """A fault that passes: every script lives through it, and so does the server."""
    for number, block in enumerate(campaign.blocks(1)):
        ((_, chance),) = block
        mark, ledger = new_id("mark"), Ledger(tmp_path / f"{campaign.name}.{number}")
        with disk_of() as disk, processes.ended(mark), Server(disk.mounted / "state") as server:
            pid = server.pid
            load = Load(server, ledger, mark, seed=f"{campaign.seed}.{number}")
            time.sleep(chance.uniform(0.2, 0.8))  # the moment of the fault, not a wait
            fault(server, disk, chance)
            load.stop()
            assert server.pid == pid and server.is_up()
            campaign.add(runs=check_everything(server, ledger, mark))


@pytest.mark.campaign
def test_a_disk_that_hangs_for_seconds_costs_nothing(tmp_path):
    """Frozen: whoever writes waits in the kernel, and cannot even be killed. Another process, this one, thaws it."""

    def hang(server, disk, chance):
        disk.freeze()
        try:
            time.sleep(chance.uniform(0.5, 3))  # how long it lasts
        finally:
            disk.thaw()

    under_load(Campaign("hanging-disk", "LATHE_DISK_FAULTS", 2), tmp_path, hang)


@pytest.mark.campaign
@pytest.mark.skipif(not os.path.exists("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"), reason="needs the blkio controller")
def test_a_disk_of_a_megabyte_a_second_costs_nothing(tmp_path):
    def slow(server, disk, chance):
        with slow_group(f"lathe-slow-{os.getpid()}", disk.device, 1 << 20) as group:
            group.write_text(str(server.pid))
            time.sleep(chance.uniform(1, 3))  # how long it lasts

    under_load(Campaign("slow-disk", "LATHE_DISK_FAULTS", 1), tmp_path, slow)
