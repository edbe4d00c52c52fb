"""A soak: one server, load, killed runners, clients that leave, collections, for as long as LATHE_SOAK_SECONDS says. Afterwards
it holds no more descriptors, threads, memory, control groups and files than before."""

import contextlib
import os
import random
import socket
import time

import pytest

from harness import campaign, cgroups, processes
from harness.checker import check_audit, check_blobs, check_database, check_machine, check_processes, check_runs
from harness.checker import all_are_over, end_the_rest
from harness.client import new_id
from harness.collector import Collector
from harness.deeds import check_deeds
from harness.ledger import Ledger
from harness.load import Load
from harness.victims import kill_company
from harness.wait import wait_for

SECONDS = float(os.environ.get("LATHE_SOAK_SECONDS", 10))
# A heap grows a little with what it has seen; a leak grows with time. Bytes, and bytes for each run.
MEMORY_SLACK, MEMORY_PER_RUN = 48 << 20, 2048


class Footprint:
    """What a server holds while nothing happens."""

    def __init__(self, server):
        pid = server.pid
        self.descriptors, self.threads = len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))
        status = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status").read().splitlines())
        self.memory = int(status["VmRSS"].split()[0]) * 1024
        self.children = len(processes.children(pid))
        # Blobs and the database may grow; whatever else is in the state folder is of passing use.
        kept = {"blobs", "lathe.db", "lathe.db-wal", "lathe.db-shm", "server.log", "views"}
        self.files = sum(len(files) for path, _, files in os.walk(server.state) if not kept & set(path.split(os.sep)))

    def __str__(self):
        return f"{self.descriptors} descriptors, {self.threads} threads, {self.memory >> 20} MiB, {self.children} children, {self.files} files"


def leave_early(client, run):
    """A follower that hangs up, and a connection that says half a request."""
    with contextlib.suppress(OSError, StopIteration):
        pieces = client.follow(run, timeout=2)
        next(pieces)
        pieces.close()
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as half:
        half.connect(str(client.socket_path))
        half.sendall(b"GET /healthz HTTP/1.1\r\nHo")


def disturb(server, chance, campaign_counts):
    """One fault that the server must live through."""
    client = server.client()
    live = [run["id"] for run in client.items(client.path("runs"), status="Running", limit=50)]
    if not live:
        return
    run = chance.choice(live)
    if chance.random() < 0.5:
        leave_early(client, run)
        campaign_counts["clients that left"] += 1
    else:
        company = chance.choice([("runner",), ("runner", "guard"), ("fork server",), ("guard",)])
        campaign_counts["kills"] += kill_company(server, client, run, company)


def soak(server, ledger, mark, seconds, seed):
    """Load and faults for some seconds, and then rest. What happened."""
    chance, counts = random.Random(seed), {"kills": 0, "clients that left": 0}
    load, collector = Load(server, ledger, mark, seed=seed), Collector(server, ledger, period=1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        disturb(server, chance, counts)
        time.sleep(chance.uniform(0.05, 0.5))  # the moment of the fault, not a wait
    load.stop()
    counts["collected"] = collector.stop()
    client = server.client()
    end_the_rest(client, ledger)
    wait_for(lambda: all_are_over(client), 60, "the end of all runs", every=0.1)
    check_processes(server.state, mark)
    return counts


@pytest.mark.campaign
def test_a_server_that_works_for_long_keeps_nothing(make_server, tmp_path):
    server, mark, ledger = make_server().start().prepare(), new_id("mark"), Ledger(tmp_path / "ledger")
    seed = int(os.environ.get("LATHE_SEED", random.SystemRandom().randrange(2**31)))
    with processes.ended(mark):
        soak(server, ledger, mark, min(SECONDS / 3, 60), f"{seed}.warm")  # caches and pools are filled
        before, runs_before = Footprint(server), len(ledger.runs_acknowledged())
        counts = soak(server, ledger, mark, SECONDS, seed)
        runs = len(ledger.runs_acknowledged()) - runs_before
        allowed = MEMORY_SLACK + runs * MEMORY_PER_RUN
        wait_for(lambda: not grown(before, Footprint(server), allowed), 130, "what was held before", every=1)
        campaign.say(f"soak: {SECONDS:.0f} s, {runs} runs, {counts}; before: {before}; after: {Footprint(server)}; seed {seed}")
        check(server, ledger)


def grown(before, after, allowed):
    """What there is more of than noise explains. Connections that were kept alive end within two minutes."""
    found = {}
    for name, slack in (("descriptors", 8), ("threads", 2), ("children", 2), ("files", 70), ("memory", allowed)):
        if getattr(after, name) > getattr(before, name) + slack:
            found[name] = (getattr(before, name), getattr(after, name))
    return found


def check(server, ledger):
    client = server.client()
    stored = check_runs(client, ledger)
    check_deeds(client, ledger.acknowledgements())
    check_machine(server, stored)
    assert not cgroups.of_runs(stored)
    server.stop()
    check_database(server.state)
    check_audit(server.state)
    check_blobs(server.state)


def test_a_leak_is_seen(make_server):
    """What the soak relies on: one descriptor too many for each of some connections that nobody closes."""
    server = make_server().start().prepare()
    before, held = Footprint(server), []
    for _ in range(20):
        held.append(socket.socket(socket.AF_UNIX))
        held[-1].connect(str(server.client().socket_path))
    wait_for(lambda: grown(before, Footprint(server), 0).get("descriptors"), 10, "more descriptors than before")
    for connection in held:
        connection.close()
