"""The distributed job that the arguments of an estimator stand for: kept and checked, started by a later version."""

from typing import Any, Dict, Tuple

from azureml.core._distributed import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration
from azureml.exceptions import TrainingException

COUNTS = ("node_count", "process_count_per_node", "worker_count", "parameter_server_count")


def distributed_job(told: Dict[str, Any], backends: Tuple[str, ...]) -> Any:
    """None for a single process, else the job. `backends` are those that the estimator knows."""
    for name in COUNTS:
        check_count(name, told[name])
    job, backend = told["distributed_training"], told["distributed_backend"]
    if job is not None and backend is not None:
        raise TrainingException("distributed_training= is the newer form of distributed_backend=: give one of them")
    if backend is not None:
        return job_of_backend(told, str(backend).lower(), backends)
    if job is None and (int(told["node_count"]) > 1 or int(told["process_count_per_node"]) > 1):
        raise TrainingException("several nodes or processes need distributed_training= or distributed_backend=")
    if isinstance(job, MpiConfiguration):
        processes = max(int(job.process_count_per_node), int(told["process_count_per_node"]))
        return MpiConfiguration(processes, max(int(job.node_count), int(told["node_count"])))
    if isinstance(job, TensorflowConfiguration):
        check_count("worker_count", job.worker_count)
        check_count("parameter_server_count", job.parameter_server_count)
        return job
    if hasattr(job, "backend"):  # Nccl, Gloo
        return job_of_backend(told, job.backend, backends)
    if job is not None and not isinstance(job, PyTorchConfiguration):
        raise TrainingException(
            "distributed_training= is a {}\nhint: Mpi, MpiConfiguration, ParameterServer, TensorflowConfiguration, Nccl "
            "and Gloo are known".format(type(job).__name__)
        )
    return job


def job_of_backend(told: Dict[str, Any], backend: str, backends: Tuple[str, ...]) -> Any:
    if backend not in backends:
        raise TrainingException("distributed_backend={!r} is not known here; {} are".format(backend, ", ".join(backends)))
    if backend == "mpi":
        return MpiConfiguration(int(told["process_count_per_node"]), int(told["node_count"]))
    if backend == "ps":
        return TensorflowConfiguration(int(told["worker_count"]), int(told["parameter_server_count"]))
    nodes = int(told["node_count"])
    return PyTorchConfiguration(backend.capitalize(), nodes * int(told["process_count_per_node"]), nodes)


def check_count(name: str, value: Any) -> None:
    least = 0 if name == "parameter_server_count" else 1
    try:
        fits = int(value) == float(value) and int(value) >= least
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise TrainingException("{}= is {!r}; it is a number of {} or more".format(name, value, least))
