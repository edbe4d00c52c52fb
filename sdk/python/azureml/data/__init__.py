"""Datasets, datastores' references and what runs read and write. Each name is loaded at its first use.

Example: `from azureml.data import OutputFileDatasetConfig`
"""

from lathe.lazy import export as _export

__version__ = "1.60.0"

_export(
    __name__,
    {
        "FileDataset": "azureml.data.file_dataset",
        "TabularDataset": "azureml.data.tabular_dataset",
        "DataReference": "azureml.data.data_reference",
        "DataPath": "azureml.data.datapath",
        "DataPathComputeBinding": "azureml.data.datapath",
        "OutputFileDatasetConfig": "azureml.data.output_dataset_config",
        "DatasetConsumptionConfig": "azureml.data.dataset_consumption_config",
        "DataType": "azureml.data.dataset_factory",
    },
)
