"""Estimators become ScriptRunConfigs."""

import unittest

from azureml._submit.script import check
from azureml.core.runconfig import MpiConfiguration, TensorflowConfiguration
from azureml.exceptions import TrainingException
from azureml.train.dnn import Mpi, ParameterServer, PyTorch, TensorFlow
from azureml.train.estimator import Estimator
from azureml.train.sklearn import SKLearn


def made(estimator):
    return estimator._script_run_config({})


class Estimators(unittest.TestCase):
    def test_parameters_become_arguments_and_empty_ones_bare_flags(self):
        est = Estimator(source_directory="src", entry_script="train.py", compute_target="cpu",
                        script_params={"--batch-size": 50, "--verbose": "", "--rate": 0.1})  # fmt: skip
        config = made(est)
        self.assertEqual(config.arguments, ["--batch-size", 50, "--verbose", "--rate", 0.1])
        self.assertEqual((config.source_directory, config.script, config.run_config.target), ("src", "train.py", "cpu"))

    def test_frameworks_bring_their_packages(self):
        est = TensorFlow(".", entry_script="a.py", conda_packages=["scikit-learn"], pip_packages=["x==1"], use_gpu=True,
                         framework_version="2.2")  # fmt: skip
        packages = made(est).environment.python.conda_dependencies
        self.assertIn("tensorflow-gpu==2.2.0", list(packages.pip_packages))
        self.assertIn("x==1", list(packages.pip_packages))
        self.assertIn("scikit-learn", list(packages.conda_packages))
        self.assertEqual(TensorFlow.get_supported_versions(), ["1.10", "1.12", "1.13", "2.0", "2.1", "2.2"])
        self.assertIn(
            "torch==1.4",
            list(made(PyTorch(".", entry_script="a.py")).environment.python.conda_dependencies.pip_packages),
        )
        SKLearn(".", entry_script="a.py")

    def test_the_run_config_can_be_changed_before_submitting(self):
        est = Estimator(".", entry_script="a.py")
        est.run_config.target = "other"
        self.assertEqual(made(est).run_config.target, "other")

    def test_distributed_jobs_are_recognised_and_wait_for_their_feature(self):
        jobs = [
            TensorFlow(".", entry_script="a.py", node_count=2, distributed_backend="mpi"),
            TensorFlow(".", entry_script="a.py", node_count=2, distributed_training=MpiConfiguration()),
            TensorFlow(".", entry_script="a.py", node_count=2, distributed_training=Mpi(2)),
            TensorFlow(".", entry_script="a.py", worker_count=2, distributed_backend="ps"),
            TensorFlow(".", entry_script="a.py", distributed_training=TensorflowConfiguration(2, 1)),
            TensorFlow(".", entry_script="a.py", distributed_training=ParameterServer(2, 1)),
        ]
        for job in jobs:
            with self.assertRaisesRegex(NotImplementedError, "distributed jobs"):
                check(made(job))

    def test_wrong_arguments(self):
        with self.assertRaises(TypeError):
            Estimator(".", entry_script="a.py", no_such_argument=1)
        with self.assertRaises(TypeError):
            Estimator(".", entry_script="a.py", framework_version="2.2")
        with self.assertRaisesRegex(TrainingException, "9.9"):
            TensorFlow(".", entry_script="a.py", framework_version="9.9")
        with self.assertRaisesRegex(TrainingException, "entry_script"):
            Estimator(".")
        with self.assertRaisesRegex(TrainingException, "distributed_training"):
            Estimator(".", entry_script="a.py", node_count=2)


if __name__ == "__main__":
    unittest.main()
