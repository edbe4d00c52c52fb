"""Ignore rules: git itself is the oracle."""

import os
import random
import shutil
import subprocess
import tempfile
import unittest

from lathe.ignore import IgnoreFile
from lathe.snapshot import take_snapshot

NAMES = ["a", "b", "ab", "abc", "a.o", "b.o", "x-y", "[a]", "a b", "c\\d", "*", "A1", "ba", "!a", "#b", "a "]
PIECES = ["a", "b", "ab", "abc", "*", "**", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "[[:alpha:]]", "[[:alpha:]-z]",
          "[[:space:]]", "[]a]", "[a", "\\*", "\\", "\\a", ".o", "*.o", "a*", "*b", "x-y", "***", "[[a]", "[!]a]",
          " ", "\\ ", "[a\\]]", "[[:bad:]]", "A", "1", "[A-Z]", "-", "c\\\\d", "[+--]", "[a-]", "\\["]  # fmt: skip


def ignored(text, path, is_folder=False):
    return bool(IgnoreFile(text).verdict(path, is_folder))


class IgnoreRulesOfOneFile(unittest.TestCase):
    def test_the_last_matching_pattern_decides(self):
        self.assertFalse(ignored(b"*.log\n!keep.log", b"keep.log"))
        self.assertTrue(ignored(b"!keep.log\n*.log", b"keep.log"))

    def test_a_slash_anchors_and_no_slash_matches_at_any_depth(self):
        self.assertTrue(ignored(b"a", b"x/y/a"))
        self.assertFalse(ignored(b"/a", b"x/a"))
        self.assertFalse(ignored(b"doc/*.txt", b"doc/sub/a.txt"))

    def test_a_slash_at_the_end_means_folders_only(self):
        self.assertTrue(ignored(b"build/", b"x/build", True))
        self.assertFalse(ignored(b"build/", b"build", False))

    def test_two_stars_cross_folders(self):
        self.assertTrue(ignored(b"a/**/b", b"a/b"))
        self.assertTrue(ignored(b"a/**/b", b"a/x/y/b"))
        self.assertFalse(ignored(b"abc/**", b"abc", True))
        self.assertFalse(ignored(b"x/a**b", b"x/a/b"))

    def test_spaces_bom_comments_and_escapes(self):
        self.assertTrue(ignored(b"\xef\xbb\xbfa\r\n", b"a"))
        self.assertTrue(ignored(b"a   ", b"a"))
        self.assertTrue(ignored(b"a\\ ", b"a "))
        self.assertFalse(ignored(b"#a", b"#a"))
        self.assertTrue(ignored(b"\\#a", b"#a"))


class RandomTree:
    """Folders, files and ignore files by seed, as the tests of the C++ rules make them."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.files, self.folders = set(), set()
        self.grow("", 0)
        self.rules = {"": self.rule_text()}
        for folder in sorted(self.folders):
            if self.chance.randrange(4) == 0:
                self.rules[folder] = self.rule_text()

    def grow(self, folder, depth):
        for _ in range(2 + self.chance.randrange(4)):
            path = (folder + "/" if folder else "") + self.chance.choice(NAMES)
            if path in self.files or path in self.folders:
                continue
            if depth < 3 and self.chance.randrange(5) < 2:
                self.folders.add(path)
                self.grow(path, depth + 1)
            else:
                self.files.add(path)

    def pattern(self):
        chance = self.chance
        out = "!" if chance.randrange(5) == 0 else ""
        out += "/" if chance.randrange(4) == 0 else ""
        parts = [
            "".join(chance.choice(PIECES) for _ in range(1 + chance.randrange(2)))
            for _ in range(1 + chance.randrange(3))
        ]
        out += "/".join(parts)
        out += "/" if chance.randrange(5) == 0 else ""
        out += "**" if chance.randrange(12) == 0 else ""
        out += "  " if chance.randrange(12) == 0 else ""
        return "# " + out if chance.randrange(15) == 0 else out

    def rule_text(self):
        return "".join(self.pattern() + "\n" for _ in range(1 + self.chance.randrange(4)))

    def write(self, root):
        for folder in self.folders:
            os.makedirs(os.path.join(root, folder), exist_ok=True)
        for file in self.files:
            with open(os.path.join(root, file), "w") as out:
                out.write(file)
        for folder, text in self.rules.items():
            with open(os.path.join(root, folder, ".gitignore"), "w") as out:
                out.write(text)


@unittest.skipUnless(shutil.which("git"), "git is the oracle")
class AsGit(unittest.TestCase):
    def test_takes_the_files_that_git_would_take(self):
        for seed in range(int(os.environ.get("LATHE_SEEDS", "150"))):
            with tempfile.TemporaryDirectory() as root:
                RandomTree(seed).write(root)
                environment = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null", HOME=root)
                subprocess.check_call(["git", "init", "-q", root], env=environment)
                listed = subprocess.check_output(
                    ["git", "-C", root, "ls-files", "-z", "--others", "--exclude-standard"], env=environment
                )
                taken = {entry.path for entry in take_snapshot(root).entries}
                self.assertEqual(taken, {name for name in listed.split(b"\0") if name}, "seed {}".format(seed))


if __name__ == "__main__":
    unittest.main()
