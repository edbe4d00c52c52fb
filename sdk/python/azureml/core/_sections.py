"""The sections of an environment and of a run configuration: plain data with defaults, under the vendor's names in
Python and in JSON. A name that a section does not have is refused, so that a typing mistake does not pass
silently.
"""

import copy
import re
from typing import TYPE_CHECKING, Any, Dict

from azureml.core.conda_dependencies import CondaDependencies
from azureml.core.container_registry import ContainerRegistry


DEFAULT_CPU_IMAGE = "mcr.microsoft.com/azureml/openmpi3.1.2-ubuntu18.04"
DEFAULT_GPU_IMAGE = "mcr.microsoft.com/azureml/openmpi3.1.2-cuda10.1-cudnn7-ubuntu18.04"


class Section:
    """Fields with defaults. Subclasses list them in `_fields`."""

    _fields = {}  # type: Dict[str, Any]

    if TYPE_CHECKING:  # the fields, as checkers see them

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, **given: Any) -> None:
        for name, default in self._fields.items():
            object.__setattr__(self, name, copy.deepcopy(default))
        for name, value in given.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._fields and not name.startswith("_"):
            known = ", ".join(sorted(self._fields))
            raise AttributeError("{} has no {!r}; it has {}".format(type(self).__name__, name, known))
        object.__setattr__(self, name, value)

    def _to_json(self) -> Dict[str, Any]:
        return {camel(name): to_json(getattr(self, name)) for name in self._fields}

    def _load(self, data: Dict[str, Any]) -> None:
        """Take what a JSON or YAML object says; what it does not mention stays."""
        for name in self._fields:
            if camel(name) not in data:
                continue
            value, current = data[camel(name)], getattr(self, name)
            if isinstance(current, Section) and isinstance(value, dict):
                current._load(value)
            elif isinstance(current, ContainerRegistry):
                current.__dict__.update(value or {})
            elif isinstance(current, CondaDependencies):
                setattr(self, name, CondaDependencies(_underlying_structure=value) if value is not None else None)
            else:
                setattr(self, name, value)

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and self._to_json() == other._to_json()

    __hash__ = None  # type: ignore

    def __repr__(self) -> str:
        import json

        return json.dumps(self._to_json(), indent=4, default=str)


def camel(name: str) -> str:
    """Example: `camel("node_count")` is "nodeCount"."""
    return re.sub(r"_([a-z])", lambda found: found.group(1).upper(), name)


def to_json(value: Any) -> Any:
    if isinstance(value, Section):
        return value._to_json()
    if isinstance(value, CondaDependencies):
        return copy.deepcopy(value.as_dict())
    if isinstance(value, ContainerRegistry):
        return dict(value.__dict__)
    if hasattr(value, "_to_json"):
        return value._to_json()
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


class PythonSection(Section):
    """Packages, or an interpreter of your own. Example: `env.python.user_managed_dependencies = True`"""

    _fields = {
        "interpreter_path": "python",
        "user_managed_dependencies": False,
        "conda_dependencies": None,
        "base_conda_environment": None,
    }

    def __init__(self, **given: Any) -> None:
        super(PythonSection, self).__init__(**given)
        if self.conda_dependencies is None and "conda_dependencies" not in given:
            self.conda_dependencies = CondaDependencies()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "conda_dependencies_file":  # of old run configurations
            name, value = "conda_dependencies", CondaDependencies(value)
        super(PythonSection, self).__setattr__(name, value)


class DockerSection(Section):
    """The container of an environment, as data. Example: `env.docker.base_image = "mcr.microsoft.com/…"`"""

    _fields = {
        "enabled": False,
        "base_image": DEFAULT_CPU_IMAGE,
        "base_dockerfile": None,
        "shared_volumes": True,
        "gpu_support": False,
        "shm_size": None,
        "arguments": [],
        "base_image_registry": ContainerRegistry(),
        "platform": {"os": "Linux", "architecture": "amd64"},
    }


class SparkSection(Section):
    """Packages of Spark, as data. Example: `env.spark.packages`"""

    _fields = {"repositories": [], "packages": [], "precache_packages": True}  # type: Dict[str, Any]


class RSection(Section):
    """An environment of R, as data. Example: `env.r = RSection()`"""

    _fields = {"r_version": None, "cran_packages": [], "user_managed": False}  # type: Dict[str, Any]
