"""Manifests: one text for one list, and what they refuse."""

import os
import tempfile
import unittest

from lathe.errors import LatheError
from lathe.snapshot import take_snapshot
from lathe.tree import TreeEntry, decode_tree, encode_tree, file_entry

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


class Manifests(unittest.TestCase):
    def test_is_the_text_of_the_format(self):
        entries = [TreeEntry(b"latest", "", 0, False, b"data/a.csv"), file_entry("data/a.csv", ABC, 3)]
        expected = "lathe-tree 1\nf {} 3 data/a.csv\nl latest\tdata/a.csv\n".format(ABC)
        self.assertEqual(encode_tree(entries), expected.encode())

    def test_reads_what_it_wrote_whatever_the_name(self):
        entries = [
            file_entry(name, ABC, 3, name == "x")
            for name in ("a b", "back\\slash", "new\nline", "ta\tb", "x", "é", "\\t")
        ]
        self.assertEqual(decode_tree(encode_tree(entries)), sorted(entries, key=lambda entry: entry.path))

    def test_refuses_paths_that_step_out(self):
        for path in ("", "/a", "../a", "a/../b", "a//b", "a/.", "x" * 256):
            with self.assertRaises(LatheError, msg=path):
                encode_tree([file_entry(path, ABC, 3)])
        with self.assertRaises(LatheError):
            decode_tree("lathe-tree 1\nf {} 3 ../a\n".format(ABC).encode())

    def test_refuses_what_is_no_manifest(self):
        for text in (b"", b"lathe-tree 2\n", b"lathe-tree 1\nq x\n"):
            with self.assertRaises(LatheError):
                decode_tree(text)


class Snapshots(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()

    def link(self, name, target):
        os.symlink(target, os.path.join(self.root, name))

    def test_links_must_stay_inside(self):
        self.link("inside", "nowhere")
        take_snapshot(self.root)
        for target in ("../x", "/etc/passwd", "inside/../../x"):
            self.link("out", target)
            with self.assertRaises(LatheError) as raised:
                take_snapshot(self.root)
            self.assertIn("'out' points outside", str(raised.exception))
            os.remove(os.path.join(self.root, "out"))

    def test_refuses_pipes_by_name(self):
        os.mkfifo(os.path.join(self.root, "pipe"))
        with self.assertRaises(LatheError) as raised:
            take_snapshot(self.root)
        self.assertIn("'pipe'", str(raised.exception))
        self.assertIn("hint: ", str(raised.exception))

    def test_amlignore_silences_gitignore(self):
        for name, text in ((".gitignore", "a\n"), (".amlignore", "b\n"), ("a", "1"), ("b", "2")):
            with open(os.path.join(self.root, name), "w") as file:
                file.write(text)
        self.assertEqual(
            {entry.path for entry in take_snapshot(self.root).entries}, {b".gitignore", b".amlignore", b"a"}
        )


if __name__ == "__main__":
    unittest.main()
