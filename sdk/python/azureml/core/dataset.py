"""Dataset: making datasets, and finding registered ones."""

from typing import Any, Dict

from lathe.errors import NotFound

from azureml.data.dataset_factory import FileDatasetFactory, TabularDatasetFactory
from azureml.data.file_dataset import FileDataset
from azureml.data.tabular_dataset import TabularDataset
from azureml.exceptions import UserErrorException


class Dataset:
    """Where datasets come from.

    Example:

        dataset = Dataset.File.from_files(path=["https://host/a.gz"])
        dataset = Dataset.get_by_name(ws, "mnist-dataset")
    """

    File = FileDatasetFactory
    Tabular = TabularDatasetFactory

    @staticmethod
    def get_by_name(workspace: Any, name: str, version: Any = "latest") -> Any:
        """A registered dataset; an exception if there is none.

        Example: `Dataset.get_by_name(ws, "mnist", version=2)`
        """
        wanted = "latest" if version in (None, "latest") else str(version)
        try:
            view = workspace._api.get(workspace._path("datasets", name), version=wanted)
        except NotFound:
            raise UserErrorException("there is no dataset {!r} of version {} in the workspace".format(name, wanted))
        return dataset_of_version(workspace, view)

    @staticmethod
    def get_by_id(workspace: Any, id: str) -> Any:
        """A saved dataset. Example: `Dataset.get_by_id(ws, run.get_details()["inputDatasets"][0]["dataset"]["id"])`"""
        try:
            view = workspace._api.get(workspace._path("datasets", "by-id", id))
        except NotFound:
            raise UserErrorException("there is no dataset with the id {!r} in the workspace".format(id))
        return class_of(view)(view["definition"], workspace, saved_id=view["id"])

    @staticmethod
    def get_all(workspace: Any) -> Dict[str, Any]:
        """The newest version of each. Example: `list(Dataset.get_all(ws))`"""
        return dict(workspace.datasets)


def dataset_of_version(workspace: Any, view: Dict[str, Any]) -> Any:
    return class_of(view)(view["definition"], workspace, view)


def class_of(view: Dict[str, Any]) -> Any:
    return TabularDataset if view["kind"] == "tabular" else FileDataset
