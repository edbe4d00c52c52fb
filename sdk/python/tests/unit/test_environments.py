"""Environments, conda files and run configurations as data."""

import os
import sys
import tempfile
import unittest
import warnings

from azureml._submit.environment import interpreter_of, is_untouched, wants_image, with_docker
from azureml.core import Environment, RunConfiguration, ScriptRunConfig
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.runconfig import ContainerRegistry, DataReferenceConfiguration, DockerConfiguration
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

    def test_option_lines_come_first_and_one_name_stands_once(self):
        packages = CondaDependencies.create(pip_indexurl="https://a.example/simple", pip_packages=["x"])
        packages.set_pip_index_url("https://b.example/simple")
        packages.set_pip_option("--extra-index-url https://c.example")
        packages.set_pip_option("--extra-index-url https://d.example")
        packages.set_pip_option("--extra-index-url https://c.example")
        self.assertEqual(
            list(packages.pip_options),
            ["--index-url https://b.example/simple", "--extra-index-url https://d.example",
             "--extra-index-url https://c.example"],
        )  # fmt: skip
        self.assertEqual(list(packages.pip_packages), ["azureml-defaults", "x"])
        packages.remove_pip_option("--index-url")
        self.assertEqual(len(list(packages.pip_options)), 2)

    def test_requirements_of_one_package_are_merged(self):
        merge = CondaDependencies.merge_requirements
        self.assertEqual(merge(["x>=1", "y", "x<2", "y", "x>=1"]), ["x>=1,<2", "y"])
        self.assertEqual(CondaDependencies().get_default_number_of_packages(), 1)

    def test_named_frameworks(self):
        packages = CondaDependencies()
        packages.add_tensorflow_conda_package(core_type="gpu", version="2.2.0")
        packages.add_tensorflow_pip_package(version="2.2.0")
        packages.add_cntk_package()
        self.assertIn("tensorflow-gpu=2.2.0", list(packages.conda_packages))
        self.assertEqual(list(packages.pip_packages)[1:], ["tensorflow==2.2.0", "cntk==2.7"])

    def test_a_file_named_by_r_is_read_where_it_lies_beside_the_conda_file(self):
        self.write("more.txt", "numpy==1.18.5 # why\n-r deeper.txt\n")
        self.write("deeper.txt", "\\\nscipy==1.4.1 \\\n  --hash=sha256:00\n")
        self.write("c.yml", "dependencies:\n- pip:\n  - -r more.txt\n  - -r of-the-source-folder.txt\n  - x\n")
        pip = CondaDependencies(self.path("c.yml")).as_dict()["dependencies"][0]["pip"]
        self.assertEqual(
            pip, ["numpy==1.18.5", "scipy==1.4.1 --hash=sha256:00", "-r of-the-source-folder.txt", "x"]
        )
        self.write("circle.txt", "-r circle.txt\n")
        with self.assertRaisesRegex(UserErrorException, "names itself"):
            Environment.from_pip_requirements("e", self.path("circle.txt"))

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

    def test_from_an_image_with_packages_or_with_its_own_python(self):
        env = Environment.from_docker_image("e", "debian:12")
        self.assertTrue(env.docker.enabled and env.python.user_managed_dependencies)
        env = Environment.from_docker_image("e", "debian:12", pip_requirements=self.write("r.txt", "numpy"))
        self.assertFalse(env.python.user_managed_dependencies)
        with self.assertRaisesRegex(UserErrorException, "either"):
            Environment.from_docker_image("e", "i", conda_specification="c.yml", pip_requirements="r.txt")

    def test_from_a_dockerfile_by_path_or_as_text(self):
        file = self.write("Dockerfile", "FROM debian:12\nRUN true\n")
        for given in (file, "FROM debian:12\nRUN true\n"):
            env = Environment.from_dockerfile("e", given)
            self.assertEqual((env.docker.base_dockerfile, env.docker.base_image), ("FROM debian:12\nRUN true\n", None))
            self.assertTrue(env.docker.enabled and env.python.user_managed_dependencies)
        self.assertFalse(
            Environment.from_dockerfile("e", file, self.write("c.yml", CONDA)).python.user_managed_dependencies
        )
        with self.assertRaisesRegex(UserErrorException, "cannot be read"):
            Environment.from_dockerfile("e", "no-such-file")

    def test_what_is_not_offered_says_what_is(self):
        for call, hint in (
            (lambda: Environment.from_existing_conda_environment("e", "base"), "conda env export"),
            (lambda: Environment.from_docker_build_context("e", None), "from_dockerfile"),
            (lambda: Environment.add_private_pip_wheel(None, "a/x.whl"), r"\./x\.whl"),
            (lambda: Environment.get(None, "e", label="x"), "latest"),
        ):
            with self.assertRaisesRegex(UserErrorException, "(?s)hint: .*" + hint + "|" + hint):
                call()

    def test_reserved_names_and_no_name_cannot_be_registered(self):
        for name in ("AzureML-mine", "azureml-mine", "Microsoft-mine"):
            with self.assertRaisesRegex(UserErrorException, "clone"):
                Environment(name).register(None)
        with self.assertRaisesRegex(UserErrorException, "needs a name"):
            Environment(None).register(None)

    def test_a_password_of_a_registry_is_never_sent(self):
        env = Environment.from_docker_image("e", "i", ContainerRegistry("host", "user", "secret"))
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            self.assertNotIn("secret", str(env._definition()))
        self.assertEqual(env.docker.base_image_registry.password, "secret")

    def test_typing_mistakes_are_refused(self):
        with self.assertRaisesRegex(AttributeError, "base_image"):
            Environment("e").docker.baseimage = "x"

    def test_from_requirements(self):
        env = Environment.from_pip_requirements("e", self.write("r.txt", "# c\nnumpy==1.18\n\nscipy # why\n"))
        self.assertEqual(list(env.python.conda_dependencies.pip_packages), ["numpy==1.18", "scipy"])


