"""RunConfiguration and its parts: how a script is run. Can be kept as a .runconfig file."""

import os
from typing import Any, Dict, List, Optional

from azureml.core._distributed import (  # noqa: F401
    MpiConfiguration,
    ParallelTaskConfiguration,
    PyTorchConfiguration,
    TensorflowConfiguration,
)
from azureml.core._sections import Section
from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.container_registry import ContainerRegistry  # noqa: F401
from azureml.core.environment import DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE, Environment  # noqa: F401
from azureml.exceptions import UserErrorException

DEFAULT_DURATION = 2592000


class DataReferenceConfiguration(Section):
    """A datastore's path for a run.

    Example: `DataReferenceConfiguration("workspaceblobstore", path_on_datastore="mnist")`
    """

    _fields = {
        "data_store_name": None, "mode": "mount", "path_on_data_store": None, "path_on_compute": None,
        "overwrite": False,
    }  # fmt: skip

    def __init__(
        self, datastore_name=None, mode="mount", path_on_datastore=None, path_on_compute=None, overwrite=False
    ):
        # type: (Optional[str], str, Optional[str], Optional[str], bool) -> None
        super(DataReferenceConfiguration, self).__init__(
            data_store_name=datastore_name, mode=mode, path_on_data_store=path_on_datastore,
            path_on_compute=path_on_compute, overwrite=overwrite,
        )  # fmt: skip

    datastore_name = property(lambda self: self.data_store_name)
    path_on_datastore = property(lambda self: self.path_on_data_store)


class DockerConfiguration(Section):
    """Whether and how a run uses a container, as data. Example: `DockerConfiguration(use_docker=True)`"""

    _fields = {"use_docker": False, "shared_volumes": True, "arguments": [], "shm_size": None}  # type: Dict[str, Any]

    def __init__(self, use_docker=False, shared_volumes=True, arguments=None, shm_size=None):
        # type: (bool, bool, Optional[List[str]], Optional[str]) -> None
        super(DockerConfiguration, self).__init__(
            use_docker=use_docker, shared_volumes=shared_volumes, arguments=list(arguments or []), shm_size=shm_size
        )


class HistoryConfiguration(Section):
    """What of a run is kept: always ./outputs and ./logs. Example: `rc.history.output_collection`"""

    _fields = {
        "output_collection": True,
        "snapshot_project": True,
        "directories_to_watch": ["logs"],
    }  # type: Dict[str, Any]


class AmlComputeConfiguration(Section):
    """The cluster that a run would make for itself on Azure, as data."""

    _fields = {"name": None, "vm_size": None, "vm_priority": None, "retain_cluster": False, "cluster_max_node_count": 1}


class SparkConfiguration(Section):
    """Settings of Spark, as data."""

    _fields = {"configuration": {}}  # type: Dict[str, Any]


class HdiConfiguration(Section):
    """Settings of HDInsight, as data."""

    _fields = {"yarn_deploy_mode": "Cluster"}


class ContainerInstanceConfiguration(Section):
    """Settings of a container instance, as data."""

    _fields = {"region": None, "cpu_cores": 2, "memory_gb": 3.5}


class RunConfiguration(Section):
    """How a script is run.

    Example:

        rc = RunConfiguration()
        rc.target = "cpu-cluster"
        rc.environment.python.user_managed_dependencies = True
        rc.save(".", "cpu")
    """

    _fields = {
        "script": None, "arguments": [], "command": None, "target": "local", "framework": "Python",
        "communicator": "None", "max_run_duration_seconds": DEFAULT_DURATION, "node_count": 1, "environment": None,
        "history": None, "spark": None, "docker": None, "hdi": None, "container_instance": None, "mpi": None,
        "tensorflow": None, "pytorch": None, "aml_compute": None, "data_references": {}, "data": {},
        "output_data": {}, "source_directory_data_store": None, "exposed_ports": None, "job_name": None,
        "priority": None,
    }  # type: Dict[str, Any]  # fmt: skip

    def __init__(self, script=None, arguments=None, framework=None, communicator=None, conda_dependencies=None,
                 _history_enabled=None, _path=None, _name=None, command=None):  # fmt: skip
        # type: (Any, Any, Any, Any, Any, Any, Any, Any, Any) -> None
        super(RunConfiguration, self).__init__(
            script=script, arguments=list(arguments or []), command=command, framework=framework or "Python",
            communicator=communicator or "None", environment=Environment(None), history=HistoryConfiguration(),
            spark=SparkConfiguration(), docker=DockerConfiguration(), hdi=HdiConfiguration(),
            container_instance=ContainerInstanceConfiguration(), mpi=MpiConfiguration(),
            tensorflow=TensorflowConfiguration(), pytorch=PyTorchConfiguration(), aml_compute=AmlComputeConfiguration(),
        )  # fmt: skip
        self._name = _name
        if conda_dependencies is not None:
            self.environment.python.conda_dependencies = conda_dependencies

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "target":  # an object, a name, or None for this machine
            value = str(getattr(value, "name", value) or "local")
        if name == "amlcompute":
            name = "aml_compute"
        super(RunConfiguration, self).__setattr__(name, value)

    amlcompute = property(lambda self: self.aml_compute)
    auto_prepare_environment = property(lambda self: True)

    @staticmethod
    def load(path: str, name: Optional[str] = None) -> "RunConfiguration":
        """A .runconfig file: `path` itself, or NAME.runconfig in `path`, `.azureml` or `aml_config` below it.

        Example: `RunConfiguration.load(".", "cpu")`
        """
        from lathe.yaml import YamlError, read_yaml

        file = find_file(path, name)
        try:
            with open(file, "r", encoding="utf-8") as text:
                data = read_yaml(text.read())
        except YamlError as problem:
            raise UserErrorException("the file {} is wrong: {}".format(file, problem))
        made = RunConfiguration(_name=name)
        made._load(data or {})
        return made

    def save(self, path=None, name=None, separate_environment_yaml=False):
        # type: (Optional[str], Optional[str], bool) -> None
        """Write NAME.runconfig into `.azureml` of `path`, or `path` itself when it ends so.

        Example: `rc.save(".", "cpu")`
        """
        from lathe.yaml import write_yaml

        base, name = path or ".", name or self._name or "run"
        file = base if base.endswith(".runconfig") else os.path.join(base, ".azureml", name + ".runconfig")
        os.makedirs(os.path.dirname(os.path.abspath(file)), exist_ok=True)
        with open(file, "w", encoding="utf-8") as text:
            text.write(write_yaml(self._to_json()))


def find_file(path: str, name: Optional[str]) -> str:
    if os.path.isfile(path):
        return path
    for folder in (".azureml", "aml_config", ""):
        file = os.path.join(path, folder, "{}.runconfig".format(name or "run"))
        if os.path.isfile(file):
            return file
    raise UserErrorException(
        "there is no {}.runconfig in {}, nor in its .azureml or aml_config".format(name or "run", path)
    )


__all__ = [
    "RunConfiguration", "CondaDependencies", "MpiConfiguration", "TensorflowConfiguration", "PyTorchConfiguration",
    "DockerConfiguration", "DEFAULT_CPU_IMAGE", "DEFAULT_GPU_IMAGE", "ContainerRegistry", "DataReferenceConfiguration",
    "ParallelTaskConfiguration", "Environment",
]  # fmt: skip
