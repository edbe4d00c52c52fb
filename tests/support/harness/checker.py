"""What must hold after any fault: acknowledged ⊆ stored ⊆ attempted, one terminal status, no live process, sound files,
free slots, and nothing left on the machine. check_everything() is all of it."""

import contextlib
import hashlib
import pathlib
import sqlite3

from . import cgroups, processes
from .client import TERMINAL
from .deeds import check_deeds
from .load import KINDS, METRIC, WHOLE_LOG
from .wait import wait_for

LEGAL_ENDS = {"Completed", "Failed", "Canceled"}


def check_runs(client, ledger):
    """Every acknowledged run is stored, nothing else is, and each has come to exactly one end."""
    stored = {run["id"]: run for run in client.items(client.path("runs"), limit=500)}
    attempted = ledger.runs_attempted()
    lost = ledger.runs_acknowledged() - set(stored)
    assert not lost, f"acknowledged but not stored: {sorted(lost)[:5]} ({len(lost)} in all)"
    invented = set(stored) - set(attempted)
    assert not invented, f"stored but never submitted: {sorted(invented)[:5]}"
    for run in stored.values():
        assert run["status"] in TERMINAL, f"{run['id']} is {run['status']}"
    return stored


def check_events(client, run):
    """The moves form one chain that ends in exactly one terminal state."""
    moves = client.moves(run)
    assert len([to for _, to in moves if to in LEGAL_ENDS]) == 1 and moves[-1][1] in LEGAL_ENDS, moves
    for (_, reached), (left, _) in zip(moves, moves[1:]):
        assert reached == left, f"{run}: a gap in {moves}"
    return moves


def end_the_rest(client, ledger):
    """Cancels what no client has come to cancel, so that all ends. What the server has acknowledged is left to it."""
    attempted, acknowledged = ledger.runs_attempted(), ledger.runs_acknowledged("cancel")
    for run in client.items(client.path("runs"), limit=500):
        if attempted[run["id"]]["kind"] == "cancelled" and run["id"] not in acknowledged:
            client.cancel(run["id"]).expect(200, 202, 409)


def all_are_over(client):
    return all(run["status"] in TERMINAL for run in client.items(client.path("runs"), limit=500))


def check_everything(server, ledger, mark):
    """After any number of faults that cost no script its life. Stops the server; tells how many runs there were."""
    client, attempted = server.client(), ledger.runs_attempted()
    end_the_rest(client, ledger)
    wait_for(lambda: all_are_over(client), 60, "the end of all runs", every=0.1)
    stored = check_runs(client, ledger)
    for run in stored:
        check_run(client, run, attempted[run]["kind"])
    check_deeds(client, ledger.acknowledgements())
    check_processes(server.state, mark)
    check_machine(server, stored)
    check_files(server)
    return len(stored)


def check_run(client, run, kind):
    """A run that nobody cancelled ends as its script says, in one attempt, with its whole log, metrics and outputs."""
    found = client.run(run)
    check_events(client, run)
    assert found["status"] == KINDS[kind][1], f"{run} is {found['status']}: {found['error']} {found['attempts']}"
    assert len(found["attempts"]) <= 1, f"{run} was started more than once: {found['attempts']}"
    if kind != "cancelled":
        check_content(client, run)


def check_content(client, run):
    assert client.log(run) == WHOLE_LOG, f"the log of {run} is not what the script wrote"
    assert client.file(run, "outputs/id").expect(200).body == run.encode() + b"\n"
    metrics = list(client.items(client.path("runs", run, "metrics"), name=METRIC["name"]))
    assert metrics == [METRIC], f"{run} logged one metric and has {metrics}"


def check_machine(server, runs, may_keep=False):
    """Nothing is left on the machine: folders, mounts, control groups, nodes in use."""
    check_leftovers(server.state, may_keep=may_keep)
    check_slots(server.client())
    check_mounts(server.state)
    check_groups(runs)


def check_groups(runs, deadline=20):
    wait_for(lambda: not cgroups.of_runs(runs), deadline, "the end of all control groups")


def check_files(server):
    """Stops the server and reads what it has on disk."""
    assert server.client().post("/api/v1/store/verify").expect(200).json()["damaged"] == []
    server.stop()
    check_database(server.state)
    check_audit(server.state)
    check_blobs(server.state)


def check_slots(client, deadline=20):
    """Every node of every target is free, nobody waits, and nothing outlives its run."""

    def busy():
        computes = client.items(client.path("computes"))
        return {one["name"]: one["nodes"] for one in computes if one["nodes"]["running"] or one["queue"] or one["held"]}

    wait_for(lambda: not busy(), deadline, "free nodes")


def check_mounts(state):
    mounted = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    left = [place for place in mounted if place.startswith(f"{state}/")]
    assert not left, f"mounts are left: {left}"


def check_processes(state, marker, deadline=10):
    wait_for(lambda: not processes.with_environment("E2E_MARK", marker), deadline, "the end of all processes of runs")
    wait_for(lambda: not processes.runners_of(state), deadline, "the end of all runners")


def task_folders(state):
    """Not the bare ones that are kept for later tasks."""
    return [folder for folder in (state / "work").iterdir() if not folder.name.startswith("spare.")]


def is_kept(folder):
    """What nobody could deliver stays, and its run says so."""
    return (folder / "undelivered").exists()


def check_leftovers(state, deadline=20, may_keep=False):
    """When all runs are over, nothing of them is left outside of the database and the store. Only where the disk itself
    has lost something may a folder be kept that nobody could deliver."""

    def left():
        return [folder for folder in task_folders(state) if not (may_keep and is_kept(folder))]

    wait_for(lambda: not left(), deadline, "the end of all task folders")
    wait_for(lambda: not list((state / "live").iterdir()), deadline, "the end of all live logs")


def check_database(state):
    with contextlib.closing(sqlite3.connect(f"file:{state}/lathe.db?mode=ro", uri=True)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []


def check_audit(state):
    """Each row carries the hash of the one before it and of itself (docs/formats/database.md); none is missing."""
    with contextlib.closing(sqlite3.connect(f"file:{state}/lathe.db?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT id, at, token_id, actor, source, action, object, detail, hash FROM audit ORDER BY id")
        previous, number = bytes(32), 0
        for number, (row, at, token, *texts, found) in enumerate(rows, 1):
            fields = b"".join(b" %d:%s" % (len(text), text) for text in (each.encode() for each in texts))
            previous = hashlib.sha256(previous + f"{row} {at} {token}".encode() + fields).digest()
            assert row == number and found == previous, f"the audit trail is broken at row {number}"
        given = database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'audit'").fetchone()
        assert (given[0] if given else 0) == number, "the end of the audit trail is missing"
    return number


def check_blobs(state):
    """Re-hashes every blob; returns how many there are. One that was moved aside as damaged is a lost one."""
    damaged = list((state / "store" / "damaged").glob("*"))
    assert not damaged, f"damaged blobs: {damaged}"
    count = 0
    for folder in sorted((state / "store" / "blobs").glob("??")):
        for file in folder.iterdir():
            with file.open("rb") as data:
                found = hashlib.file_digest(data, "sha256").hexdigest()
            assert found == folder.name + file.name, f"{file} has the digest {found}"
            count += 1
    return count
