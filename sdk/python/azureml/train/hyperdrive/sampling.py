"""Another place from which scripts import these names."""

from azureml.train.hyperdrive import (  # noqa: F401
    BayesianParameterSampling,
    GridParameterSampling,
    RandomParameterSampling,
)
