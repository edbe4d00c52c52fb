#!/usr/bin/env python3
"""The scripts count and print what they say they do."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import bench_table  # noqa: E402
import count_tests  # noqa: E402

GTEST = """<testsuites><testsuite name="A">
<testcase name="Good" status="run"/><testcase name="Off" status="notrun"/>{more}
</testsuite></testsuites>"""
BAD_CASE = '<testcase name="Bad" status="run"><failure message="x"/></testcase>'
CTEST = '<testsuite><testcase name="cli" status="{cli}"/><testcase name="layer_lint" status="run"/></testsuite>'


class CountTests(unittest.TestCase):
    def count(self, gtest, ctest):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "cases").mkdir()
            if gtest is not None:
                (root / "cases/cli_test.xml").write_text(gtest)
            (root / "ctest.xml").write_text(ctest)
            return count_tests.count([root / "ctest.xml", root / "cases", root / "absent.xml"])

    def test_cases_count_and_their_program_does_not_count_again(self):
        self.assertEqual((2, 0), self.count(GTEST.format(more=""), CTEST.format(cli="run")))

    def test_a_failing_case_counts_once(self):
        self.assertEqual((2, 1), self.count(GTEST.format(more=BAD_CASE), CTEST.format(cli="fail")))

    def test_a_program_that_crashed_after_good_cases_is_a_failure(self):
        self.assertEqual((2, 1), self.count(GTEST.format(more=""), CTEST.format(cli="fail")))

    def test_a_program_that_crashed_without_a_report_is_a_failure(self):
        self.assertEqual((1, 1), self.count(None, CTEST.format(cli="fail")))
        self.assertEqual((1, 1), self.count("<testsuites><cut", CTEST.format(cli="fail")))

    def test_scenarios_of_the_conformance_kit_count(self):
        scenarios = [{"name": "a", "passed": True}, {"name": "b", "passed": False}, {"name": "c", "passed": True}]
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "conformance.json"
            report.write_text(json.dumps({"scenarios": scenarios, "skipped": ["d"]}))
            self.assertEqual((2, 1), count_tests.count([report]))


class BenchTable(unittest.TestCase):
    ROW = {"name": "idle", "ours": 31.5, "peer": None, "ratio": 0.49218, "goal": "≤ 64 MiB", "met": True}

    def test_rows_become_a_table(self):
        lines = bench_table.table(bench_table.read_rows(json.dumps(self.ROW) + "\n\n")).splitlines()
        self.assertEqual(["name", "ours", "peer or limit", "ratio", "goal", "met"], [cell.strip() for cell in lines[0].split("|")])
        self.assertEqual(["idle", "31.5", "–", "0.492", "≤ 64 MiB", "yes"], [cell.strip() for cell in lines[1].split("|")])

    def test_a_row_without_a_field_is_refused(self):
        with self.assertRaises(SystemExit):
            bench_table.read_rows('{"name": "idle"}')


class Conformance(unittest.TestCase):
    KIT = "import pathlib, sys\npathlib.Path(__file__).with_name('told').write_text(' '.join(sys.argv[1:]))\nsys.exit(1)\n"

    def test_the_kit_gets_the_mnist_that_is_here_and_fetches_nothing(self):
        """On a machine without npm, which nothing of ours installs."""
        with tempfile.TemporaryDirectory() as folder:
            root, kit = pathlib.Path(folder) / "lathe", pathlib.Path(folder) / "kit"
            for path in (root / "tests", root / ".lathe-tools/mnist", root / ".lathe-tools/test-venv/bin", kit):
                path.mkdir(parents=True)
            shutil.copytree(ROOT / "scripts", root / "scripts")
            shutil.copy(ROOT / "tests/conformance.sh", root / "tests")
            (root / ".lathe-tools/mnist.done").touch()
            (root / ".lathe-tools/test-venv/bin/python").symlink_to(sys.executable)
            (kit / "run.py").touch()
            (kit / "prepare_data.py").write_text(self.KIT)
            done = subprocess.run([str(root / "tests/conformance.sh")], capture_output=True, text=True,
                                  env=dict(os.environ, LATHE_CONFORMANCE=str(kit)))
            self.assertIn("hint:", done.stderr)
            told = (kit / "told").read_text()
            self.assertEqual(f"--from {root}/.lathe-tools/mnist --to {root}/build/conformance-data", told)


class Fuzz(unittest.TestCase):
    BUSY = "#!/usr/bin/env python3\nimport time\nwhile time.process_time() < 1.2: pass\n"

    def fuzz(self, root):
        tools = root / "bin"
        return subprocess.run([str(root / "scripts/fuzz.sh"), "--for", "1"], capture_output=True, text=True,
                              env=dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", LATHE_PROGRESS=str(root)))

    def test_time_adds_up_over_calls_and_a_failure_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            shutil.copytree(ROOT / "scripts", root / "scripts")
            programs = root / "build/fuzz/tests/fuzz"
            for path in (programs, root / "bin"):
                path.mkdir(parents=True)
            for path, text in ((root / "bin/cmake", "#!/bin/sh\n"), (programs / "fuzz_a", self.BUSY), (programs / "fuzz_b", self.BUSY)):
                path.write_text(text)
                path.chmod(0o755)
            for expected in (["a"], ["a", "b"]):
                done = self.fuzz(root)
                self.assertEqual(0, done.returncode, done.stderr)
                counted = dict(line.split() for line in (root / "fuzz-seconds").read_text().splitlines())
                self.assertEqual(expected, sorted(counted))
                self.assertTrue(all(int(seconds) >= 1 for seconds in counted.values()), counted)
            (programs / "fuzz_a").write_text("#!/bin/sh\necho crash\nexit 77\n")
            failed = self.fuzz(root)
            self.assertEqual(1, failed.returncode)
            self.assertIn("the target a failed", failed.stderr)
            self.assertIn("crash", failed.stderr)


class Shell(unittest.TestCase):
    def scripts(self):
        return [str(file) for file in [*ROOT.glob("*.sh"), *ROOT.glob("scripts/*.sh"), *ROOT.glob("tests/*.sh"), ROOT / ".ci/run"]]

    def test_every_script_is_strict(self):
        for script in self.scripts():
            if not script.endswith("common.sh"):
                self.assertIn("set -euo pipefail", pathlib.Path(script).read_text(), script)

    @unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not installed")
    def test_shellcheck_has_no_complaint(self):
        done = subprocess.run(["shellcheck", "-x", *self.scripts()], capture_output=True, text=True, cwd=ROOT)
        self.assertEqual(0, done.returncode, done.stdout)


if __name__ == "__main__":
    unittest.main()
