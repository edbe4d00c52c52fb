"""The checks of the campaigns can fail: each is shown a loss that was planted by hand, in the database, in the files or on the
machine, and must see it. What the product itself may lose is planted by tests/mutants."""

import contextlib
import os
import pathlib
import sqlite3
import subprocess

import pytest

from harness import checker, deeds, processes
from harness.client import make_submit, new_id
from harness.ledger import Ledger
from harness.load import BODY
from harness.pages import editing
from harness.server import Server
from harness.wait import wait_for


@pytest.fixture(scope="module")
def stored(binary, tmp_path_factory):
    """(server, ledger) after a run with every deed, all acknowledged."""
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger")
    with Server() as server:
        client, run = server.client(), new_id("quick")
        ledger.attempted(run, kind="quick")
        client.post(client.path("runs"), make_submit(BODY, id=run)).expect(201)
        ledger.acknowledged(run)
        client.wait(run, "Completed")
        for name, deed in deeds.DEEDS.items():
            deed(client, run)
            ledger.acknowledged(run, name)
        yield server, ledger


def edited(server, *statements):
    """The server again, after somebody has changed its database behind its back."""
    server.stop()
    with editing(server.state / "lathe.db") as database:
        for statement in statements:
            assert database.execute(statement).rowcount != 0, statement
    return server.start().client()


def changed(server, change, back):
    """For the time of a block, something of the database is another way."""

    @contextlib.contextmanager
    def block():
        yield edited(server, change)
        edited(server, back)

    return block()


LOSSES = {
    "tag": ("UPDATE runs SET spec_json = replace(spec_json, '\"load\":\"quick', '\"load\":\"slick')", "UPDATE runs SET spec_json = replace(spec_json, '\"load\":\"slick', '\"load\":\"quick')"),
    "metrics": ("UPDATE metric_names SET name = 'lost' WHERE name = 'late'", "UPDATE metric_names SET name = 'late' WHERE name = 'lost'"),
    "artifact": ("UPDATE artifacts SET path = 'gone.txt' WHERE path = 'added.txt'", "UPDATE artifacts SET path = 'added.txt' WHERE path = 'gone.txt'"),
    "dataset": ("UPDATE dataset_versions SET version = 2", "UPDATE dataset_versions SET version = 1"),
    "model": ("UPDATE models SET id = 'f' || substr(id, 2)", None),
}


@pytest.mark.parametrize("deed", LOSSES)
def test_a_lost_deed_is_seen(stored, deed):
    server, ledger = stored
    checker.check_deeds(server.client(), ledger.acknowledgements())
    change, back = LOSSES[deed]
    with contextlib.closing(sqlite3.connect(f"file:{server.state}/lathe.db?mode=ro", uri=True)) as database:
        first = database.execute("SELECT id FROM models").fetchone()[0]
    if first[0] == "f" and deed == "model":
        change = change.replace("'f'", "'e'")
    with changed(server, change, back or f"UPDATE models SET id = '{first}'") as client:
        with pytest.raises(AssertionError):
            checker.check_deeds(client, ledger.acknowledgements(deed))


def test_a_gap_between_versions_is_seen(stored):
    server, _ = stored
    with changed(server, "UPDATE models SET version = 2", "UPDATE models SET version = 1") as client:
        with pytest.raises(AssertionError, match="versions"):
            deeds.check_model_numbers(client)


def test_a_lost_run_and_an_invented_one_are_seen(stored, tmp_path):
    server, ledger = stored
    other = Ledger(tmp_path / "other")
    with pytest.raises(AssertionError, match="never submitted"):
        checker.check_runs(server.client(), other)
    for row in ledger.rows:
        other.rows.append(row)
    other.acknowledged("run-that-never-was")
    with pytest.raises(AssertionError, match="not stored"):
        checker.check_runs(server.client(), other)


