"""Compute targets. Each name is loaded at its first use.

Example: `from azureml.core.compute import ComputeTarget, AmlCompute`
"""

from lathe.lazy import export as _export

_export(
    __name__,
    {
        "ComputeTarget": "azureml.core.compute.compute",
        "AmlCompute": "azureml.core.compute.amlcompute",
        "AksCompute": "azureml.core.compute.others",
        "RemoteCompute": "azureml.core.compute.others",
        "ComputeInstance": "azureml.core.compute.others",
        "DsvmCompute": "azureml.core.compute.others",
        "BatchCompute": "azureml.core.compute.others",
        "DatabricksCompute": "azureml.core.compute.others",
        "HDInsightCompute": "azureml.core.compute.others",
        "KubernetesCompute": "azureml.core.compute.others",
    },
)
