"""The names that scripts import from azureml.core. Each is loaded at its first use.

Example: `from azureml.core import Workspace, Experiment, Run`
"""

import json  # noqa: F401

from lathe.lazy import export as _export

import azureml.data  # noqa: F401  (scripts read azureml.data.__version__ after this import alone)

# The version of the vendor's interface that these modules speak; scripts print and compare it.
VERSION = "1.60.0"
__version__ = VERSION

_export(
    __name__,
    {
        "Workspace": "azureml.core.workspace",
        "Experiment": "azureml.core.experiment",
        "Run": "azureml.core.run",
        "get_run": "azureml.core.run",
        "Dataset": "azureml.core.dataset",
        "Datastore": "azureml.core.datastore",
        "Environment": "azureml.core.environment",
        "ScriptRunConfig": "azureml.core.script_run_config",
        "ScriptRun": "azureml.core.script_run",
        "RunConfiguration": "azureml.core.runconfig",
        "ComputeTarget": "azureml.core.compute",
        "Model": "azureml.core.model",
        "Keyvault": "azureml.core.keyvault",
        "ContainerRegistry": "azureml.core.container_registry",
        "Webservice": "azureml.core.webservice",
        "Image": "azureml.core.image",
    },
)
