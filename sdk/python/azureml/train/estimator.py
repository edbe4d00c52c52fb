"""Estimator: the generic one. Example: `from azureml.train.estimator import Estimator`"""

from azureml.train._estimator_base import EstimatorBase


class Estimator(EstimatorBase):
    """A script with packages of your own.

    Example:

        est = Estimator(source_directory="src", entry_script="train.py", compute_target=target,
                        script_params={"--data": store.as_mount()}, pip_packages=["scikit-learn"])
        run = exp.submit(est)
    """


class MMLBaseEstimator(EstimatorBase):
    """The base class under another name. Example: `isinstance(est, MMLBaseEstimator)`"""