def test_a_lost_cancel_is_not_made_good_by_the_check(make_server, tmp_path, mark):
    """The ledger says that it was acknowledged; the server knows nothing of it. Nobody cancels it for the server."""
    server, ledger, run = make_server().start().prepare(), Ledger(tmp_path / "ledger"), new_id("cancelled")
    client = server.client()
    ledger.attempted(run, kind="cancelled")
    body = make_submit("echo up; sleep 600", id=run, grace_seconds=0, environment={"variables": {"E2E_MARK": mark}})
    client.post(client.path("runs"), body).expect(201)
    ledger.acknowledged(run)
    ledger.acknowledged(run, "cancel")
    wait_for(lambda: client.log(run), 30, "the first line")
    checker.end_the_rest(client, ledger)
    assert client.status(run) == "Running" and not checker.all_are_over(client)
    with pytest.raises(AssertionError, match="processes"):
        checker.check_processes(server.state, mark, deadline=0.1)
    with pytest.raises(AssertionError, match="free nodes"):
        checker.check_slots(client, deadline=0.1)
    with pytest.raises(AssertionError, match="task folders"):
        checker.check_leftovers(server.state, deadline=0.1)
    client.cancel(run).expect(200, 202)
    client.wait(run, "Canceled")


def test_a_broken_audit_trail_is_seen(stored, tmp_path):
    server, _ = stored
    server.stop()
    checker.check_audit(server.state)
    for statement in ("UPDATE audit SET detail = 'x' WHERE id = 3", "DELETE FROM audit WHERE id = 2", "DELETE FROM audit WHERE id > 4"):
        copy = tmp_path / new_id("copy")
        copy.mkdir()
        (copy / "lathe.db").write_bytes((server.state / "lathe.db").read_bytes())
        with contextlib.closing(sqlite3.connect(copy / "lathe.db")) as database, database:
            database.execute(statement)
        with pytest.raises(AssertionError, match="audit"):
            checker.check_audit(copy)
    server.start()


def test_damaged_and_wrong_blobs_are_seen(tmp_path):
    blobs, damaged = tmp_path / "store/blobs/00", tmp_path / "store/damaged"
    blobs.mkdir(parents=True)
    damaged.mkdir()
    assert checker.check_blobs(tmp_path) == 0
    (damaged / ("0" * 64)).write_bytes(b"x")
    with pytest.raises(AssertionError, match="damaged"):
        checker.check_blobs(tmp_path)
    (damaged / ("0" * 64)).unlink()
    (blobs / ("0" * 62)).write_bytes(b"x")
    with pytest.raises(AssertionError, match="digest"):
        checker.check_blobs(tmp_path)


@pytest.mark.root
def test_a_mount_that_is_left_is_seen(tmp_path):
    (tmp_path / "state/work").mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", tmp_path / "state/work"], check=True)
    try:
        with pytest.raises(AssertionError, match="mounts"):
            checker.check_mounts(tmp_path / "state")
    finally:
        subprocess.run(["umount", tmp_path / "state/work"], check=True)
    checker.check_mounts(tmp_path / "state")


@pytest.mark.root
def test_a_control_group_that_is_left_is_seen():
    run = new_id()
    places = [place for place in (pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")) if os.access(place, os.W_OK)]
    group = places[0] / f"lathe-{run}-1-0-abc"
    group.mkdir()
    try:
        with pytest.raises(AssertionError, match="control groups"):
            checker.check_groups([run], deadline=0.1)
    finally:
        group.rmdir()


def test_victims_are_found_by_their_relation(server, client, mark):
    """The runner, what guards its run, and what runners are started from: else a campaign would kill nobody."""
    run = client.submit("echo up; sleep 600", environment={"variables": {"E2E_MARK": mark}}, grace_seconds=0)
    wait_for(lambda: client.log(run), 30, "the first line")
    runner = processes.runner_of(server.state, f"{client.run(run)['sequence']}.1.0")
    assert runner and processes.is_lathe(runner)
    helpers = processes.helpers_of(runner)
    assert helpers and runner not in helpers and not set(helpers) & set(processes.with_environment("E2E_MARK", mark))
    assert len(processes.fork_servers_of(server.pid)) == 1
    client.cancel(run).expect(200, 202)
    client.wait(run, "Canceled")
