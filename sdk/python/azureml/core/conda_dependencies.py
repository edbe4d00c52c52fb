"""CondaDependencies: the packages of an environment, as a conda file names them."""

import os
import re
from typing import Any, Dict, Iterator, List, Optional

from azureml.core._requirements import split_option, with_files
from azureml.exceptions import UserErrorException

DEFAULT_PYTHON = "3.8.13"
DEFAULT_CHANNELS = ["anaconda", "conda-forge"]
DEFAULTS = "azureml-defaults"
SEVERAL = ("--extra-index-url", "--find-links", "-f", "--requirement", "-r", "--constraint", "-c", "--trusted-host")
HEADER = """\
# Conda environment specification. The dependencies defined in this file will
# be installed for runs that use this environment.

# Details about the Conda environment file format:
# https://conda.io/docs/user-guide/tasks/manage-environments.html#create-env-file-manually

"""


class CondaDependencies:
    """Packages of conda and pip, channels and the version of Python.

    Example:

        packages = CondaDependencies.create(pip_packages=["tensorflow==2.2.0"], python_version="3.7")
        packages.add_conda_package("scikit-learn")
        packages.save_to_file(".", "conda_dependencies.yml")
    """

    def __init__(self, conda_dependencies_file_path: Optional[str] = None, _underlying_structure: Any = None) -> None:
        if conda_dependencies_file_path is not None:
            self._conda = read_file(conda_dependencies_file_path)
        elif _underlying_structure is not None:
            self._conda = _underlying_structure
        else:
            self._conda = {
                "name": "project_environment",
                "dependencies": ["python=" + DEFAULT_PYTHON, {"pip": [DEFAULTS]}],
                "channels": list(DEFAULT_CHANNELS),
            }

    DEFAULT_NUMBER_OF_CONDA_PACKAGES = 0
    DEFAULT_NUMBER_OF_PIP_PACKAGES = 1

    @staticmethod
    def create(
        pip_indexurl=None, pip_packages=None, conda_packages=None, python_version=None, pin_sdk_version=True
    ):  # fmt: skip
        # type: (Optional[str], Optional[List[str]], Optional[List[str]], Optional[str], bool) -> CondaDependencies
        """Make one from lists. Example: `CondaDependencies.create(conda_packages=["numpy"])`"""
        made = CondaDependencies()
        if python_version:
            made.set_python_version(python_version)
        for package in pip_packages or []:
            made.add_pip_package(package)
        for package in conda_packages or []:
            made.add_conda_package(package)
        if pip_indexurl:
            made.set_pip_index_url(pip_indexurl)
        return made

    @staticmethod
    def merge_requirements(requirements: List[str]) -> List[str]:
        """One line for each package, with all that is asked of it.

        Example: `CondaDependencies.merge_requirements(["x>=1", "x<2"])` is ["x>=1,<2"].
        """
        merged = {}  # type: Dict[str, List[str]]
        for item in requirements:
            head, bounds = re.match(r"\s*([^<>=!~;]*)(.*)", item, re.S).groups()  # type: ignore
            merged.setdefault(head.strip(), [])
            if bounds.strip() and bounds.strip() not in merged[head.strip()]:
                merged[head.strip()].append(bounds.strip())
        return [head + ",".join(bounds) for head, bounds in merged.items()]

    @staticmethod
    def sdk_origin_url() -> str:
        """Where azureml-* packages come from on Azure; here they are this SDK.

        Example: `CondaDependencies.sdk_origin_url()`
        """
        return "https://pypi.org/simple/"

    # --- adding and removing

    def add_conda_package(self, conda_package: str) -> None:
        """Add a conda package, or change its version. Example: `packages.add_conda_package("numpy=1.18")`"""
        self.remove_conda_package(conda_package)
        self._dependencies.append(conda_package)

    def add_pip_package(self, pip_package: str) -> None:
        """Add a pip package, or change its version. Example: `packages.add_pip_package("colorama==0.4.4")`"""
        self.remove_pip_package(pip_package)
        self._pip.append(pip_package)

    def add_channel(self, channel: str) -> None:
        """Add a conda channel. Example: `packages.add_channel("pytorch")`"""
        if channel not in self._conda.setdefault("channels", []):
            self._conda["channels"].append(channel)

    def remove_channel(self, channel: str) -> None:
        """Remove a conda channel. Example: `packages.remove_channel("anaconda")`"""
        self._conda["channels"] = [name for name in self._conda.get("channels") or [] if name != channel]

    def remove_conda_package(self, conda_package: str) -> None:
        """Remove a conda package, whatever its version. Example: `packages.remove_conda_package("numpy")`"""
        name = base_name(conda_package)
        kept = [item for item in self._dependencies if not isinstance(item, str) or base_name(item) != name]
        self._conda["dependencies"] = kept

    def remove_pip_package(self, pip_package: str) -> None:
        """Remove a pip package, whatever its version. Example: `packages.remove_pip_package("colorama")`"""
        name = base_name(pip_package)
        self._pip[:] = [item for item in self._pip if base_name(item) != name]

    def set_pip_requirements(self, pip_requirements: List[str]) -> None:
        """Replace all pip packages. Example: `packages.set_pip_requirements(["numpy"])`"""
        self._pip[:] = list(pip_requirements)

    def set_pip_option(self, pip_option: str) -> None:
        """Add an option line of pip, or change it; several of --extra-index-url, -f and -r may stand side by side.

        Example: `packages.set_pip_option("--no-binary :all:")`
        """
        if split_option(pip_option)[0] in SEVERAL:
            self._pip[:] = [item for item in self._pip if item != pip_option]
        else:
            self.remove_pip_option(pip_option)
        self._pip.insert(len(list(self.pip_options)), pip_option)

    def remove_pip_option(self, pip_option: str) -> None:
        """Remove the option lines of that name. Example: `packages.remove_pip_option("--index-url")`"""
        name = split_option(pip_option)[0]
        self._pip[:] = [item for item in self._pip if not name or split_option(item)[0] != name]

    def set_pip_index_url(self, index_url: str) -> None:
        """Where pip packages come from. Example: `packages.set_pip_index_url("https://mirror.example/simple")`"""
        self.set_pip_option("--index-url " + index_url)

    def set_python_version(self, version: str) -> None:
        """Choose the version of Python. Example: `packages.set_python_version("3.7")`"""
        self.remove_conda_package("python")
        self._dependencies.insert(0, "python=" + str(version))

    def add_tensorflow_conda_package(self, core_type: str = "cpu", version: Optional[str] = None) -> None:
        """Add TensorFlow from conda.

        Example: `packages.add_tensorflow_conda_package(core_type="gpu", version="2.2.0")`
        """
        name = "tensorflow-gpu" if core_type == "gpu" else "tensorflow"
        self.add_conda_package(name + ("=" + version if version else ""))

    def add_tensorflow_pip_package(self, core_type: str = "cpu", version: Optional[str] = None) -> None:
        """Add TensorFlow from pip. Example: `packages.add_tensorflow_pip_package(version="2.2.0")`"""
        name = "tensorflow-gpu" if core_type == "gpu" else "tensorflow"
        self.add_pip_package(name + ("==" + version if version else ""))

    def add_cntk_package(self, core_type: str = "cpu") -> None:
        """Add CNTK, which has wheels for Python 3.6. Example: `packages.add_cntk_package("cpu")`"""
        self.add_pip_package("cntk-gpu==2.7" if core_type == "gpu" else "cntk==2.7")

    # --- reading

    conda_packages = property(lambda self: iter([d for d in self._dependencies if isinstance(d, str)]))
    conda_channels = property(lambda self: iter(list(self._conda.get("channels") or [])))

    @property
    def pip_packages(self) -> Iterator[str]:
        """The pip packages, without option lines. Example: `list(packages.pip_packages)`"""
        return iter([item for item in self._pip if not item.startswith("-")])

    @property
    def pip_options(self) -> Iterator[str]:
        """The option lines of pip. Example: `list(packages.pip_options)`"""
        return iter([item for item in self._pip if item.startswith("-")])

    def get_python_version(self) -> Optional[str]:
        """The version of Python, or None. Example: `packages.get_python_version()` is "3.8.13"."""
        for item in self._dependencies:
            if isinstance(item, str) and base_name(item) == "python":
                return item[len("python") :].strip(" =") or None
        return None

    def get_default_number_of_packages(self) -> int:
        """How many packages a fresh one has beside Python. Example: `packages.get_default_number_of_packages()`"""
        return self.DEFAULT_NUMBER_OF_CONDA_PACKAGES + self.DEFAULT_NUMBER_OF_PIP_PACKAGES

    def serialize_to_string(self) -> str:
        """The text of the conda file. Example: `print(packages.serialize_to_string())`"""
        from lathe.yaml import write_yaml

        return HEADER + write_yaml(self._conda)

    def as_dict(self) -> Dict[str, Any]:
        """The conda file as data. Example: `packages.as_dict()["channels"]`"""
        return self._conda

    def save_to_file(self, base_directory: str, conda_file_path: str = "conda_dependencies.yml") -> str:
        """Write the conda file; its name. Example: `packages.save_to_file(".", "conda.yml")`"""
        target = os.path.join(base_directory, conda_file_path)
        os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(self.serialize_to_string())
        return conda_file_path

    save = save_to_file

    def __repr__(self) -> str:
        return self.serialize_to_string()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, CondaDependencies) and self._conda == other._conda

    __hash__ = None  # type: ignore

    @property
    def _dependencies(self) -> List[Any]:
        if self._conda.get("dependencies") is None:
            self._conda["dependencies"] = []
        return list_of(self._conda["dependencies"])

    @property
    def _pip(self) -> List[str]:
        for item in self._dependencies:
            if isinstance(item, dict) and "pip" in item:
                if item["pip"] is None:
                    item["pip"] = []
                return list_of(item["pip"])
        self._dependencies.append({"pip": []})
        return list_of(self._dependencies[-1]["pip"])


def list_of(value: Any) -> List[Any]:
    if not isinstance(value, list):
        raise UserErrorException("a conda file has a list of dependencies, not {!r}".format(value))
    return value


def read_file(path: str) -> Dict[str, Any]:
    from lathe.yaml import YamlError, read_yaml

    try:
        with open(path, "r", encoding="utf-8") as file:
            found = read_yaml(file.read())
    except OSError as problem:
        raise UserErrorException("the conda file {} cannot be read: {}".format(path, problem.strerror))
    except YamlError as problem:
        raise UserErrorException("the conda file {} is wrong: {}".format(path, problem))
    if not isinstance(found, dict):
        raise UserErrorException("the conda file {} has no `dependencies:`".format(path))
    for item in list_of(found.setdefault("dependencies", [])):
        if isinstance(item, dict) and isinstance(item.get("pip"), list):
            item["pip"] = with_files([str(line) for line in item["pip"]], os.path.dirname(path))
    return found


def base_name(requirement: str) -> str:
    """The package that a requirement is about. Example: `base_name("Foo[gpu]>=1.2")` is "foo"."""
    name = re.split(r"[\[<>=!~; @]", requirement.split("::")[-1].strip(), maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()
