"""Where the documents import ComputeTargetException from.

Example: `from azureml.core.compute_target import ComputeTargetException`
"""

from lathe.lazy import export as _export

from azureml.exceptions import ComputeTargetException  # noqa: F401

_export(__name__, {"ComputeTarget": "azureml.core.compute.compute"})
