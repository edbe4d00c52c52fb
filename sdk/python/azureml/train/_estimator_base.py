"""What estimators of 2018 to 2020 share: many arguments that become a ScriptRunConfig."""

import inspect
from typing import Any, Dict, List, Optional

from azureml._internal.unused import unused
from azureml.core._distributed import MpiConfiguration, TensorflowConfiguration, process_count
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.environment import DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE, Environment
from azureml.core.runconfig import DEFAULT_DURATION
from azureml.core.script_run_config import ScriptRunConfig
from azureml.exceptions import TrainingException

# The arguments of every estimator and their defaults; subclasses add theirs.
ARGUMENTS = {
    "compute_target": None, "vm_size": None, "vm_priority": None, "entry_script": None, "script_params": None,
    "node_count": 1, "process_count_per_node": 1, "worker_count": 1, "parameter_server_count": 1,
    "distributed_backend": None, "distributed_training": None, "use_gpu": False, "use_docker": True,
    "custom_docker_base_image": None, "custom_docker_image": None, "image_registry_details": None,
    "user_managed": False, "conda_packages": None, "pip_packages": None, "conda_dependencies_file_path": None,
    "pip_requirements_file_path": None, "conda_dependencies_file": None, "pip_requirements_file": None,
    "environment_variables": None, "environment_definition": None, "inputs": None,
    "source_directory_data_store": None, "shm_size": None, "resume_from": None, "max_run_duration_seconds": None,
    "framework_version": None, "_enable_optimized_mode": None, "_disable_validation": None,
    "_show_lint_warnings": None, "_show_package_warnings": None,
}  # type: Dict[str, Any]  # fmt: skip


class EstimatorBase:
    """A script, its folder, its parameters and packages.

    Example: `Estimator(source_directory="src", entry_script="train.py", script_params={"--lr": 0.1}, compute_target=t)`
    """

    _packages = []  # type: List[str]
    _takes_framework_version = False

    def __init__(self, source_directory: str, **given: Any) -> None:
        for name in given:
            if name not in ARGUMENTS or (name == "framework_version" and not self._takes_framework_version):
                raise TypeError("{}() got an unexpected keyword argument {!r}".format(type(self).__name__, name))
        self.source_directory = source_directory
        self._told = dict(ARGUMENTS, **given)
        unused(type(self).__name__, vm_size=given.get("vm_size"), vm_priority=given.get("vm_priority"),
               shm_size=given.get("shm_size"))  # fmt: skip
        self._distributed = distributed_job(self._told)
        self.run_config = self._make_config().run_config

    def _script_run_config(self, overrides: Dict[str, Any]) -> ScriptRunConfig:
        """What is submitted. `exp.submit(est, script_params={…})` may change the parameters."""
        if "script_params" in overrides:
            self._told["script_params"] = overrides.pop("script_params")
        config = self._make_config()
        config.run_config = self.run_config
        return config

    def _make_config(self) -> ScriptRunConfig:
        told = self._told
        if not told["entry_script"]:
            raise TrainingException("{} needs entry_script=".format(type(self).__name__))
        arguments = arguments_of(told["script_params"])
        config = ScriptRunConfig(
            self.source_directory, told["entry_script"], arguments, compute_target=told["compute_target"],
            environment=self._environment(), distributed_job_config=self._distributed, resume_from=told["resume_from"],
            max_run_duration_seconds=told["max_run_duration_seconds"] or DEFAULT_DURATION,
        )  # fmt: skip
        if process_count(self._distributed) > 1:
            config.run_config.node_count = told["node_count"]
        for item in told["inputs"] or []:
            config.run_config.data_references[getattr(item, "name", None) or item.data_reference_name] = item
        return config

    def _environment(self) -> Environment:
        told = self._told
        if told["environment_definition"] is not None:
            return told["environment_definition"]
        env = Environment(None)
        file = told["conda_dependencies_file"] or told["conda_dependencies_file_path"]
        packages = CondaDependencies(file) if file else CondaDependencies()
        for package in self._packages_of(told["framework_version"], bool(told["use_gpu"])):
            packages.add_pip_package(package)
        for package in told["conda_packages"] or []:
            packages.add_conda_package(package)
        for package in list(told["pip_packages"] or []) + requirements(told):
            packages.add_pip_package(package)
        env.python.conda_dependencies = packages
        env.python.user_managed_dependencies = bool(told["user_managed"])
        env.docker.enabled = bool(told["use_docker"])
        image = told["custom_docker_image"] or told["custom_docker_base_image"]
        env.docker.base_image = image or (DEFAULT_GPU_IMAGE if told["use_gpu"] else DEFAULT_CPU_IMAGE)
        if told["image_registry_details"] is not None:
            env.docker.base_image_registry = told["image_registry_details"]
        env.environment_variables.update(told["environment_variables"] or {})
        return env

    def _packages_of(self, version: Optional[str], gpu: bool) -> List[str]:
        return list(self._packages)

    conda_dependencies = property(lambda self: self.run_config.environment.python.conda_dependencies)
    script_params = property(lambda self: self._told["script_params"])


def _signature() -> inspect.Signature:
    """What help() and editors show."""
    first = inspect.Parameter("source_directory", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    rest = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in ARGUMENTS.items() if not name.startswith("_")]  # fmt: skip
    return inspect.Signature([first] + rest)


EstimatorBase.__signature__ = _signature()  # type: ignore


def arguments_of(script_params: Optional[Dict[str, Any]]) -> List[Any]:
    """Pairs become flags and values; an empty value is a bare flag. Example: `arguments_of({"--v": ""})` is ["--v"]."""
    if isinstance(script_params, (list, tuple)):
        return list(script_params)
    found = []  # type: List[Any]
    for flag, value in (script_params or {}).items():
        found.append(flag)
        if not (isinstance(value, str) and value == "") and value is not None:
            found.append(value)
    return found


def requirements(told: Dict[str, Any]) -> List[str]:
    file = told["pip_requirements_file"] or told["pip_requirements_file_path"]
    if not file:
        return []
    with open(file, "r", encoding="utf-8") as lines:
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def distributed_job(told: Dict[str, Any]) -> Any:
    """The distributed job that old and new arguments stand for."""
    job, backend = told["distributed_training"], told["distributed_backend"]
    if job is None and backend == "mpi":
        job = MpiConfiguration(told["process_count_per_node"], told["node_count"])
    elif job is None and backend == "ps":
        job = TensorflowConfiguration(told["worker_count"], told["parameter_server_count"])
    elif isinstance(job, MpiConfiguration) or hasattr(job, "process_count_per_node"):
        job = MpiConfiguration(max(job.process_count_per_node, told["process_count_per_node"]), told["node_count"])
    elif job is None and (int(told["node_count"]) > 1 or int(told["process_count_per_node"]) > 1):
        raise TrainingException("several nodes or processes need distributed_training= or distributed_backend=")
    return job
