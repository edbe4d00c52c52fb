"""HyperDrive's names; calling them says that the feature comes later.

Example: `from azureml.train.hyperdrive import choice`
"""

from enum import Enum

from azureml._internal.later import later_class as _class
from azureml._internal.later import later_function as _function

FEATURE = "HyperDrive"


class PrimaryMetricGoal(Enum):
    """Which way is better. Example: `PrimaryMetricGoal.MAXIMIZE`"""

    MAXIMIZE = "MAXIMIZE"
    MINIMIZE = "MINIMIZE"

    @staticmethod
    def from_str(goal: str) -> "PrimaryMetricGoal":
        """Example: `PrimaryMetricGoal.from_str("maximize")`"""
        return PrimaryMetricGoal(goal.upper())


HyperDriveConfig = _class(FEATURE, "HyperDriveConfig")
HyperDriveRunConfig = _class(FEATURE, "HyperDriveRunConfig")
HyperDriveRun = _class(FEATURE, "HyperDriveRun")
RandomParameterSampling = _class(FEATURE, "RandomParameterSampling")
GridParameterSampling = _class(FEATURE, "GridParameterSampling")
BayesianParameterSampling = _class(FEATURE, "BayesianParameterSampling")
BanditPolicy = _class(FEATURE, "BanditPolicy")
MedianStoppingPolicy = _class(FEATURE, "MedianStoppingPolicy")
TruncationSelectionPolicy = _class(FEATURE, "TruncationSelectionPolicy")
NoTerminationPolicy = _class(FEATURE, "NoTerminationPolicy")
choice = _function(FEATURE, "choice")
uniform = _function(FEATURE, "uniform")
quniform = _function(FEATURE, "quniform")
loguniform = _function(FEATURE, "loguniform")
qloguniform = _function(FEATURE, "qloguniform")
normal = _function(FEATURE, "normal")
qnormal = _function(FEATURE, "qnormal")
lognormal = _function(FEATURE, "lognormal")
qlognormal = _function(FEATURE, "qlognormal")
randint = _function(FEATURE, "randint")

__all__ = [
    "HyperDriveConfig", "HyperDriveRunConfig", "HyperDriveRun", "RandomParameterSampling", "GridParameterSampling",
    "BayesianParameterSampling", "BanditPolicy", "MedianStoppingPolicy", "TruncationSelectionPolicy", "NoTerminationPolicy",
    "PrimaryMetricGoal", "choice", "uniform", "quniform", "loguniform", "qloguniform", "normal", "qnormal", "lognormal",
    "qlognormal", "randint",
]  # fmt: skip
