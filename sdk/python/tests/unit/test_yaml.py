"""The YAML subset: what it reads, what it refuses, and that it reads what it writes."""

import random
import unittest

from lathe.yaml import YamlError, read_yaml, write_yaml

try:
    import yaml as oracle  # in the test environment only
except ImportError:
    oracle = None

DOCUMENTS = [
    "",
    "# only a comment\n",
    "a: 1\n",
    "---\na: 1\n",
    "channels:\n- conda-forge\ndependencies:\n- python=3.6.2\n- pip:\n  - azureml-defaults\n  - tensorflow-gpu==2.2.0\n",
    "channels:\n  - a\n  - b\n",
    "a:\n  b:\n    c: [1, two, 'three', \"fo\\tur\"]\n  d: {x: 1, y: [a, b], z: }\n",
    "a: 'it''s'\nb: \"q\\\"u # o\"\nc: x#y # comment\n",
    "a: |\n  one\n   two\n\n  three\nb: >\n  one\n  two\n\n  three\n",
    "a: |-\n  one\n  two\nb: |+\n  one\n\nc: >-\n  x\n  y\n",
    "a: |\n  text at the end\n\n\n",
    "- - 1\n  - 2\n- - 3\n-\n  - 4\n",
    "- a: 1\n  b: 2\n- c: 3\n",
    "-\n  a: 1\n- x\n-\n",
    "a: yes\nb: No\nc: null\nd: ~\ne: 1.5\nf: 1e3\ng: 1.0e+3\nh: 0x1f\ni: 0o7\nj: 010\nk: .inf\nl: -1\nm: 1_000\n",
    "a: 3.6.2\nb: 1.2.3.4\nc: python>=3.6\nd: http://host:80/x\ne: a:b\n",
    "a: plain text\n  that goes on\nb: 1\n",
    "'quoted key': 1\n\"other\": 2\n3: three\ntrue: yes\n",
    "a:\n- x\nb: y\n",
    "a:\n\n  # a comment\n  b: 1\n\nc: 2\n",
    "a: [1,\n    2]\n",
    "b: '-'\n",
    "key: value with:colon\n",
    "a: >\n  one\n    deeper\n  two\n",
    "text: 'a # b'\nother: \"c: d\"\n",
    "a: 'x' # y\n",
]

REFUSED = [
    ("a: &x 1\n", "anchors"),
    ("a: *x\n", "anchors"),
    ("a: !tag 1\n", "tags"),
    ("a: 1\na: 2\n", "twice"),
    ("a: 1\n b: 2\n", ""),
    ("a: 'x\n", "quote"),
    ("a: [1, 2\n", ""),
    ("\ta: 1\n", "tab"),
    ("a: 1\n---\nb: 2\n", "several documents"),
    ("a: 2020-01-02\n", "quotes"),
    ("%YAML 1.1\n", "directives"),
    ("a:\n  - 1\n 2\n", ""),
    ("a:\n  <<: {b: 1}\n", "merge"),
    ("key: value with: colon\n", "map"),
]


class ReadingYaml(unittest.TestCase):
    @unittest.skipUnless(oracle, "PyYAML is the oracle")
    def test_reads_as_pyyaml_does(self):
        for text in DOCUMENTS:
            with self.subTest(text=text):
                self.assertEqual(read_yaml(text), oracle.safe_load(text))

    def test_refuses_with_the_number_of_the_line(self):
        for text, why in REFUSED:
            with self.subTest(text=text):
                with self.assertRaises(YamlError) as raised:
                    read_yaml(text)
                self.assertRegex(str(raised.exception), r"^line \d+: .*" + why)


class WritingYaml(unittest.TestCase):
    def test_reads_what_it_wrote(self):
        for seed in range(2000):
            value = random_value(random.Random(seed), 0)
            text = write_yaml(value)
            self.assertEqual(read_yaml(text), value, "seed {}:\n{}".format(seed, text))

    @unittest.skipUnless(oracle, "PyYAML is the oracle")
    def test_pyyaml_reads_what_it_wrote(self):
        for seed in range(1000):
            value = random_value(random.Random(seed), 0)
            text = write_yaml(value)
            self.assertEqual(oracle.safe_load(text), value, "seed {}:\n{}".format(seed, text))


WORDS = ["a", "b c", "yes", "1", "1.5", "", " x ", "x: y", "#no", "a #b", "- a", "'q'", '"', "null", "~", "é",
         "tab\t", "line\nend", "{", "[x]", "*s", "&a", "!t", "%d", "@x", "`", "0x1f", "1e3", "2020-01-01", "12:30",
         "-", "-x", "?", "? y", ":", ":x", "a:", "\\", "\u2028", "\x85", "|", ">", "=", "<<", "a,b", "C:\\dir", "--flag", "---", "..."]  # fmt: skip


def random_value(chance, depth):
    kind = chance.randrange(6 if depth < 4 else 4)
    if kind == 4:
        return [random_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 5:
        return {chance.choice(WORDS): random_value(chance, depth + 1) for _ in range(chance.randrange(4))}
    return [
        chance.choice(WORDS),
        chance.randrange(-100, 100),
        chance.choice([None, True, False]),
        chance.uniform(-1e9, 1e-9),
    ][kind]


if __name__ == "__main__":
    unittest.main()
