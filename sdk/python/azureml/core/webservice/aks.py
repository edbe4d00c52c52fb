"""Another place from which scripts import these names."""

from azureml.core.webservice import AksEndpoint, AksWebservice  # noqa: F401
