#!/usr/bin/env python3
"""log-throughput: 1 GB of lines printed by a run and read to the end by a live follower.

limit: `cat` of the same bytes to a file, with fsync at the end. Ours ends when the follower has every byte and the run
is Completed, its log in the store.
"""

import os
import subprocess
import time

from support.folder import bench_folder
from support.rows import at_least, quickest, say
from support.server import running_server, wait_until

BYTES = 1_000_000_000
ROUNDS = 3
LINE = b"%04d epoch 0012 step 000345 loss 0.123456 accuracy 0.987654 learning rate 0.001000 some more text here\n"


def make_lines(path, number):
    """Other lines in each round: the store keeps equal logs once, which is not what is measured."""
    line = LINE % number
    block = line * (1_000_000 // len(line))
    with open(path, "wb") as file:
        while file.tell() < BYTES:
            file.write(block[: BYTES - file.tell()])


def measure_limit(source, copy_path):
    os.sync()
    begin = time.perf_counter()
    with open(copy_path, "wb") as copy:
        subprocess.run(["cat", str(source)], stdout=copy, check=True)
        os.fsync(copy.fileno())
    return time.perf_counter() - begin


def measure_ours(server, source):
    os.sync()
    api, follower = server.api(), server.api()
    buffer = bytearray(1 << 20)
    begin = time.perf_counter()
    run = api.submit(["/bin/cat", str(source)])
    stream = follower.stream(f"{api.runs}/{run}/logs?follow=true")
    read = 0
    while got := stream.readinto(buffer):
        read += got
    seen = time.perf_counter() - begin
    wait_until(lambda: api.call("GET", f"{api.runs}/{run}")["status"] == "Completed", 60, "the run is Completed")
    took = time.perf_counter() - begin
    if read != BYTES:
        raise SystemExit(f"error: the follower has {read} of {BYTES} bytes")
    say(f"lathe: all seen after {seen:.2f} s, Completed after {took:.2f} s")
    api.call("DELETE", f"{api.runs}/{run}")
    api.close()
    follower.close()
    return took


def main():
    limits, ours = [], []
    with bench_folder() as folder, running_server() as server:
        server.add_compute("local", 1)
        # Every copy stays until the end, as every log does: both write to memory that was not theirs a moment ago.
        for number in range(ROUNDS):
            source = folder / f"lines{number}"
            make_lines(source, number)
            limits.append(measure_limit(source, folder / f"copy{number}"))
            say(f"cat: {limits[-1]:.2f} s")
            ours.append(measure_ours(server, source))
    limit, took = quickest(limits), quickest(ours)
    rate, limit_rate = BYTES / took / 1e6, BYTES / limit / 1e6
    at_least("log-throughput", f"{rate:.0f} MB/s", f"cat + fsync: {limit_rate:.0f} MB/s", rate / limit_rate, 0.5)


main()
