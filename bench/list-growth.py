#!/usr/bin/env python3
"""list-growth: a list page and a submit, on a live server with 100, 10,000 and 100,000 runs in its database."""

import time

from support.filled import fill, finish_one_run
from support.rows import at_most, median, say
from support.server import running_server, wait_until

SIZES = (100, 10_000, 100_000)
PAGES = 200
SUBMITS = 60
LISTS = {"page": "limit=50", "page by experiment": "experiment=bench&limit=50", "page by status": "status=Completed&limit=50"}


def timed(action):
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def measure(server):
    api = server.api()
    times = {}
    for name, query in LISTS.items():
        target = f"{api.runs}?{query}"
        for _ in range(20):
            api.call("GET", target)
        times[name] = median([timed(lambda: api.call("GET", target)) for _ in range(PAGES)])
    # Each run is over before the next submit, so that a submit is all that is timed.
    submits = []
    for _ in range(SUBMITS):
        submitted = []
        submits.append(timed(lambda: submitted.append(api.submit(["/bin/true"]))))
        run = submitted[0]
        wait_until(lambda: api.call("GET", f"{api.runs}/{run}")["status"] == "Completed", 30, "a run is over", pause=0.002)
    times["submit"] = median(submits)
    api.close()
    return times


def main():
    found = {}
    with running_server() as server:
        finish_one_run(server)
        for size in SIZES:
            server.stop()
            fill(server, size)
            server.start()
            found[size] = measure(server)
            say(f"{size} runs: " + ", ".join(f"{name} {value * 1000:.2f} ms" for name, value in found[size].items()))
    first = found[SIZES[0]]
    for name in first:
        worst = max(SIZES[1:], key=lambda size: found[size][name])
        ours = f"{found[worst][name] * 1000:.2f} ms at {worst:,}"
        at_most(f"list-growth {name}", ours, f"{first[name] * 1000:.2f} ms at 100", found[worst][name] / first[name], 1.5)


main()
