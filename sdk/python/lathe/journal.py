"""A journal: one append-only file of JSON lines, which somebody else delivers. A record is written by one system
call before `append` returns, so a script that is killed loses nothing of what it logged. One file per process:
a child that was forked begins its own. What a full disk does not take is counted, and a record of the kind `gap`
says so in its place.
"""

import atexit
import contextlib
import os
import threading
import time
import uuid
from typing import Optional

from lathe.metric_values import record_line

GAP_NAME, GAP_KIND = "lathe.gap", "gap"
ACKNOWLEDGES = "LATHE_METRICS_ACKS"  # set by a runner that tells how much of a journal the server has
SHORTEST_LOOK, LONGEST_LOOK = 0.001, 0.05  # seconds between two looks at what the runner tells


class Journal:
    """The journal of this process in a folder that the runner watches.

    Example: `Journal(os.environ["LATHE_METRICS_DIR"]).append(record_line("scalar", "loss", 0.5, time.time()))`
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.source = ""
        self._begin_in_this_process()

    def append(self, record: str) -> None:
        """Write one record, a line without its end. Raises OSError when the file cannot be written."""
        if self._pid != os.getpid():
            self._begin_in_this_process()
        with self._lock:
            try:
                self._open_once()
                self._write_gap()
                self._write(record)
            except OSError as problem:
                self._lost += 1
                self._why = problem.strerror or str(problem)
                self._tell_lost()
                atexit.unregister(self.is_whole)
                atexit.register(self.is_whole)  # there may be room again by then
                raise

    def open(self) -> None:
        """Make the file now. Raises OSError."""
        if self._pid != os.getpid():
            self._begin_in_this_process()
        with self._lock:
            self._open_once()

    def path(self) -> str:
        return os.path.join(self.folder, self.source + ".jsonl")

    def size(self) -> int:
        """Bytes of the records that were written; those of a process that was forked from are not this one's."""
        return self._size if self._pid == os.getpid() else 0

    def is_whole(self) -> bool:
        """Whether everything that was to be written is in the file, if only as a counted gap."""
        if self._pid != os.getpid():
            return True
        with self._lock:
            try:
                if self._lost > 0:
                    self._open_once()
                    self._write_gap()
            except OSError:
                return False
        return True

    def flush(self, timeout: float = 60.0) -> bool:
        """Wait until the server has stored what was written; False when it has not after `timeout` seconds, or
        when it will not. Where the runner is too old to tell, nothing is waited for."""
        if not self.is_whole():
            return False
        wanted = self.size()
        if wanted == 0 or not os.environ.get(ACKNOWLEDGES):
            return True
        end, pause = time.monotonic() + timeout, SHORTEST_LOOK
        while True:
            there = self._acknowledged()
            if there is None:
                return False
            left = end - time.monotonic()
            if there >= wanted or left <= 0:
                return there >= wanted
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_LOOK)

    def close(self) -> None:
        if self._fd >= 0 and self._pid == os.getpid():
            os.close(self._fd)
        self._begin_in_this_process()

    def _begin_in_this_process(self) -> None:
        # The lock may be held for ever by a thread that was not forked, so each process has its own.
        self._pid, self._fd, self._lock = os.getpid(), -1, threading.Lock()
        self._size, self._lost, self._why, self._torn = 0, 0, "", False

    def _open_once(self) -> None:
        if self._fd >= 0:
            return
        self.source = uuid.uuid4().hex
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(self.path(), flags, 0o600)

    def _write(self, record: str) -> None:
        line = (("\n" if self._torn else "") + record + "\n").encode("utf-8")
        done = 0
        try:
            while done < len(line):  # more than once: a signal, or a disk that is nearly full
                done += os.write(self._fd, line[done:])
        except OSError:
            if done > 0:
                self._cut()
            raise
        self._size, self._torn = self._size + len(line), False

    def _cut(self) -> None:
        """Remove half a line, which would eat the next record; where that fails, the next one begins a new line."""
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            self._size, self._torn = os.fstat(self._fd).st_size, True

    def _write_gap(self) -> None:
        if self._lost == 0:
            return
        self._write(record_line(GAP_KIND, GAP_NAME, {"records": self._lost, "error": self._why}, time.time()))
        self._lost = 0
        with contextlib.suppress(OSError):  # it could not be made, perhaps
            os.unlink(self._lost_path())

    def _lost_path(self) -> str:
        return os.path.join(self.folder, self.source + ".lost")

    def _tell_lost(self) -> None:
        """For the runner, should this process end while the disk is full: a link needs no block of it."""
        if self._fd < 0:
            return
        new = self._lost_path() + ".new"
        with contextlib.suppress(OSError):  # then the warning of the caller is all that there is
            os.symlink(str(self._lost), new)
            os.rename(new, self._lost_path())

    def _acknowledged(self) -> Optional[int]:
        """Bytes of this journal that the server has, as the runner tells; None when it will not take more."""
        try:
            told = os.readlink(os.path.join(self.folder, self.source + ".at"))
        except OSError:
            return 0
        return int(told) if told.isdigit() else None
