#!/usr/bin/env python3
"""event-fanout: 1,000 event streams of one workspace while 500 runs a second begin and end.

Measured is how long a change takes from the server's decision (before its commit) until the last of all streams has it, and
what a submit costs then, against the same load without streams. Runs of the kind that their client drives: what is asked
here is the feed, not how many processes this machine can start.
"""

import json
import os
import pickle
import resource
import tempfile
import time

from support.event_readers import read_streams, spread_times
from support.rows import at_most, median, milliseconds, row, say, spread
from support.run_load import run_load
from support.server import running_server

STREAMS = int(os.environ.get("LATHE_BENCH_STREAMS", 1000))
RUNS_PER_SECOND = 500
SECONDS = 10
WARM_UP = 2
GOAL = 0.25


def follow_while(server, action):
    """What `action` gives, and what all streams noted meanwhile."""
    url = json.loads((server.state / "server.json").read_text())["url"]
    token = (server.state / "token").read_text().strip()
    ready_read, ready_write = os.pipe()
    stop_read, stop_write = os.pipe()
    with tempfile.TemporaryFile() as notes:
        arguments = (url, "/api/v1/workspaces/default/events", token, STREAMS)
        reader = os.fork()
        if reader == 0:
            os.close(ready_read)
            os.close(stop_write)
            with os.fdopen(ready_write, "wb") as ready, os.fdopen(stop_read, "rb") as stop:
                read_streams(*arguments, ready, stop, notes)
            os._exit(0)
        os.close(ready_write)
        os.close(stop_read)
        with os.fdopen(ready_read, "rb") as ready:
            ready.read()
        found = action()
        time.sleep(2)  # the last changes are on their way
        os.close(stop_write)
        if os.waitpid(reader, 0)[1] != 0:
            raise SystemExit("error: the streams were not read to their end")
        notes.seek(0)
        return found, pickle.load(notes)


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with running_server() as server:
        server.add_compute("local", 1)
        run_load(server, RUNS_PER_SECOND, WARM_UP)
        alone, rate_alone = run_load(server, RUNS_PER_SECOND, SECONDS)
        (with_streams, rate), (text, notes) = follow_while(server, lambda: run_load(server, RUNS_PER_SECOND, SECONDS))
    times = sorted(spread_times(text, notes, every=7))
    p99 = times[int(len(times) * 0.99)]
    say(f"without streams: {rate_alone:.0f} runs/s, submit {spread(alone)}")
    say(f"with {STREAMS} streams: {rate:.0f} runs/s, submit {spread(with_streams)}")
    say(f"{len(text) * STREAMS / SECONDS / 1e6:.0f} MB/s to the streams; a change reaches all: {spread(times)}")
    ours = f"p99 {milliseconds(p99)} at {rate:.0f} runs/s, {STREAMS} streams"
    row("event-fanout", ours, milliseconds(GOAL), p99 / GOAL, "≤ 1", p99 <= GOAL and rate >= 0.95 * RUNS_PER_SECOND)
    slower = median(with_streams) / median(alone)
    at_most("event-fanout submit", milliseconds(median(with_streams)), milliseconds(median(alone)), slower, 1.5)


if __name__ == "__main__":
    main()
