"""What estimators of 2018 to 2020 share: many arguments that become a ScriptRunConfig."""

import inspect
from typing import Any, Dict, List, Optional, Tuple

from azureml._internal.unused import unused
from azureml.core._distributed import MpiConfiguration, process_count
from azureml.core.environment import Environment
from azureml.core.runconfig import DEFAULT_DURATION
from azureml.core.script_run_config import ScriptRunConfig
from azureml.exceptions import TrainingException
from azureml.train._deprecation import warn_once
from azureml.train._estimator_environment import environment_of
from azureml.train._estimator_jobs import distributed_job
from azureml.train._frameworks import Release

# The arguments of every estimator and their defaults; those of SOME belong to the classes that name them.
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
SOME = ("framework_version", "worker_count", "parameter_server_count")


class EstimatorBase:
    """A script, its folder, its parameters and packages.

    Example: `Estimator(source_directory="src", entry_script="train.py", script_params={"--lr": 0.1}, compute_target=t)`
    """

    _also_takes = ()  # type: Tuple[str, ...]  # of SOME
    _backends = ("mpi",)  # type: Tuple[str, ...]

    def __init__(self, source_directory: str, **given: Any) -> None:
        for name in given:
            if name not in ARGUMENTS or (name in SOME and name not in self._also_takes):
                raise TypeError("{}() got an unexpected keyword argument {!r}".format(type(self).__name__, name))
        self.source_directory = source_directory
        self._told = dict(ARGUMENTS, source_directory=source_directory, **given)
        if not self._told["entry_script"]:
            raise TrainingException("{} needs entry_script=".format(type(self).__name__))
        unused(type(self).__name__, vm_size=given.get("vm_size"), vm_priority=given.get("vm_priority"),
               source_directory_data_store=given.get("source_directory_data_store"))  # fmt: skip
        self._distributed = distributed_job(self._told, self._backends)
        self.run_config = self._make_config().run_config
        warn_once(self, self._equivalent())

    def _script_run_config(self, overrides: Dict[str, Any]) -> ScriptRunConfig:
        """What is submitted. `exp.submit(est, script_params={…})` may change the parameters."""
        if "script_params" in overrides:
            self._told["script_params"] = overrides.pop("script_params")
        config = self._make_config()
        config.run_config = self.run_config
        return config

    def _make_config(self) -> ScriptRunConfig:
        told = self._told
        config = ScriptRunConfig(
            self.source_directory, told["entry_script"], arguments_of(told["script_params"]),
            compute_target=told["compute_target"], environment=self._environment(),
            distributed_job_config=self._distributed, resume_from=told["resume_from"],
            max_run_duration_seconds=told["max_run_duration_seconds"] or DEFAULT_DURATION,
        )  # fmt: skip
        if process_count(self._distributed) > 1:
            config.run_config.node_count = told["node_count"]
        for item in told["inputs"] or []:
            config.run_config.data_references[name_of_input(item)] = item
        return config

    def _environment(self) -> Environment:
        horovod = isinstance(self._distributed, MpiConfiguration)
        return environment_of(self._told, self._release(), horovod)

    def _release(self) -> Release:
        """The framework's packages. The generic estimator brings none."""
        return Release([], "", None)

    def _equivalent(self) -> str:
        """The environment in the ScriptRunConfig that the warning names."""
        if self._told["environment_definition"] is not None:
            return "the same environment"
        return "Environment.from_conda_specification('my-env', 'conda_dependencies.yml')"

    @property
    def conda_dependencies(self) -> Any:
        """The packages of its environment. Example: `est.conda_dependencies.add_pip_package("colorama")`"""
        return self.run_config.environment.python.conda_dependencies

    script_params = property(lambda self: self._told["script_params"])


def signature_of(also: Tuple[str, ...]) -> inspect.Signature:
    """What help() and editors show."""
    first = inspect.Parameter("source_directory", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    rest = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in ARGUMENTS.items()
            if not name.startswith("_") and (name not in SOME or name in also)]  # fmt: skip
    return inspect.Signature([first] + rest)


EstimatorBase.__signature__ = signature_of(())  # type: ignore


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


def name_of_input(item: Any) -> str:
    """Inputs that no parameter mentions: the script finds them by their names."""
    name = getattr(item, "data_reference_name", None) or getattr(item, "name", None)
    if not name or not hasattr(item, "_resolve"):
        raise TrainingException(
            "inputs= has a {} in it\nhint: dataset.as_named_input('name'), or a datastore's path().as_mount()".format(
                type(item).__name__
            )
        )
    return str(name)
