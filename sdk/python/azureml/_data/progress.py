"""The lines that transfers print, and a bar where somebody looks."""

import sys
import threading
from typing import Any


class Progress:
    """Counts files. Example: `Progress("Upload", 3, show=True).one("a.csv")`"""

    def __init__(self, verb: str, total: int, show: bool) -> None:
        self.verb, self.total, self.show, self.done = verb, total, show, 0
        self._lock = threading.Lock()
        self._bar = show and sys.stderr.isatty()
        if show:
            print("{}ing an estimated of {} files".format(verb, total), flush=True)

    def begin(self, name: str) -> None:
        if self.show:
            print("{}ing {}".format(self.verb, name), flush=True)

    def one(self, name: Any) -> None:
        """A file is done."""
        with self._lock:
            self.done += 1
            if not self.show:
                return
            line = "{}ed {}, {} files out of an estimated total of {}"
            print(line.format(self.verb, name, self.done, self.total), flush=True)
            if self._bar:
                filled = 40 * self.done // max(1, self.total)
                sys.stderr.write("\r[{}{}] {}/{}".format("#" * filled, "." * (40 - filled), self.done, self.total))
                sys.stderr.flush()

    def skipped(self, name: str) -> None:
        if self.show:
            print("Target already exists. Skipping upload for {}".format(name), flush=True)

    def end(self, count: int) -> None:
        if self._bar:
            sys.stderr.write("\n")
        if self.show:
            print("{}ed {} files".format(self.verb, count), flush=True)
