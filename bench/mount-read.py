#!/usr/bin/env python3
"""mount-read: what a script pays for reading its data through a mount instead of from files of its own.

A run reads one file of 512 MiB from its start to its end, and 10,000 files of 4 KiB, all in the page cache: from a
private copy (`download`: native files), from the mount of the link tree, and, where the machine lets us keep a runner
from the server's folder, from the mount of the FUSE file system. Each comes first in every other round, so that what one
leaves in the caches helps the others as often as it is helped; the first round fills them and does not count. For FUSE the
first reading stands beside: in a run that has to fetch, and in the next one, which finds the bytes on its node's disk.
"""

import json
import os
import pathlib
import subprocess
import sys

from support.rows import at_least, median, row, say
from support.server import running_server, wait_until

LARGE = 512 << 20
SMALL_FILES, SMALL_BYTES = 10_000, 4096
ROUNDS = 9
ISOLATE = pathlib.Path(__file__).parents[1] / "tests/support/isolate.sh"

# Prints {place: {"large": [seconds…], "small": [seconds…]}}, the first reading first.
SCRIPT = """
import json, os, sys, time
def large(folder):
    file, buffer = os.open(folder + "/large.bin", os.O_RDONLY), bytearray(1 << 20)
    while os.readv(file, [buffer]): pass
    os.close(file)
def small(folder):
    for part in sorted(os.listdir(folder + "/small")):
        for entry in os.scandir(folder + "/small/" + part):
            with open(entry.path, "rb", buffering=0) as file: file.read()
places = {"native": os.environ["native"], "mount": os.environ["mounted"]}
found = {place: {"large": [], "small": []} for place in places}
for turn in range(ROUNDS + 1):
    for name, work in (("large", large), ("small", small)):
        for place, folder in sorted(places.items(), reverse=turn % 2 == 0):
            begin = time.perf_counter()
            work(folder)
            found[place][name].append(time.perf_counter() - begin)
print(json.dumps(found))
"""


def make_files(root):
    block = os.urandom(1 << 20)
    with open(root / "large.bin", "wb") as file:
        for number in range(LARGE >> 20):
            file.write(number.to_bytes(8, "little") + block[8:])
    for number in range(SMALL_FILES):
        folder = root / "small" / f"{number % 100:02}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.bin").write_bytes(number.to_bytes(8, "little") + block[8:SMALL_BYTES])


def upload(server, folder):
    command = server.command("datastore", "upload", str(folder), "--to", "bench")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)}: {done.stderr[-600:]}")


def measure(server, number=0):
    api = server.api()
    source = {"datastore": "workspaceblobstore", "path": "bench"}
    definition = {"kind": "file", "sources": [source], "steps": [], "options": {}}
    dataset = api.call("POST", "/api/v1/workspaces/default/datasets", {"definition": definition})["id"]
    run = f"mount_read_{os.getpid()}_{server.pid}_{number}"
    inputs = {"native": {"dataset": dataset, "mode": "download"}, "mounted": {"dataset": dataset, "mode": "mount"}}
    script = SCRIPT.replace("ROUNDS", str(ROUNDS))
    body = {"id": run, "experiment": "bench", "command": [sys.executable, "-c", script], "inputs": inputs}
    api.call("POST", api.runs, body)
    ended = ("Completed", "Failed", "Canceled")
    wait_until(lambda: api.call("GET", f"{api.runs}/{run}")["status"] in ended, 600, "the run has ended", pause=0.2)
    shown = api.call("GET", f"{api.runs}/{run}")
    if shown["status"] != "Completed":
        raise SystemExit(f"error: the run is {shown['status']}: {shown['error']}")
    said = api.text(f"{api.runs}/{run}/logs")
    api.close()
    return json.loads(said)


SIZES = {"large": (LARGE / 1e6, "MB/s"), "small": (SMALL_FILES, "files/s")}


def tell_first(fetched, cached):
    for name, (amount, unit) in SIZES.items():
        mine, before = (amount / found["mount"][name][0] for found in (cached, fetched))
        texts = (f"{mine:,.0f} {unit}", f"first run, from the server: {before:,.0f} {unit}")
        row(f"mount-read FUSE first reading, {name}", *texts, mine / before, "reported", True)


def tell(kind, found, goals):
    found = {place: {name: times[1:] for name, times in parts.items()} for place, parts in found.items()}
    for name, (amount, unit) in SIZES.items():
        ratio = median([mine and native / mine for native, mine in zip(found["native"][name], found["mount"][name])])
        ours, native = (amount / median(found[place][name]) for place in ("mount", "native"))
        texts = (f"mount-read {kind} {name}", f"{ours:,.0f} {unit}", f"native: {native:,.0f} {unit}")
        if goals:
            at_least(*texts, ratio, goals[name])
        else:
            row(*texts, ratio, "reported", True)


def main():
    with running_server() as server:
        source = server.state.parent / "source"
        source.mkdir()
        make_files(source)
        upload(server, source)
        tell("link tree", measure(server), {"large": 0.95, "small": 0.5})
        if os.geteuid() != 0:
            say("FUSE is measured only by root, who can keep a runner from the server's folder")
            return
        server.stop()
        config = {"providers": {"local": {"launcher": [str(ISOLATE), str(server.state)]}}}
        (server.state / "config.yaml").write_text(json.dumps(config))
        server.start()
        first, second = measure(server, 1), measure(server, 2)
        tell("FUSE", second, None)
        tell_first(first, second)


main()
