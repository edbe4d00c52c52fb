"""Estimators become ScriptRunConfigs."""

import os
import tempfile
import unittest
import warnings

from azureml._submit.script import check
from azureml.core import Environment
from azureml.core.runconfig import MpiConfiguration, TensorflowConfiguration
from azureml.data.data_reference import DataReference
from azureml.exceptions import TrainingException
from azureml.train import _deprecation
from azureml.train.dnn import Chainer, Mpi, Nccl, ParameterServer, PyTorch, TensorFlow
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

    def test_frameworks_bring_their_packages_and_the_python_of_their_time(self):
        est = TensorFlow(".", entry_script="a.py", conda_packages=["scikit-learn"], pip_packages=["x==1"], use_gpu=True,
                         framework_version="2.2")  # fmt: skip
        packages = est.conda_dependencies
        self.assertEqual(list(packages.pip_packages), ["azureml-defaults", "tensorflow-gpu==2.2.0", "x==1"])
        self.assertEqual(list(packages.conda_packages), ["python=3.6.2", "scikit-learn"])
        self.assertEqual(TensorFlow.get_supported_versions()[:7], ["1.10", "1.12", "1.13", "2.0", "2.1", "2.2", "2.3"])
        for est, expected in (
            (TensorFlow(".", entry_script="a.py"), ["tensorflow==1.13.1"]),
            (TensorFlow(".", entry_script="a.py", framework_version=2.0), ["tensorflow==2.0.0"]),
            (TensorFlow(".", entry_script="a.py", framework_version="2.10", use_gpu=True), ["tensorflow-gpu==2.10.1"]),
            (TensorFlow(".", entry_script="a.py", framework_version="2.15", use_gpu=True), ["tensorflow==2.15.1"]),
            (PyTorch(".", entry_script="a.py"), ["torch==1.4.0", "torchvision==0.5.0"]),
            (SKLearn(".", entry_script="a.py"), ["scikit-learn==0.20.3", "scipy==1.2.1", "joblib==0.13.2"]),
            (Chainer(".", entry_script="a.py", use_gpu=True), ["chainer==5.1.0", "cupy-cuda90==5.1.0"]),
        ):
            self.assertEqual(list(est.conda_dependencies.pip_packages)[1:], expected)

    def test_horovod_comes_with_mpi(self):
        est = TensorFlow(".", entry_script="a.py", node_count=2, distributed_training=MpiConfiguration())
        self.assertEqual(list(est.conda_dependencies.pip_packages)[1:], ["tensorflow==1.13.1", "horovod==0.16.1"])

    def test_the_users_version_of_the_framework_wins(self):
        for own in ({"pip_packages": ["tensorflow-cpu==1.15.0"]}, {"conda_packages": ["tensorflow=1.15"]}):
            est = TensorFlow(".", entry_script="a.py", use_gpu=True, **own)
            self.assertNotIn("1.13.1", est.conda_dependencies.serialize_to_string())

    def test_files_are_found_in_the_source_folder(self):
        folder = tempfile.mkdtemp()
        with open(os.path.join(folder, "c.yml"), "w") as file:
            file.write("dependencies:\n- python=3.7\n- pip:\n  - a==1\n")
        with open(os.path.join(folder, "r.txt"), "w") as file:
            file.write("--extra-index-url https://x.example\nb==2\n")
        est = TensorFlow(folder, entry_script="a.py", conda_dependencies_file="c.yml", pip_requirements_file="r.txt")
        self.assertEqual(list(est.conda_dependencies.pip_packages), ["a==1", "tensorflow==1.13.1", "b==2"])
        self.assertEqual(list(est.conda_dependencies.pip_options), ["--extra-index-url https://x.example"])
        self.assertEqual(est.conda_dependencies.get_python_version(), "3.7")

    def test_the_container_is_as_told(self):
        est = Estimator(".", entry_script="a.py", custom_docker_image="image", use_docker=False, shm_size="2g",
                        user_managed=True, environment_variables={"A": "B"})  # fmt: skip
        env = est.run_config.environment
        self.assertEqual((env.docker.base_image, env.docker.enabled, env.docker.shm_size), ("image", False, "2g"))
        self.assertTrue(env.python.user_managed_dependencies)
        self.assertEqual(env.environment_variables["A"], "B")

    def test_an_environment_of_ones_own_is_used_as_it_is(self):
        env = Environment("mine")
        self.assertIs(made(Estimator(".", entry_script="a.py", environment_definition=env)).environment, env)
        with self.assertRaisesRegex(TrainingException, "pip_packages"):
            TensorFlow(".", entry_script="a.py", environment_definition=env, pip_packages=["x"])
        with self.assertRaisesRegex(TrainingException, "not an Environment"):
            Estimator(".", entry_script="a.py", environment_definition="mine")

    def test_inputs_resume_and_duration_are_handed_on(self):
        reference = DataReference(None, "data")
        config = made(Estimator(".", entry_script="a.py", inputs=[reference], resume_from=reference,
                                max_run_duration_seconds=60))  # fmt: skip
        self.assertIs(config.run_config.data_references["data"], reference)
        self.assertIs(config.resume_from, reference)
        self.assertEqual(config.run_config.max_run_duration_seconds, 60)
        with self.assertRaisesRegex(TrainingException, "as_named_input"):
            Estimator(".", entry_script="a.py", inputs=["data"])

    def test_each_class_says_once_that_it_is_deprecated_and_what_does_the_same(self):
        _deprecation._said.clear()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(2):
                TensorFlow("src", entry_script="a.py", compute_target="gpu", script_params={"--a": 1})
        texts = [str(warning.message) for warning in told if warning.category is DeprecationWarning]
        self.assertEqual(len(texts), 1)
        self.assertIn("ScriptRunConfig(source_directory='src', script='a.py', arguments=[…], compute_target='gpu'", texts[0])
        self.assertIn("Environment.get(ws, 'AzureML-TensorFlow-1.13-GPU')", texts[0])
        self.assertEqual(told[0].filename, __file__)

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
            PyTorch(".", entry_script="a.py", node_count=2, distributed_training=Nccl()),
            PyTorch(".", entry_script="a.py", process_count_per_node=2, distributed_backend="gloo"),
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
        for wrong, why in (
            ({"distributed_backend": "ps"}, "mpi are"), ({"node_count": 0}, "1 or more"), ({"node_count": "two"}, "node_count"),
            ({"distributed_training": "mpi"}, "is a str"), ({"distributed_training": Mpi(), "distributed_backend": "mpi"}, "newer"),
            ({"custom_docker_image": "a", "custom_docker_base_image": "b"}, "newer name"),
        ):  # fmt: skip
            with self.assertRaisesRegex(TrainingException, why):
                Estimator(".", entry_script="a.py", **wrong)
        with self.assertRaises(TypeError):
            Estimator(".", entry_script="a.py", worker_count=2)


if __name__ == "__main__":
    unittest.main()
