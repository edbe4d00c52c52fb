"""Environment: the packages, variables and container of a run, as data that can be kept, edited and registered."""

import copy
import json
import os
from typing import Any, Dict, Optional

from lathe.errors import NotFound

from azureml.core._environment_build import DockerImageDetails, ImageBuildDetails, details_of, start_build
from azureml.core._requirements import read_requirements
from azureml.core._sections import (
    DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE, DockerSection, PythonSection, RSection, Section, SparkSection,
)  # fmt: skip
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.container_registry import ContainerRegistry  # noqa: F401
from azureml.exceptions import UserErrorException

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
        "docker": None, "spark": None, "r": None, "databricks": None, "inferencing_stack_version": None,
    }  # type: Dict[str, Any]  # fmt: skip

    def __init__(self, name: Optional[str], **given: Any) -> None:
        defaults = {"python": PythonSection(), "docker": DockerSection(), "spark": SparkSection()}
        defaults.update(given)
        super(Environment, self).__init__(name=name, **defaults)

    # --- registered ones

    @staticmethod
    def get(workspace: Any, name: str, version: Optional[str] = None, label: Optional[str] = None) -> "Environment":
        """A registered or curated environment; curated ones answer to any version.

        Example: `Environment.get(ws, "AzureML-TensorFlow-2.2-GPU")`
        """
        if label is not None and str(label).lower() != "latest":
            raise UserErrorException("environments have no labels here, but for 'latest'\nhint: version=")
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
        """What is kept: the version is the server's to count, and a password is nobody's to read."""
        definition = self._to_json()
        definition.pop("version")
        registry = definition["docker"].get("baseImageRegistry") or {}
        if registry.get("password"):
            warn_of_password()
            registry["password"] = None
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
        env = Environment(name)
        env.python.conda_dependencies.set_pip_requirements(read_requirements(file_path))
        if pip_version:
            env.python.conda_dependencies.add_conda_package("pip={}".format(pip_version))
        return env

    @staticmethod
    def from_docker_image(name, image, container_registry=None, conda_specification=None, pip_requirements=None):
        # type: (str, str, Any, Optional[str], Optional[str]) -> Environment
        """From an image. Example: `Environment.from_docker_image("tf", "tensorflow/tensorflow:2.2.0")`"""
        env = Environment._with_packages(name, conda_specification, pip_requirements)
        env.docker.enabled, env.docker.base_image = True, image
        if container_registry is not None:
            env.docker.base_image_registry = container_registry
        return env

    @staticmethod
    def from_dockerfile(name, dockerfile, conda_specification=None, pip_requirements=None):
        # type: (str, str, Optional[str], Optional[str]) -> Environment
        """From a Dockerfile: its path, or its text. Without packages the Python of the image is used.

        Example: `Environment.from_dockerfile("tf", "./Dockerfile")`
        """
        env = Environment._with_packages(name, conda_specification, pip_requirements)
        env.docker.enabled, env.docker.base_image = True, None
        env.docker.base_dockerfile = text_of_dockerfile(dockerfile)
        return env

    @staticmethod
    def from_docker_build_context(name: str, docker_build_context: Any) -> "Environment":
        """Not offered: a Dockerfile is built without a folder around it."""
        raise UserErrorException(
            "from_docker_build_context is not offered: a Dockerfile is built without a folder around it\nhint: "
            "Environment.from_dockerfile(name, path)"
        )

    @staticmethod
    def _with_packages(name: str, conda: Optional[str], pip: Optional[str]) -> "Environment":
        """For an image: packages on top of it, or those that are in it."""
        if conda and pip:
            raise UserErrorException("give either conda_specification= or pip_requirements=")
        if conda:
            return Environment.from_conda_specification(name, conda)
        if pip:
            return Environment.from_pip_requirements(name, pip)
        env = Environment(name)
        env.python.user_managed_dependencies = True
        return env

    @staticmethod
    def from_existing_conda_environment(name: str, conda_environment_name: str) -> Any:
        """Not offered: what lies in a folder of this machine cannot be made again on another one."""
        raise UserErrorException(
            "from_existing_conda_environment is not offered: conda environment {0!r} lies on this machine alone\nhint: "
            "conda env export --no-builds -n {0} > conda_dependencies.yml, then "
            "Environment.from_conda_specification({1!r}, 'conda_dependencies.yml')".format(conda_environment_name, name)
        )

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

    # --- building

    def build(self, workspace: Any, image_build_compute: Any = None) -> ImageBuildDetails:
        """Lock it and put it on the server's machine, before the first run needs it.

        Example: `env.build(ws).wait_for_completion(show_output=True)`
        """
        from azureml._internal.unused import unused

        unused("Environment.build", image_build_compute=image_build_compute)
        return start_build(workspace, self)

    def build_local(self, workspace: Any, platform: Any = None, **kwargs: Any) -> ImageBuildDetails:
        """As build(), and waits for its end with the log shown.

        Example: `env.build_local(ws)`
        """
        from azureml._internal.unused import unused

        unused("Environment.build_local", platform=platform, **kwargs)
        return start_build(workspace, self).wait_for_completion(show_output=True)

    def get_image_details(self, workspace: Any) -> DockerImageDetails:
        """What it became: its lock, and every replacement with its reason. Example: `env.get_image_details(ws).lock`"""
        return details_of(workspace, self)

    @staticmethod
    def label(workspace: Any, name: str, labels: Any) -> None:
        """Not offered: environments have numbered versions and no labels."""
        raise UserErrorException("environments have numbered versions and no labels\nhint: Environment.get(version=)")

    @staticmethod
    def add_private_pip_wheel(workspace: Any, file_path: str, exist_ok: bool = False) -> str:
        """Not offered: a wheel lies in the source folder of the run, in the site's wheelhouse or on an index."""
        raise UserErrorException(
            "add_private_pip_wheel is not offered\nhint: put {0} into the source folder of the run and name it there, "
            "add_pip_package('./{0}'); or into the site's wheelhouse (docs/user/environments.md)".format(
                os.path.basename(file_path)
            )
        )


def warn_of_password() -> None:
    from azureml._internal.unused import unused

    unused("Environment", base_image_registry="password: log in on the node instead, podman login HOST")


def text_of_dockerfile(dockerfile: str) -> str:
    """A path, or the text itself. Example: `text_of_dockerfile("FROM debian:12")`"""
    if "\n" in dockerfile or dockerfile.lstrip().upper().startswith(("FROM ", "ARG ")):
        return dockerfile
    try:
        with open(dockerfile, "r", encoding="utf-8") as file:
            return file.read()
    except OSError as problem:
        raise UserErrorException("the Dockerfile {} cannot be read: {}".format(dockerfile, problem.strerror))


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
    "SparkSection", "RSection", "ContainerRegistry", "ImageBuildDetails", "DockerImageDetails",
]  # fmt: skip
