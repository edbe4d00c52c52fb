"""Journals and the shapes of metrics."""

import json
import math
import os
import tempfile
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


if __name__ == "__main__":
    unittest.main()
