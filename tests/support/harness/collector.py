"""Collector: garbage collection that never rests. It makes everything that the ledger names look old, so that no lease
protects it, and leaves old garbage of its own, which must go: that shows that collections really took place."""

import contextlib
import http.client
import os
import secrets
import threading

from .blobs import digest
from .deeds import DEEDS, content
from .registry import send

OLD = 3 * 86400  # seconds; longer than any lease


class Collector:
    def __init__(self, server, ledger, period=0.2):
        self.server, self.ledger, self.period = server, ledger, period
        self.removed = 0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def stop(self):
        """How many blobs were removed."""
        self.stopping.set()
        self.thread.join(60)
        assert not self.thread.is_alive(), "the collector is stuck"
        return self.removed

    def _work(self):
        while not self.stopping.wait(self.period):
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError, AssertionError):
                self._collect(self.server.client(timeout=10))  # a server that is away is asked again

    def _collect(self, client):
        garbage = secrets.token_bytes(32)
        send(client, garbage)
        # Whoever has a deed has ended, so that its outputs are named, too: nothing that is still on its way is made old.
        over = [row["run"] for row in self.ledger.acknowledgements() if row["action"] in DEEDS]
        for data in (garbage, *map(content, over), *(run.encode() + b"\n" for run in over)):
            make_old(self.server.state, digest(data))
        answer = client.post("/api/v1/store/gc")
        if answer.status == 200:
            self.removed += answer.json()["removed_blobs"]


def make_old(state, name):
    file = state / "store" / "blobs" / name[:2] / name[2:]
    with contextlib.suppress(OSError):
        then = file.stat().st_mtime - OLD
        os.utime(file, (then, then))
