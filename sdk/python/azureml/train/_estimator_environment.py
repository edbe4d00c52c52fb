"""The environment that the arguments of an estimator stand for."""

import os
from typing import Any, Dict, List

from azureml.core._requirements import read_requirements
from azureml.core.conda_dependencies import CondaDependencies, base_name
from azureml.core.environment import DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE, Environment
from azureml.exceptions import TrainingException
from azureml.train._frameworks import Release

# Arguments that say what environment_definition= says too.
OF_THE_ENVIRONMENT = (
    "use_gpu", "custom_docker_base_image", "custom_docker_image", "image_registry_details", "user_managed",
    "conda_packages", "pip_packages", "conda_dependencies_file_path", "pip_requirements_file_path",
    "conda_dependencies_file", "pip_requirements_file", "environment_variables", "framework_version", "shm_size",
)  # fmt: skip
# Distributions of one framework under several names: only one of them can be installed.
SAME = {"tensorflow-gpu": "tensorflow", "tensorflow-cpu": "tensorflow", "tf-nightly": "tensorflow"}


def environment_of(told: Dict[str, Any], release: Release, horovod: bool) -> Environment:
    """A definition of its own, or one made from lists and files. The user's version of a package wins."""
    if told["environment_definition"] is not None:
        return given_environment(told)
    env = Environment(None)
    env.python.conda_dependencies = packages_of(told, release, horovod)
    env.python.user_managed_dependencies = bool(told["user_managed"])
    env.docker.enabled = bool(told["use_docker"])
    image = one_of(told, "custom_docker_image", "custom_docker_base_image")
    env.docker.base_image = image or (DEFAULT_GPU_IMAGE if told["use_gpu"] else DEFAULT_CPU_IMAGE)
    env.docker.gpu_support = bool(told["use_gpu"])
    env.docker.shm_size = told["shm_size"]
    if told["image_registry_details"] is not None:
        env.docker.base_image_registry = told["image_registry_details"]
    env.environment_variables.update(told["environment_variables"] or {})
    return env


def given_environment(told: Dict[str, Any]) -> Environment:
    both = [name for name in OF_THE_ENVIRONMENT if told[name]]
    if both:
        raise TrainingException(
            "environment_definition= is the whole environment: it does not go with {}\nhint: change the environment "
            "itself, e.g. env.python.conda_dependencies.add_pip_package('x')".format(", ".join(both))
        )
    env = told["environment_definition"]
    if not isinstance(env, Environment):
        raise TrainingException("environment_definition= is a {}, not an Environment".format(type(env).__name__))
    return env


def packages_of(told: Dict[str, Any], release: Release, horovod: bool) -> CondaDependencies:
    file = in_source(told, one_of(told, "conda_dependencies_file", "conda_dependencies_file_path"))
    packages = CondaDependencies(file) if file else CondaDependencies()
    if release.python and not (file and packages.get_python_version()):
        packages.set_python_version(release.python)
    own = list(told["pip_packages"] or []) + requirements_of(told)
    wanted = [framework_name(item) for item in own + list(told["conda_packages"] or [])]
    wanted += [framework_name(item) for item in packages.pip_packages]
    wanted += [framework_name(item) for item in packages.conda_packages]
    brought = list(release.packages) + (["horovod==" + release.horovod] if horovod and release.horovod else [])
    for package in brought:
        if framework_name(package) not in wanted:
            packages.add_pip_package(package)
    for package in told["conda_packages"] or []:
        packages.add_conda_package(package)
    for package in own:
        if package.startswith("-"):
            packages.set_pip_option(package)
        else:
            packages.add_pip_package(package)
    return packages


def framework_name(requirement: str) -> str:
    name = base_name(requirement)
    return SAME.get(name, name)


def requirements_of(told: Dict[str, Any]) -> List[str]:
    file = in_source(told, one_of(told, "pip_requirements_file", "pip_requirements_file_path"))
    return read_requirements(file) if file else []


def in_source(told: Dict[str, Any], file: Any) -> Any:
    """The documents name files relative to the source folder; one that is where the caller stands is found, too."""
    inside = file and os.path.join(told["source_directory"] or ".", file)
    return inside if inside and os.path.isfile(inside) else file


def one_of(told: Dict[str, Any], name: str, older: str) -> Any:
    """An argument that has two names."""
    if told[name] and told[older] and told[name] != told[older]:
        raise TrainingException("{}= is the newer name of {}=: give one of them".format(name, older))
    return told[name] or told[older]
