"""The whole way on a real server, with nothing but the standard library: run_everywhere.py starts the server."""

import os
import shutil
import sys
import tempfile
import unittest
import uuid

SDK = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = """
import os, sys
from azureml.core import Run
run = Run.get_context()
for step in range(10):
    run.log('loss', 1.0 / (step + 1))
run.log('version', '%d.%d' % sys.version_info[:2])
os.makedirs('outputs', exist_ok=True)
with open('outputs/answer.txt', 'w') as file:
    file.write(' '.join(sys.argv[1:]))
print('trained')
"""


@unittest.skipUnless(os.environ.get("LATHE_STATE"), "needs a server: tests/run_everywhere.py starts one")
class OnThisPython(unittest.TestCase):
    def setUp(self):
        self.before, self.folder = os.getcwd(), tempfile.mkdtemp()
        os.environ["XDG_STATE_HOME"] = os.path.join(self.folder, "state")
        os.chdir(self.folder)
        os.mkdir("src")
        with open("src/train.py", "w") as file:
            file.write(SCRIPT)
        from azureml.core import Experiment, Workspace

        self.ws = Workspace.create("everywhere-" + uuid.uuid4().hex[:8], exist_ok=True)
        self.exp = Experiment(self.ws, "everywhere")

    def tearDown(self):
        os.chdir(self.before)
        shutil.rmtree(self.folder, ignore_errors=True)

    def test_submit_wait_metrics_files(self):
        from azureml.core import ScriptRunConfig

        config = ScriptRunConfig("src", "train.py", arguments=["--n", 3])
        config.run_config.environment.python.user_managed_dependencies = True
        config.run_config.environment.environment_variables["PYTHONPATH"] = SDK
        run = self.exp.submit(config)
        details = run.wait_for_completion(show_output=False)
        self.assertEqual(details["status"], "Completed")
        self.assertEqual(run.get_metrics()["loss"], [1.0 / (step + 1) for step in range(10)])
        self.assertEqual(run.get_metrics()["version"], "%d.%d" % sys.version_info[:2])
        run.download_file("outputs/answer.txt")
        with open("answer.txt") as file:
            self.assertEqual(file.read(), "--n 3")

    def test_drive_a_run_and_its_children(self):
        with self.exp.start_logging() as run:
            run.log("a", 1)
            with run.child_run() as child:
                child.log("b", 2)
            with open("outputs/x.txt", "w") as file:
                file.write("x")
        self.assertEqual(run.get_status(), "Completed")
        self.assertEqual(run.get_metrics(recursive=True), {run.id: {"a": 1}, child.id: {"b": 2}})
        self.assertIn("outputs/x.txt", run.get_file_names())

    def test_many_small_and_one_large_file(self):
        os.mkdir("many")
        for number in range(200):
            with open("many/{}".format(number), "wb") as file:
                file.write(os.urandom(number))
        with open("many/large", "wb") as file:
            file.write(os.urandom(1 << 20) * 66)
        run = self.exp.start_logging(snapshot_directory=None)
        run.upload_folder("data", "many")
        run.download_files(prefix="data", output_directory="back")
        for name in os.listdir("many"):
            with open("many/" + name, "rb") as ours, open("back/data/" + name, "rb") as theirs:
                self.assertEqual(ours.read(), theirs.read(), name)
        run.complete()


if __name__ == "__main__":
    unittest.main()
