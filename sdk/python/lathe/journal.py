"""A journal: one append-only file of JSON lines, which somebody else delivers. A record is written by one system
call before `append` returns, so a script that is killed loses nothing of what it logged. One file per process:
a child that was forked begins its own.
"""

import os
import uuid


class Journal:
    """The journal of this process in a folder that the runner watches.

    Example: `Journal(os.environ["LATHE_METRICS_DIR"]).append(record_line("scalar", "loss", 0.5, time.time()))`
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._pid, self._fd = 0, -1
        self.source = ""

    def append(self, record: str) -> None:
        """Write one record, a line without its end. Raises OSError when the file cannot be written."""
        if self._pid != os.getpid():
            self._open()
        line = (record + "\n").encode("utf-8")
        done = os.write(self._fd, line)
        while done < len(line):  # a full disk, or a signal
            done += os.write(self._fd, line[done:])

    def path(self) -> str:
        return os.path.join(self.folder, self.source + ".jsonl")

    def flush(self, timeout: float = 0) -> bool:
        """Nothing is held back in this process."""
        return True

    def close(self) -> None:
        if self._fd >= 0 and self._pid == os.getpid():
            os.close(self._fd)
        self._pid, self._fd = 0, -1

    def _open(self) -> None:
        self.source = uuid.uuid4().hex
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(self.path(), flags, 0o600)
        self._pid = os.getpid()
