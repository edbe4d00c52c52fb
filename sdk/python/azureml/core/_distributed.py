"""Distributed jobs as data. Submitting one with more than one process comes with the feature 'distributed jobs'."""

from typing import Any, Dict, Optional

from azureml.core._sections import Section


class MpiConfiguration(Section):
    """Processes under MPI. Example: `MpiConfiguration(node_count=2)`"""

    _fields = {"process_count_per_node": 1, "node_count": 1}

    def __init__(self, process_count_per_node: int = 1, node_count: int = 1) -> None:
        super(MpiConfiguration, self).__init__(process_count_per_node=process_count_per_node, node_count=node_count)


class TensorflowConfiguration(Section):
    """Workers and parameter servers. Example: `TensorflowConfiguration(worker_count=2, parameter_server_count=0)`"""

    _fields = {"worker_count": 1, "parameter_server_count": 1}

    def __init__(self, worker_count: int = 1, parameter_server_count: int = 1) -> None:
        super(TensorflowConfiguration, self).__init__(
            worker_count=worker_count, parameter_server_count=parameter_server_count
        )


class PyTorchConfiguration(Section):
    """Processes of torch.distributed. Example: `PyTorchConfiguration(process_count=2, node_count=2)`"""

    _fields = {"communication_backend": "Nccl", "process_count": None, "node_count": 1}  # type: Dict[str, Any]

    def __init__(self, communication_backend="Nccl", process_count=None, node_count=1):
        # type: (str, Optional[int], int) -> None
        super(PyTorchConfiguration, self).__init__(
            communication_backend=communication_backend, process_count=process_count, node_count=node_count
        )


class ParallelTaskConfiguration(Section):
    """Independent tasks on several nodes. Example: `ParallelTaskConfiguration(max_retries_per_worker=2)`"""

    _fields = {
        "max_retries_per_worker": 0,
        "worker_count_per_node": 1,
        "terminal_exit_codes": None,
    }  # type: Dict[str, Any]

    def __init__(self, max_retries_per_worker=0, worker_count_per_node=1, terminal_exit_codes=None):
        # type: (int, int, Any) -> None
        super(ParallelTaskConfiguration, self).__init__(
            max_retries_per_worker=max_retries_per_worker, worker_count_per_node=worker_count_per_node,
            terminal_exit_codes=terminal_exit_codes,
        )  # fmt: skip


def process_count(job: Any) -> int:
    """How many processes a distributed job has in all."""
    if job is None:
        return 1
    if isinstance(job, MpiConfiguration):
        return int(job.node_count) * int(job.process_count_per_node)
    if isinstance(job, TensorflowConfiguration):
        return int(job.worker_count) + int(job.parameter_server_count)
    if isinstance(job, PyTorchConfiguration):
        return max(int(job.process_count or 1), int(job.node_count))
    return 2
