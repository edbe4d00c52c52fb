"""Journals and the shapes of metrics."""

import errno
import json
import math
import os
import resource
import tempfile
import threading
import unittest

from lathe.journal import Journal
from lathe.metric_values import python_value, record_line, wire_value

from azureml._run.metric_shapes import shapes


class NumpyLike:
    """As numpy's scalars: not a float, but with item() and tolist()."""

    def __init__(self, value):
        self.value = value

    def tolist(self):
        return self.value

    item = tolist


def record(name, value, kind="scalar"):
    return {"name": name, "kind": kind, "value": wire_value(value), "time": 0.0}


def line(name, value):
    return record_line("scalar", name, value, 0.0)


class Values(unittest.TestCase):
    def test_round_trip_keeps_type_and_value(self):
        for value in (1, 1.0, -0.5, "text", True, None, [1, 2.5], {"a": [1]}, float("inf"), float("-inf")):
            found = python_value(json.loads(json.dumps(wire_value(value), allow_nan=False)))
            self.assertEqual(found, value)
            self.assertIs(type(found), type(value))
        self.assertTrue(math.isnan(python_value(wire_value(float("nan")))))

    def test_numpy_scalars_and_arrays_become_plain(self):
        self.assertEqual(wire_value(NumpyLike(0.5)), 0.5)
        self.assertEqual(wire_value(NumpyLike([1, float("nan")])), [1, {"float": "NaN"}])
        self.assertEqual(wire_value([NumpyLike(3)]), [3])


class Lines(unittest.TestCase):
    def test_a_line_is_the_record_as_json(self):
        for value in (
            1,
            -2.5,
            1e300,
            10**30,
            True,
            None,
            "é\n",
            [1, 2],
            {"x": float("nan")},
            float("inf"),
            NumpyLike(2),
        ):
            line = record_line("scalar", 'na"me', value, 1.5, "de\nsc", 7)
            self.assertNotIn("\n", line)
            expected = {
                "name": 'na"me',
                "kind": "scalar",
                "value": wire_value(value),
                "time": 1.5,
                "step": 7,
                "description": "de\nsc",
            }
            self.assertEqual(json.loads(line), expected)
        self.assertEqual(
            json.loads(record_line("scalar", "n", 1, 2.0)), {"name": "n", "kind": "scalar", "value": 1, "time": 2.0}
        )


class Shapes(unittest.TestCase):
    def test_once_a_value_again_a_list(self):
        self.assertEqual(shapes([record("a", 1)]), {"a": 1})
        self.assertEqual(
            shapes([record("a", 1), record("b", 5), record("a", 2), record("a", 3)]), {"a": [1, 2, 3], "b": 5}
        )

    def test_lists_rows_and_tables(self):
        self.assertEqual(shapes([record("l", [1, 2], "list")]), {"l": [1, 2]})
        self.assertEqual(shapes([record("r", {"x": 1, "y": 2}, "row")]), {"r": {"x": 1, "y": 2}})
        rows = [record("r", {"x": number, "y": 2 * number}, "row") for number in range(3)]
        self.assertEqual(shapes(rows), {"r": {"x": [0, 1, 2], "y": [0, 2, 4]}})
        self.assertEqual(shapes([record("t", {"x": [1, 2]}, "table")]), {"t": {"x": [1, 2]}})


class Journals(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def lines(self):
        found = []
        for name in sorted(os.listdir(self.folder)):
            with open(os.path.join(self.folder, name)) as file:
                found.append([json.loads(text) for text in file])
        return found

    def test_a_record_is_on_disk_when_append_returns(self):
        journal = Journal(self.folder)
        journal.append(line("a", 1))
        self.assertEqual([[told["value"] for told in file] for file in self.lines()], [[1]])

    def test_a_forked_child_has_its_own_file(self):
        journal = Journal(self.folder)
        journal.append(line("a", "parent"))
        child = os.fork()
        if child == 0:
            journal.append(line("a", "child"))
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        journal.append(line("a", "parent again"))
        found = sorted([told["value"] for told in file] for file in self.lines())
        self.assertEqual(found, [["child"], ["parent", "parent again"]])

    def limit_files(self, size):
        """No file of this process may grow beyond `size`: as a disk that is full in the middle of a record."""
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))

    def test_a_full_disk_costs_no_good_record_and_leaves_a_counted_gap(self):
        journal = Journal(self.folder)
        journal.append(line("a", 1))
        self.limit_files(len(line("a", 1)) + 10)
        try:
            for value in (2, 3):
                with self.assertRaises(OSError):
                    journal.append(line("a", value))
            self.assertEqual(os.readlink(journal.path()[: -len("jsonl")] + "lost"), "2")
            self.assertFalse(journal.flush(0))
        finally:
            self.limit_files(None)
        journal.append(line("a", 4))
        self.assertEqual(os.listdir(self.folder), [journal.source + ".jsonl"])
        ((first, gap, last),) = self.lines()
        self.assertEqual((first["value"], last["value"]), (1, 4))
        self.assertEqual((gap["kind"], gap["value"]["records"]), ("gap", 2))
        self.assertEqual(gap["value"]["error"], os.strerror(errno.EFBIG))
        self.assertEqual(shapes([first, gap, last]), {"a": [1, 4]})

    def test_flush_writes_the_gap_when_nothing_is_logged_any_more(self):
        journal = Journal(self.folder)
        journal.append(line("a", 1))
        self.limit_files(len(line("a", 1)) + 10)
        try:
            self.assertRaises(OSError, journal.append, line("a", 2))
        finally:
            self.limit_files(None)
        self.assertTrue(journal.flush(0))
        self.assertEqual([told["kind"] for told in self.lines()[0]], ["scalar", "gap"])


class Acknowledged(unittest.TestCase):
    """Inside a run the runner tells by a link how much of the journal the server has."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.environ["LATHE_METRICS_ACKS"] = "1"
        self.addCleanup(os.environ.pop, "LATHE_METRICS_ACKS")

    def acknowledge(self, journal, told):
        link = os.path.join(self.folder, journal.source + ".at")
        os.symlink(str(told), link + ".new")
        os.rename(link + ".new", link)

    def test_flush_returns_when_the_server_has_the_last_byte(self):
        journal = Journal(self.folder)
        self.assertTrue(journal.flush(0), "there is nothing to wait for")
        journal.append(line("a", 1))
        self.assertFalse(journal.flush(0))
        self.acknowledge(journal, journal.size() - 1)
        self.assertFalse(journal.flush(0.01))
        late = threading.Thread(target=lambda: self.acknowledge(journal, journal.size()))
        late.start()
        self.assertTrue(journal.flush(60))
        late.join()
        journal.append(line("a", 2))
        self.assertFalse(journal.flush(0))

    def test_flush_does_not_wait_for_a_journal_that_was_refused(self):
        journal = Journal(self.folder)
        journal.append(line("a", 1))
        self.acknowledge(journal, "refused")
        self.assertFalse(journal.flush(600))

    def test_flush_waits_for_nobody_where_the_runner_does_not_tell(self):
        del os.environ["LATHE_METRICS_ACKS"]
        self.addCleanup(os.environ.__setitem__, "LATHE_METRICS_ACKS", "")
        journal = Journal(self.folder)
        journal.append(line("a", 1))
        self.assertTrue(journal.flush(600))


if __name__ == "__main__":
    unittest.main()
