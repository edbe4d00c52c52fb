"""Environments, conda files and run configurations as data."""

import os
import tempfile
import unittest

from azureml.core import Environment, RunConfiguration, ScriptRunConfig
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.runconfig import DataReferenceConfiguration, DockerConfiguration
from azureml.exceptions import UserErrorException

CONDA = """\
channels:
- conda-forge
dependencies:
- python=3.6.2
- pip:
  - azureml-defaults
  - tensorflow-gpu==2.2.0
"""


class InAFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)


class CondaFiles(InAFolder):
    def test_a_fresh_one_has_python_and_the_defaults(self):
        text = CondaDependencies().serialize_to_string()
        self.assertIn("# Conda environment specification", text)
        self.assertIn("name: project_environment\ndependencies:\n- python=", text)
        self.assertIn("- pip:\n  - azureml-defaults\n", text)
        self.assertIn("channels:\n- anaconda\n- conda-forge\n", text)

    def test_adding_replaces_another_version(self):
        packages = CondaDependencies.create(conda_packages=["numpy=1.17"], pip_packages=["Foo_Bar==1", "pip-x"])
        packages.add_pip_package("foo-bar==2")
        packages.add_conda_package("numpy=1.18")
        packages.set_python_version("3.7")
        self.assertEqual(list(packages.pip_packages), ["azureml-defaults", "pip-x", "foo-bar==2"])
        self.assertEqual(list(packages.conda_packages), ["python=3.7", "numpy=1.18"])
        self.assertEqual(packages.get_python_version(), "3.7")
        packages.remove_pip_package("FOO.bar")
        self.assertEqual(list(packages.pip_packages), ["azureml-defaults", "pip-x"])

    def test_a_file_is_read_changed_and_written(self):
        packages = CondaDependencies(self.write("c.yml", CONDA))
        packages.add_pip_package("colorama==0.4.4")
        packages.save_to_file(self.folder, "sub/out.yml")
        again = CondaDependencies(self.path("sub/out.yml"))
        self.assertEqual(list(again.pip_packages), ["azureml-defaults", "tensorflow-gpu==2.2.0", "colorama==0.4.4"])
        self.assertEqual(again, packages)

    def test_wrong_files_are_refused_with_a_reason(self):
        for text, why in (
            ("dependencies: 3\n", "list of dependencies"),
            ("a: &x 1\n", "line 1"),
            ("- a\n", "dependencies"),
        ):
            with self.assertRaisesRegex(UserErrorException, why):
                CondaDependencies(self.write("bad.yml", text))
        with self.assertRaisesRegex(UserErrorException, "cannot be read"):
            CondaDependencies(self.path("nothing.yml"))


class Environments(InAFolder):
    def test_from_a_conda_file_with_an_image(self):
        env = Environment.from_conda_specification("tf", self.write("c.yml", CONDA))
        env.docker.enabled = True
        env.docker.base_image = "image"
        self.assertEqual((env.name, env.docker.base_image), ("tf", "image"))
        self.assertIn("python=3.6.2", env.python.conda_dependencies.serialize_to_string())

    def test_saved_and_loaded_it_is_the_same_and_the_conda_file_is_believed(self):
        env = Environment("e")
        env.environment_variables["A"] = "B"
        env.docker.arguments.append("--ipc=host")
        env.save_to_directory(self.path("env"))
        self.assertEqual(Environment.load_from_directory(self.path("env")), env)
        with self.assertRaisesRegex(UserErrorException, "overwrite=True"):
            env.save_to_directory(self.path("env"))
        edited = CondaDependencies(self.path("env/conda_dependencies.yml"))
        edited.add_pip_package("colorama")
        edited.save_to_file(self.path("env"))
        self.assertIn(
            "colorama",
            Environment.load_from_directory(self.path("env")).python.conda_dependencies.serialize_to_string(),
        )

    def test_two_environments_share_nothing(self):
        first, second = Environment("a"), Environment("b")
        first.environment_variables["A"] = "B"
        first.docker.base_image_registry.address = "host"
        first.python.conda_dependencies.add_pip_package("x")
        self.assertNotIn("A", second.environment_variables)
        self.assertIsNone(second.docker.base_image_registry.address)
        self.assertNotIn("x", list(second.python.conda_dependencies.pip_packages))
        clone = first.clone("c")
        clone.python.conda_dependencies.add_pip_package("y")
        self.assertNotIn("y", list(first.python.conda_dependencies.pip_packages))

    def test_typing_mistakes_are_refused(self):
        with self.assertRaisesRegex(AttributeError, "base_image"):
            Environment("e").docker.baseimage = "x"

    def test_from_requirements(self):
        env = Environment.from_pip_requirements("e", self.write("r.txt", "# c\nnumpy==1.18\n\nscipy # why\n"))
        self.assertEqual(list(env.python.conda_dependencies.pip_packages), ["numpy==1.18", "scipy"])


class RunConfigurations(InAFolder):
    def test_saved_and_loaded_it_is_the_same(self):
        config = RunConfiguration(
            framework="Python", conda_dependencies=CondaDependencies.create(pip_packages=["x==1"])
        )
        config.target = "cpu-cluster"
        config.environment.python.user_managed_dependencies = True
        config.data_references = {
            "d": DataReferenceConfiguration("workspaceblobstore", path_on_datastore="a b: c")._to_json()
        }
        config.docker = DockerConfiguration(use_docker=True, arguments=["-v", "/a:/b"])
        config.save(self.folder, "mine")
        self.assertTrue(os.path.exists(self.path(".azureml/mine.runconfig")))
        again = RunConfiguration.load(self.folder, "mine")
        self.assertEqual(again, config)
        self.assertEqual(list(again.environment.python.conda_dependencies.pip_packages), ["azureml-defaults", "x==1"])
        self.assertEqual(RunConfiguration.load(self.path(".azureml/mine.runconfig")).target, "cpu-cluster")

    def test_the_target_may_be_an_object_a_name_or_nothing(self):
        class Target:
            name = "object"

        for given, expected in ((Target(), "object"), ("name", "name"), ("local", "local"), (None, "local")):
            self.assertEqual(ScriptRunConfig(".", "a.py", compute_target=given).run_config.target, expected)

    def test_what_does_not_fit_together_is_refused(self):
        for arguments in ({}, {"script": "a", "command": "b"}, {"command": "b", "arguments": ["c"]},
                          {"script": "a", "run_config": RunConfiguration(), "compute_target": "x"}):  # fmt: skip
            with self.assertRaises(UserErrorException):
                ScriptRunConfig(".", **arguments)
        with self.assertRaises(TypeError):
            ScriptRunConfig(".", "a.py", no_such_argument=1)


if __name__ == "__main__":
    unittest.main()
