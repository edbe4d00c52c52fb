"""Open datasets. Example: `from azureml.opendatasets import MNIST`"""

from lathe.lazy import export as _export

_export(__name__, {"MNIST": "azureml.opendatasets.mnist"})
