"""Estimators are deprecated since 2020: each class says so once, with the ScriptRunConfig that does the same."""

import warnings
from typing import Any, Set

_said = set()  # type: Set[str]


def warn_once(estimator: Any, environment: str) -> None:
    """Example: `warn_once(est, "Environment.get(ws, 'AzureML-TensorFlow-2.2-GPU')")`"""
    name = type(estimator).__name__
    if name in _said:
        return
    _said.add(name)
    told = estimator._told
    target = estimator.run_config.target
    arguments = ", arguments=[…]" if told["script_params"] else ""
    job = type(estimator._distributed).__name__
    distributed = "" if estimator._distributed is None else ", distributed_job_config={}(…)".format(job)
    text = (
        "the estimator {} is deprecated; this does the same: ScriptRunConfig(source_directory={!r}, script={!r}{}, "
        "compute_target={!r}{}, environment={})".format(
            name, str(estimator.source_directory), told["entry_script"], arguments, target, distributed, environment
        )
    )
    warnings.warn(text, DeprecationWarning, stacklevel=3)  # the line that made the estimator
