"""Environment: the packages, variables and container of a run, as data that can be kept, edited and registered."""

import copy
import json
import os
from typing import Any, Dict, Optional

from lathe.errors import NotFound

from azureml.core._sections import DockerSection, PythonSection, RSection, Section, SparkSection
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.container_registry import ContainerRegistry  # noqa: F401
from azureml.exceptions import UserErrorException

DEFAULT_CPU_IMAGE = "mcr.microsoft.com/azureml/openmpi3.1.2-ubuntu18.04"
DEFAULT_GPU_IMAGE = "mcr.microsoft.com/azureml/openmpi3.1.2-cuda10.1-cudnn7-ubuntu18.04"
RESERVED = ("azureml", "microsoft")
JSON_FILE, CONDA_FILE = "azureml_environment.json", "conda_dependencies.yml"


class Environment(Section):
    """Packages, variables and container of a run.

    Example:

        env = Environment.from_conda_specification("tensorflow-2.2", "./conda_dependencies.yml")
        env.docker.base_image = DEFAULT_GPU_IMAGE
        env.register(workspace=ws)
    """

    _fields = {
        "name": None, "version": None, "python": None, "environment_variables": {"EXAMPLE_ENV_VAR": "EXAMPLE_VALUE"},
        "docker": None, "spark": None, "r": None, "inferencing_stack_version": None,
    }  # type: Dict[str, Any]  # fmt: skip

    def __init__(self, name: Optional[str], **given: Any) -> None:
        defaults = {"python": PythonSection(), "docker": DockerSection(), "spark": SparkSection()}
        defaults.update(given)
        super(Environment, self).__init__(name=name, **defaults)

    # --- registered ones

    @staticmethod
    def get(workspace: Any, name: str, version: Optional[str] = None) -> "Environment":
        """A registered or curated environment. Example: `Environment.get(ws, "AzureML-TensorFlow-2.2-GPU")`"""
        try:
            view = workspace._api.get(workspace._path("environments", name), version=version and str(version))
        except NotFound as problem:
            raise UserErrorException("there is no environment {!r}: {}".format(name, problem))
        return Environment._of_view(view)

    @staticmethod
    def list(workspace: Any) -> Dict[str, "Environment"]:
        """Environments by name, curated ones among them. Example: `Environment.list(ws).keys()`"""
        views = workspace._api.items(workspace._path("environments"), limit=500)
        return {view["name"]: Environment._of_view(view) for view in views}

    def register(self, workspace: Any) -> "Environment":
        """Keep it under its name; the version counts up when it has changed. Example: `env.register(ws).version`"""
        check_name(self.name)
        view = workspace._api.put(workspace._path("environments", self.name), {"definition": self._definition()})
        self.version = str(view["version"])
        return Environment._of_view(view)

    @staticmethod
    def _of_view(view: Dict[str, Any]) -> "Environment":
        env = Environment(view["name"])
        env._load(view["definition"])
        env.name, env.version = view["name"], str(view["version"])
        return env

    def _definition(self) -> Dict[str, Any]:
        """What is kept: the version is the server's to count."""
        definition = self._to_json()
        definition.pop("version")
        return definition

    # --- making them from something else

    @staticmethod
    def from_conda_specification(name: str, file_path: str) -> "Environment":
        """From a conda file. Example: `Environment.from_conda_specification("tf", "./conda_dependencies.yml")`"""
        env = Environment(name)
        env.python.conda_dependencies = CondaDependencies(file_path)
        return env

    @staticmethod
    def from_pip_requirements(name: str, file_path: str, pip_version: Optional[str] = None) -> "Environment":
        """From a requirements.txt. Example: `Environment.from_pip_requirements("tf", "requirements.txt")`"""
        try:
            with open(file_path, "r", encoding="utf-8") as file:
                lines = [line.split(" #")[0].strip() for line in file]
        except OSError as problem:
            raise UserErrorException("the file {} cannot be read: {}".format(file_path, problem.strerror))
        env = Environment(name)
        env.python.conda_dependencies.set_pip_requirements([line for line in lines if line and line[0] != "#"])
        return env

    @staticmethod
    def from_docker_image(name, image, container_registry=None, conda_specification=None, pip_requirements=None):
        # type: (str, str, Any, Optional[str], Optional[str]) -> Environment
        """From an image. Example: `Environment.from_docker_image("tf", "tensorflow/tensorflow:2.2.0")`"""
        env = Environment(name)
        if conda_specification:
            env = Environment.from_conda_specification(name, conda_specification)
        elif pip_requirements:
            env = Environment.from_pip_requirements(name, pip_requirements)
        env.docker.enabled, env.docker.base_image = True, image
        env.python.user_managed_dependencies = not conda_specification and not pip_requirements
        if container_registry is not None:
            env.docker.base_image_registry = container_registry
        return env

    @staticmethod
    def from_existing_conda_environment(name: str, conda_environment_name: str) -> "Environment":
        """From a conda environment of this machine.

        Example: `Environment.from_existing_conda_environment("e", "base")`
        """
        import subprocess
        import tempfile

        try:
            text = subprocess.check_output(["conda", "env", "export", "--no-builds", "-n", conda_environment_name])
        except (OSError, subprocess.CalledProcessError) as problem:
            raise UserErrorException("conda could not tell what {!r} holds: {}".format(conda_environment_name, problem))
        with tempfile.NamedTemporaryFile(suffix=".yml") as file:
            file.write(text)
            file.flush()
            return Environment.from_conda_specification(name, file.name)

    def clone(self, new_name: str) -> "Environment":
        """An independent copy under another name. Example: `env.clone("tensorflow-2.2-gpu")`"""
        made = copy.deepcopy(self)
        made.name, made.version = new_name, None
        return made

    # --- files

    def save_to_directory(self, path: str, overwrite: bool = False) -> None:
        """Write azureml_environment.json and conda_dependencies.yml. Example: `env.save_to_directory("my-env")`"""
        if os.path.exists(path) and os.listdir(path) and not overwrite:
            existing = [name for name in (JSON_FILE, CONDA_FILE) if os.path.exists(os.path.join(path, name))]
            if existing:
                raise UserErrorException("{} holds {} already\nhint: overwrite=True".format(path, ", ".join(existing)))
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, JSON_FILE), "w", encoding="utf-8") as file:
            json.dump(self._to_json(), file, indent=4)
            file.write("\n")
        if self.python.conda_dependencies is not None:
            self.python.conda_dependencies.save_to_file(path, CONDA_FILE)

    @staticmethod
    def load_from_directory(path: str) -> "Environment":
        """What save_to_directory wrote; the conda file is believed.

        Example: `Environment.load_from_directory("my-env")`
        """
        try:
            with open(os.path.join(path, JSON_FILE), "r", encoding="utf-8") as file:
                data = json.load(file)
        except (OSError, ValueError) as problem:
            raise UserErrorException("{} holds no environment: {}".format(path, problem))
        env = Environment(data.get("name"))
        env._load(data)
        conda = os.path.join(path, CONDA_FILE)
        if os.path.exists(conda):
            env.python.conda_dependencies = CondaDependencies(conda)
        return env

    # --- later

    def build(self, workspace: Any, image_build_compute: Any = None) -> Any:
        """Comes with the feature 'environments'; until then runs use the site's interpreter."""
        from azureml._internal.later import not_yet

        raise not_yet("building environments", "Environment.build")

    build_local = build

    @staticmethod
    def add_private_pip_wheel(workspace: Any, file_path: str, exist_ok: bool = False) -> str:
        """Comes with the feature 'environments'."""
        from azureml._internal.later import not_yet

        raise not_yet("building environments", "Environment.add_private_pip_wheel")

    def get_image_details(self, workspace: Any) -> Any:
        """Comes with the feature 'environments'."""
        from azureml._internal.later import not_yet

        raise not_yet("building environments", "Environment.get_image_details")


def check_name(name: Optional[str]) -> None:
    if not name:
        raise UserErrorException("an environment needs a name to be registered")
    if name.lower().startswith(RESERVED):
        raise UserErrorException(
            "the name {!r} is reserved: names that begin with AzureML or Microsoft are those of curated "
            "environments\nhint: env.clone(new_name)".format(name)
        )


__all__ = [
    "Environment", "CondaDependencies", "DEFAULT_CPU_IMAGE", "DEFAULT_GPU_IMAGE", "DockerSection", "PythonSection",
    "SparkSection", "RSection", "ContainerRegistry",
]  # fmt: skip
