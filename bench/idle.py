#!/usr/bin/env python3
"""idle: memory and wake-ups of a server with 100,000 finished runs when nothing happens, counted over a minute."""

import pathlib
import time

from support.filled import fill, finish_one_run
from support.rows import at_most, say
from support.server import running_server

RUNS = 100_000
SETTLE_SECONDS = 5
SECONDS = 60


def status(path):
    pairs = (line.split(":", 1) for line in path.read_text().splitlines())
    return {key: value.split()[0] for key, value in pairs if value.split()}


def wake_ups(pid):
    """How often a thread of it has gone to sleep by itself, that is, was woken before."""
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/status")
    return sum(int(status(task)["voluntary_ctxt_switches"]) for task in tasks)


def main():
    with running_server() as server:
        finish_one_run(server)
        server.stop()
        fill(server, RUNS)
        server.start()
        # It has been used: people look at their runs.
        api = server.api()
        for query in ("limit=500", "experiment=bench&limit=50", "status=Failed"):
            api.call("GET", f"{api.runs}?{query}")
        api.close()
        time.sleep(SETTLE_SECONDS)
        before = wake_ups(server.pid)
        time.sleep(SECONDS)
        woken = wake_ups(server.pid) - before
        resident = int(status(pathlib.Path(f"/proc/{server.pid}/status"))["VmRSS"]) / 1024
    say(f"{resident:.1f} MiB resident, {woken} wake-ups in {SECONDS} s")
    at_most("idle memory", f"{resident:.1f} MiB", "64 MiB", resident / 64, 1)
    at_most("idle wake-ups in 60 s", str(woken), "2", woken / 2, 1)


main()
