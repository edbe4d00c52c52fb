"""Estimators of deep-learning frameworks. Example: `from azureml.train.dnn import TensorFlow`"""

from typing import Any, Dict, List

from azureml.core._distributed import MpiConfiguration, TensorflowConfiguration
from azureml.train._estimator_base import EstimatorBase, signature_of
from azureml.train._frameworks import CHAINER, CUPY, PYTORCH, TENSORFLOW, Release, gpu_name, order, release_of


class _Framework(EstimatorBase):
    """An estimator that knows versions of its framework."""

    FRAMEWORK_NAME = ""
    _also_takes = ("framework_version",)
    _releases = {}  # type: Dict[str, Release]
    _default = ""
    _curated = {}  # type: Dict[str, str]  # environments with the same packages, by version

    @classmethod
    def get_supported_versions(cls) -> List[str]:
        """The versions that framework_version= takes. Example: `TensorFlow.get_supported_versions()`"""
        return sorted(cls._releases, key=order)

    def _release(self) -> Release:
        return release_of(type(self).__name__, self._releases, self._told["framework_version"], self._default)

    def _equivalent(self) -> str:
        curated = self._curated.get(str(self._told["framework_version"] or self._default))
        if self._told["environment_definition"] is not None or not curated:
            return super(_Framework, self)._equivalent()
        return "Environment.get(ws, {!r})".format(curated)


_Framework.__signature__ = signature_of(_Framework._also_takes)  # type: ignore


class TensorFlow(_Framework):
    """TensorFlow.

    Example:

        est = TensorFlow(source_directory="src", entry_script="train.py", script_params={"--batch-size": 50},
                         compute_target=target, framework_version="2.2", use_gpu=True)
        run = exp.submit(est)
    """

    FRAMEWORK_NAME = "TensorFlow"
    _also_takes = ("framework_version", "worker_count", "parameter_server_count")
    _backends = ("mpi", "ps")
    _releases = TENSORFLOW
    _default = "1.13"
    _curated = {
        "1.13": "AzureML-TensorFlow-1.13-GPU", "2.0": "AzureML-TensorFlow-2.0-GPU",
        "2.2": "AzureML-TensorFlow-2.2-GPU", "2.3": "AzureML-TensorFlow-2.3-GPU",
        "2.4": "AzureML-tensorflow-2.4-ubuntu18.04-py37-cuda11-gpu", "2.11": "azureml-tensorflow-2.11-cuda11",
        "2.16": "AzureML-tensorflow-2.16-cuda12",
    }  # fmt: skip

    def _release(self) -> Release:
        release = super(TensorFlow, self)._release()
        if not self._told["use_gpu"]:
            return release
        version = str(self._told["framework_version"] or self._default)
        return release._replace(packages=gpu_name(release.packages, version))


TensorFlow.__signature__ = signature_of(TensorFlow._also_takes)  # type: ignore


class PyTorch(_Framework):
    """PyTorch. Example: `PyTorch(source_directory="src", entry_script="train.py", compute_target=target)`"""

    FRAMEWORK_NAME = "PyTorch"
    _backends = ("mpi", "nccl", "gloo")
    _releases = PYTORCH
    _default = "1.4"
    _curated = {"1.6": "AzureML-PyTorch-1.6-GPU"}


class Chainer(_Framework):
    """Chainer. Example: `Chainer(source_directory="src", entry_script="train.py", compute_target=target)`"""

    FRAMEWORK_NAME = "Chainer"
    _releases = CHAINER
    _default = "5.1.0"
    _curated = {"5.1.0": "AzureML-Chainer-5.1.0-GPU"}

    def _release(self) -> Release:
        release = super(Chainer, self)._release()
        version = str(self._told["framework_version"] or self._default)
        return release._replace(packages=release.packages + [CUPY[version]]) if self._told["use_gpu"] else release


class Mpi(MpiConfiguration):
    """MPI in the words of the estimators. Example: `distributed_training=Mpi(process_count_per_node=2)`"""

    def __init__(self, process_count_per_node: int = 1) -> None:
        super(Mpi, self).__init__(process_count_per_node=process_count_per_node)


class ParameterServer(TensorflowConfiguration):
    """Parameter servers in the words of the estimators. Example: `ParameterServer(worker_count=2)`"""


class Nccl:
    """NVIDIA's backend of PyTorch, as data. Example: `distributed_training=Nccl()`"""

    def __init__(self, *_: Any) -> None:
        self.backend = "nccl"


class Gloo:
    """The backend of PyTorch for processors, as data. Example: `distributed_training=Gloo()`"""

    def __init__(self, *_: Any) -> None:
        self.backend = "gloo"
