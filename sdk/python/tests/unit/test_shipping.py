"""Journals that this process sends: `flush` says the truth wherever another thread logs meanwhile."""

import json
import os
import tempfile
import threading
import unittest

from lathe import shipping
from lathe.errors import Unavailable
from lathe.metric_values import record_line

STEPS = 40  # lines of the sending thread at which another thread logs; it has fewer


class Answer:
    def __init__(self, offset):
        self.body = json.dumps({"offset": offset}).encode()


class Server:
    token = ""

    def identity(self):
        return "here"


class Client:
    """The server's side of a journal, in memory."""

    def __init__(self):
        self.server, self.kept, self.is_down = Server(), b"", False

    def send(self, method, address, query, body, headers):
        if self.is_down:
            raise Unavailable("no server")
        assert query["offset"] == len(self.kept)
        self.kept += body()
        return Answer(len(self.kept))


def line(value):
    return record_line("scalar", "n", value, 0.0)


class AtLine:
    """Runs `action` in another thread when the sending thread comes to its line number `count`, and lets the sending
    thread wait for it, but not for ever: it may hold what the action needs."""

    def __init__(self, count, action):
        self.left, self.action = count, action

    def __call__(self, frame, event, argument):
        if frame.f_code.co_filename != shipping.__file__ or frame.f_code.co_name != "_ship":
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                other = threading.Thread(target=self.action)
                other.start()
                other.join(0.2)
        return self


class Flush(unittest.TestCase):
    def setUp(self):
        self.folder, self.client = tempfile.mkdtemp(), Client()
        self.addCleanup(setattr, shipping, "WAIT", shipping.WAIT)
        shipping.WAIT = 0.001

    def journal(self):
        return shipping.ShippedJournal(self.client, "/metrics", self.folder)

    def kept(self):
        return [json.loads(text)["value"] for text in self.client.kept.decode().splitlines()]

    def test_true_means_that_the_server_has_everything_whenever_it_was_logged(self):
        for step in range(1, STEPS):
            self.client = Client()
            journal, logged = self.journal(), threading.Event()

            def log_second():
                journal.append(line(2))
                logged.set()

            threading.settrace(AtLine(step, log_second))
            try:
                journal.append(line(1))
            finally:
                threading.settrace(None)
            if not logged.wait(1):
                break  # the sending thread has no more lines
            self.assertTrue(journal.flush(20), "step {}".format(step))
            self.assertEqual(sorted(self.kept()), [1, 2], "step {}".format(step))
        self.assertGreater(step, 4)

    def test_false_when_the_server_does_not_take_it(self):
        self.client.is_down = True
        journal = self.journal()
        journal.append(line(1))
        self.assertFalse(journal.flush(0.2))

    def test_what_was_not_sent_is_not_removed_at_the_end(self):
        self.client.is_down = True
        journal = self.journal()
        journal.append(line(1))
        journal._finish(os.getpid())
        self.assertEqual(len([name for name in os.listdir(self.folder) if name.endswith(".jsonl")]), 1)

    def test_what_was_sent_is_removed_at_the_end(self):
        journal = self.journal()
        journal.append(line(1))
        journal._finish(os.getpid())
        self.assertEqual((os.listdir(self.folder), self.kept()), ([], [1]))


if __name__ == "__main__":
    unittest.main()
