"""Another place from which scripts import these names."""

from azureml.core.webservice import LocalWebservice  # noqa: F401
