#!/usr/bin/env python3
"""snapshot: a source folder of 1 GiB in 20,000 files, sent new and sent again unchanged.

new: `lathe store put` (everything durable at its end) against `cp -r` + `sync` as the limit and `restic backup`.
unchanged: `lathe store put` against `git add -A` with an up-to-date index. The source is in the page cache for all.
"""

import os
import random
import subprocess
import time

from support import peers
from support.folder import bench_folder
from support.rows import at_least, at_most, median, quickest, say
from support.server import Server, running_server

FILES = 20_000
BYTES = 1 << 30
FOLDERS = 200
ROUNDS = 3
UNCHANGED_ROUNDS = 9
RESTIC_PASSWORD = {"RESTIC_PASSWORD": "bench"}


def make_source(root):
    """Sizes as in a real tree: many small files, few large ones; bytes that do not compress."""
    source = random.Random(7)
    sizes = [source.lognormvariate(0, 1.5) for _ in range(FILES)]
    scale = BYTES / sum(sizes)
    block = os.urandom(64 << 20)
    for number, size in enumerate(sizes):
        folder = root / f"part{number % FOLDERS:03}"
        folder.mkdir(parents=True, exist_ok=True)
        length = max(1, int(size * scale))
        start = source.randrange(len(block) - (1 << 20))
        with open(folder / f"file{number:05}.bin", "wb") as file:
            file.write(number.to_bytes(8, "little"))  # no two alike
            while length > 0:
                length -= file.write(block[start : start + min(length, len(block) - start)])


def timed(command, **options):
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, **options)
    took = time.perf_counter() - begin
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(map(str, command))} ended with {done.returncode}: {done.stderr[-600:]}")
    return took


def warm(root):
    subprocess.run(["tar", "-cf", "/dev/null", "-C", str(root), "."], check=True)
    os.sync()  # what earlier steps left to be written is not this one's cost


# Nothing is removed before the end: ext4 passes over inodes that were freed a moment ago, and whoever comes after the
# removal of many would pay for it.
def copy_once(source, folder):
    warm(source)
    return timed(["sh", "-c", 'cp -r "$0" "$1" && sync', str(source), str(folder / "copy")])


def put_new(source, folder):
    """A fresh server and no cache of the source: everything is hashed and sent."""
    server = Server(folder).start()
    try:
        warm(source)
        environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
        return timed(server.command("store", "put", str(source)), env=environment)
    finally:
        server.stop()


def restic_once(source, folder):
    environment = os.environ | RESTIC_PASSWORD | {"XDG_CACHE_HOME": str(folder / "restic-cache")}
    repository = str(folder / "restic")
    timed(["restic", "-q", "init", "-r", repository], env=environment)
    warm(source)
    return timed(["restic", "-q", "backup", "-r", repository, str(source)], env=environment)


def measure_new(source, folder):
    copies, puts, restics = [], [], []
    for number in range(ROUNDS):
        room = folder / f"round{number}"
        room.mkdir()
        copies.append(copy_once(source, room))
        puts.append(put_new(source, room))
        restics.append(restic_once(source, room))
        say(f"new: cp {copies[-1]:.2f} s, lathe {puts[-1]:.2f} s, restic {restics[-1]:.2f} s")
    copied, put, backed_up = quickest(copies), quickest(puts), quickest(restics)
    at_least("snapshot new", f"{put:.2f} s", f"cp + sync: {copied:.2f} s", copied / put, 0.5)
    at_least("snapshot new vs restic", f"{put:.2f} s", f"restic: {backed_up:.2f} s", backed_up / put, 4)


def measure_unchanged(source):
    git = ["git", "-C", str(source), "-c", "core.fsmonitor=false"]
    timed([*git, "init", "-q"])
    timed([*git, "add", "-A"])
    with running_server() as server, bench_folder() as cache:
        environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
        put = server.command("store", "put", str(source))
        timed(put, env=environment)
        time.sleep(3)  # files younger than their cache entry are read again by both; let them age
        timed(put, env=environment)
        timed([*git, "add", "-A"])
        puts, adds = [], []
        for _ in range(UNCHANGED_ROUNDS):
            puts.append(timed(put, env=environment))
            adds.append(timed([*git, "add", "-A"]))
    say(f"unchanged: lathe {median(puts):.3f} s, git add {median(adds):.3f} s")
    ours, peer = median(puts), median(adds)
    at_most("snapshot unchanged", f"{ours * 1000:.0f} ms", f"git add -A: {peer * 1000:.0f} ms", ours / peer, 1)


def main():
    peers.need({"restic": "restic", "git": "git"})
    with bench_folder() as folder:
        source = folder / "source"
        make_source(source)
        measure_new(source, folder)
        measure_unchanged(source)


main()
