"""Where scripts import DatasetValidationError from.

Example: `from azureml.data.dataset_error_handling import DatasetValidationError`
"""

from azureml.exceptions import DatasetValidationError  # noqa: F401


class DatasetExecutionError(DatasetValidationError):
    """The data of a dataset could not be read."""
