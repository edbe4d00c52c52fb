"""Journals of runs that a client drives: written to a file like those of scripts, and sent by a thread of this
process. What a killed process could not send is found by the next one of this user, by the lock that died with
its owner.
"""

import fcntl
import json
import os
import tempfile
import threading
import time
from typing import Any, Optional

from lathe.client import Client
from lathe.errors import Conflict, LatheError, NotFound
from lathe.journal import Journal

PIECE = 1 << 20
WAIT = 0.2  # seconds in which records gather before they are sent
LAST_WAIT = 10.0  # seconds that the end of a process waits; what is left then goes with the next one


def journal_folder() -> str:
    """Where journals of this user wait: in the state folder, or, where there is no home, among temporary files."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    folder = os.path.join(base, "lathe-sdk", "journals")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return os.path.join(tempfile.gettempdir(), "lathe-sdk-{}".format(os.geteuid()), "journals")


class ShippedJournal:
    """A journal and the thread that sends it to `address` (the metrics of a run).

    Example: `ShippedJournal(client, client.path("workspaces", "w", "runs", "r", "metrics")).append(record)`
    """

    def __init__(self, client: Client, address: str, folder: Optional[str] = None) -> None:
        self.client, self.address = client, address
        self._folder = folder or journal_folder()
        self._journal, self._owner, self._lock = None, 0, None  # type: Any, int, Any
        self._maker, self._beginning = os.getpid(), threading.Lock()
        self._forget_progress()

    def append(self, record: str) -> None:
        if self._owner != os.getpid():
            self._begin_once()
        self._journal.append(record)
        with self._news:
            self._news.notify_all()

    def flush(self, timeout: float = 60.0) -> bool:
        """Wait until everything is with the server; False when it is not after `timeout` seconds."""
        if self._owner != os.getpid():
            return True
        is_whole, wanted = self._journal.is_whole(), self._journal.size()
        with self._news:
            self._news.notify_all()
            self._news.wait_for(lambda: self._sent >= wanted or self._problem is not None, timeout)
            return is_whole and self._sent >= wanted

    def _forget_progress(self) -> None:
        self._news = threading.Condition()  # the journal has grown, or one of these has changed:
        self._sent = 0  # bytes of the journal that the server has
        self._problem = None  # type: Optional[Exception]

    def _begin_once(self) -> None:
        if self._maker != os.getpid():  # forked: the lock may belong to a thread that is not here
            self._maker, self._beginning = os.getpid(), threading.Lock()
        with self._beginning:
            if self._owner != os.getpid():
                self._begin()

    def _begin(self) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        if os.stat(self._folder).st_uid != os.geteuid():
            raise OSError("{} belongs to another user".format(self._folder))
        self._journal = Journal(self._folder)
        self._journal.open()
        self._forget_progress()
        # The head says for whom the journal is; the lock on it says that its owner lives.
        self._lock = open(self._journal.path() + ".head", "w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        json.dump({"address": self.address, "server": self.client.server.identity()}, self._lock)
        self._lock.flush()
        self._owner = os.getpid()
        threading.Thread(target=self._ship, name="lathe-metrics", daemon=True).start()
        import atexit

        atexit.register(self._finish, os.getpid())

    def _ship(self) -> None:
        if not self.client.server.token:  # a run's own token speaks for that run alone
            adopt_left_journals(self.client, self._folder)
        journal, sent = self._journal, 0
        while True:
            with self._news:
                self._news.wait_for(lambda: journal.size() > sent)
            problem = None  # type: Optional[Exception]
            try:
                sent = send_rest(self.client, self.address, journal.source, journal.path(), sent)
            except (LatheError, OSError) as found:  # refused for ever, or the journal was delivered and removed
                problem = found
            with self._news:
                self._sent, self._problem = sent, problem
                self._news.notify_all()
            if problem is not None:
                return
            time.sleep(WAIT)

    def _finish(self, owner: int) -> None:
        """At the end of the process: wait for the last records, and remove a journal that was delivered."""
        if owner != os.getpid():
            return
        if self.flush(LAST_WAIT):
            remove(self._journal.path())


def send_rest(client: Client, address: str, source: str, path: str, offset: int) -> int:
    """Send a journal from `offset` on, whole lines only; where the server stands then."""
    with open(path, "rb") as file:
        while True:
            file.seek(offset)
            piece = file.read(PIECE)
            end = piece.rfind(b"\n") + 1
            if end == 0:
                return offset
            body = piece[:end]
            headers = {"Content-Type": "application/x-ndjson"}
            query = {"source": source, "offset": offset}
            try:
                answer = client.send("POST", address, query, lambda: body, headers)
                offset = int(json.loads(answer.body.decode("utf-8"))["offset"])
            except Conflict:
                found = client.get(address + "/positions", source=source)["offset"]
                if found == offset:
                    raise
                offset = int(found)


def adopt_left_journals(client: Client, folder: str) -> int:
    """Send the journals of processes that were killed; how many there were. Those of other servers are left alone."""
    count = 0
    for name in os.listdir(folder):
        if not name.endswith(".jsonl.head"):
            continue
        try:
            with open(os.path.join(folder, name), "r+") as head:
                fcntl.flock(head, fcntl.LOCK_EX | fcntl.LOCK_NB)
                told = json.load(head)
                if told.get("server") != client.server.identity():
                    continue
                path = os.path.join(folder, name[: -len(".head")])
                try:
                    send_rest(client, told["address"], name[: -len(".jsonl.head")], path, 0)
                    count += 1
                except NotFound:
                    pass  # the run was deleted, so its metrics are nobody's
                remove(path)
        except (OSError, ValueError, KeyError, LatheError):
            continue  # its owner lives, or the server does not answer: another time
    return count


def remove(path: str) -> None:
    """Forget a journal that was delivered."""
    for name in (path, path + ".head"):
        if os.path.exists(name):
            os.remove(name)