class Submitted(unittest.TestCase):
    def test_docker_settings_of_a_run_change_what_is_sent_and_nothing_else(self):
        env = Environment("e")
        sent = with_docker(env._definition(), DockerConfiguration(use_docker=True, arguments=["--x"], shm_size="1g"))
        self.assertEqual((sent["docker"]["enabled"], sent["docker"]["arguments"], sent["docker"]["shmSize"]),
                         (True, ["--x"], "1g"))  # fmt: skip
        self.assertEqual(with_docker(env._definition(), DockerConfiguration()), env._definition())
        self.assertEqual(env.docker.arguments, [])

    def test_settings_of_a_container_mean_something_where_there_is_one(self):
        env = Environment("e")
        self.assertFalse(wants_image(env, DockerConfiguration()))
        self.assertTrue(wants_image(env, DockerConfiguration(use_docker=True)))
        env.docker.base_dockerfile = "FROM x"
        self.assertTrue(wants_image(env, None))

    def test_no_environment_is_told_apart_from_a_fresh_one(self):
        plain = ScriptRunConfig(".", "a.py").run_config.environment
        plain.environment_variables["A"] = "B"
        self.assertTrue(is_untouched(plain))
        self.assertFalse(is_untouched(Environment("named")))
        plain.python.conda_dependencies.add_pip_package("x")
        self.assertFalse(is_untouched(plain))

    def test_an_interpreter_of_ones_own_is_named_but_for_images(self):
        env = Environment("e")
        self.assertIsNone(interpreter_of(env, "local"))
        env.python.user_managed_dependencies = True
        self.assertEqual(interpreter_of(env, "local"), sys.executable)
        self.assertIsNone(interpreter_of(env, "cluster"))
        env.python.interpreter_path = "/opt/python"
        self.assertEqual(interpreter_of(env, "cluster"), "/opt/python")
        env.docker.enabled = True
        self.assertIsNone(interpreter_of(env, "local"))


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
