"""Rows of the table: one JSON object a line on stdout; everything a bench says to people goes to stderr."""

import json
import statistics
import sys


def say(text):
    print(f"   {text}", file=sys.stderr, flush=True)


def row(name, ours, peer, ratio, goal, met):
    """Prints one row. `ours` and `peer` are texts with their units, `goal` says what the ratio must be."""
    values = {"name": name, "ours": ours, "peer": peer, "ratio": round(ratio, 3), "goal": goal, "met": bool(met)}
    print(json.dumps(values), flush=True)


def at_least(name, ours, peer, ratio, bound):
    row(name, ours, peer, ratio, f"≥ {bound:g}", ratio >= bound)


def at_most(name, ours, peer, ratio, bound):
    row(name, ours, peer, ratio, f"≤ {bound:g}", ratio <= bound)


def milliseconds(seconds):
    return f"{seconds * 1000:.1f} ms"


def median(values):
    return statistics.median(values)


def quickest(values):
    """Of rounds that write much: what a disk or a file system has still to do for others makes them only longer (ext4
    passes over every inode that was freed in the last minutes), and three are too few for a median to be above that."""
    return min(values)


def spread(values):
    """For the reader of the log: how far a median can be trusted."""
    ordered = sorted(values)
    return f"median {milliseconds(median(ordered))}, from {milliseconds(ordered[0])} to {milliseconds(ordered[-1])}"
