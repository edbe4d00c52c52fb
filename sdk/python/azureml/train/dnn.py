"""Estimators of deep-learning frameworks. Example: `from azureml.train.dnn import TensorFlow`"""

from typing import Any, List, Optional

from azureml.core._distributed import MpiConfiguration, TensorflowConfiguration
from azureml.exceptions import TrainingException
from azureml.train._estimator_base import EstimatorBase

TENSORFLOW = {"1.10": "1.10.0", "1.12": "1.12.0", "1.13": "1.13.1", "2.0": "2.0.0", "2.1": "2.1.0", "2.2": "2.2.0"}
PYTORCH = ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"]
CHAINER = ["5.1.0", "7.0.0"]


class _Framework(EstimatorBase):
    """An estimator that knows versions of its framework."""

    _takes_framework_version = True
    _versions = []  # type: List[str]
    _default = ""

    @classmethod
    def get_supported_versions(cls) -> List[str]:
        """The versions that framework_version= takes. Example: `TensorFlow.get_supported_versions()`"""
        return list(cls._versions)

    def _version(self, version: Optional[str]) -> str:
        chosen = version or self._default
        if chosen not in self._versions:
            raise TrainingException(
                "{}: framework_version={!r} is not known; {} are".format(
                    type(self).__name__, version, ", ".join(self._versions)
                )
            )
        return chosen


class TensorFlow(_Framework):
    """TensorFlow.

    Example:

        est = TensorFlow(source_directory="src", entry_script="train.py", script_params={"--batch-size": 50},
                         compute_target=target, framework_version="2.2", use_gpu=True)
        run = exp.submit(est)
    """

    FRAMEWORK_NAME = "TensorFlow"
    _versions = sorted(TENSORFLOW, key=lambda text: [int(part) for part in text.split(".")])
    _default = "1.13"

    def _packages_of(self, version: Optional[str], gpu: bool) -> List[str]:
        exact = TENSORFLOW[self._version(version)]
        name = "tensorflow-gpu" if gpu else "tensorflow"
        return ["{}=={}".format(name, exact), "horovod==0.19.5" if exact[0] == "2" else "horovod==0.16.1"]


class PyTorch(_Framework):
    """PyTorch. Example: `PyTorch(source_directory="src", entry_script="train.py", compute_target=target)`"""

    FRAMEWORK_NAME = "PyTorch"
    _versions = PYTORCH
    _default = "1.4"

    def _packages_of(self, version: Optional[str], gpu: bool) -> List[str]:
        return ["torch=={}".format(self._version(version)), "torchvision", "horovod==0.18.1"]


class Chainer(_Framework):
    """Chainer. Example: `Chainer(source_directory="src", entry_script="train.py", compute_target=target)`"""

    FRAMEWORK_NAME = "Chainer"
    _versions = CHAINER
    _default = "5.1.0"

    def _packages_of(self, version: Optional[str], gpu: bool) -> List[str]:
        return ["chainer=={}".format(self._version(version))] + (["cupy-cuda90"] if gpu else [])


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
