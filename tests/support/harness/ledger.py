"""Ledger: what was attempted and what was acknowledged, one line each, written outside the tested folder."""

import json
import pathlib
import threading


class Ledger:
    def __init__(self, file):
        self.file = pathlib.Path(file)
        self.lock = threading.Lock()
        self.rows = [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.exists() else []

    def _add(self, **row):
        with self.lock, self.file.open("a") as out:
            self.rows.append(row)
            out.write(json.dumps(row) + "\n")

    def attempted(self, run, **facts):
        self._add(what="attempted", run=run, **facts)

    def acknowledged(self, run, action="submit", **facts):
        self._add(what="acknowledged", run=run, action=action, **facts)

    def runs_attempted(self):
        return {row["run"]: row for row in self.snapshot() if row["what"] == "attempted"}

    def runs_acknowledged(self, action="submit"):
        return {row["run"] for row in self.acknowledgements(action)}

    def acknowledgements(self, action=None):
        """Rows of what the server has said yes to: of one kind, or of every kind."""
        return [row for row in self.snapshot() if row["what"] == "acknowledged" and action in (None, row["action"])]

    def snapshot(self):
        with self.lock:
            return list(self.rows)
