"""What must hold after any fault: acknowledged ⊆ stored ⊆ attempted, one terminal status, no live process, sound files."""

import contextlib
import hashlib
import sqlite3

from . import processes
from .client import TERMINAL
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


def check_processes(state, marker):
    wait_for(lambda: not processes.with_environment("E2E_MARK", marker), 10, "the end of all processes of runs")
    wait_for(lambda: not processes.runners_of(state), 10, "the end of all runners")


def task_folders(state):
    """Not the bare ones that are kept for later tasks."""
    return [folder for folder in (state / "work").iterdir() if not folder.name.startswith("spare.")]


def check_leftovers(state):
    """When all runs are over, nothing of them is left outside of the database and the store."""
    wait_for(lambda: not task_folders(state), 20, "the end of all task folders")
    wait_for(lambda: not list((state / "live").iterdir()), 20, "the end of all live logs")


def check_database(state):
    with contextlib.closing(sqlite3.connect(f"file:{state}/lathe.db?mode=ro", uri=True)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []


def check_blobs(state):
    """Re-hashes every blob; returns how many there are."""
    count = 0
    for folder in sorted((state / "store" / "blobs").glob("??")):
        for file in folder.iterdir():
            with file.open("rb") as data:
                found = hashlib.file_digest(data, "sha256").hexdigest()
            assert found == folder.name + file.name, f"{file} has the digest {found}"
            count += 1
    return count
