"""AbstractDatastore: a named place for data in a workspace, and references to it."""

from typing import Any, Dict, Optional

from azureml._data.names import name_from


class AbstractDatastore:
    """A datastore of a workspace.

    Example:

        store = ws.get_default_datastore()
        store.upload("./data", target_path="mnist")
        reference = store.path("mnist").as_mount()
    """

    def __init__(self, workspace: Any, view: Dict[str, Any]) -> None:
        self.workspace, self._view = workspace, view

    name = property(lambda self: str(self._view["name"]), doc="Its name. Example: `store.name`")
    datastore_type = property(lambda self: str(self._view["type"]), doc="For example `AzureBlob`.")
    is_default = property(lambda self: bool(self._view.get("is_default")))

    def _path(self, *parts: str) -> str:
        return str(self.workspace._path("datastores", self.name, *parts))

    def as_mount(self) -> Any:
        """All of it, listed lazily and never copied. Example: `script_params={"--data": store.as_mount()}`"""
        return self._reference().as_mount()

    def as_download(self, path_on_compute: Optional[str] = None) -> Any:
        """A private copy for the run. Example: `store.as_download()`"""
        return self._reference().as_download(path_on_compute)

    def as_upload(self, path_on_compute: Optional[str] = None) -> Any:
        """What the run writes there is uploaded at its end. Example: `store.as_upload("outputs")`"""
        return self._reference().as_upload(path_on_compute)

    def path(self, path: Optional[str] = None, data_reference_name: Optional[str] = None) -> Any:
        """A reference to a file or folder in it. Example: `store.path("mnist").as_download()`"""
        from azureml.data.data_reference import DataReference

        return DataReference(self, data_reference_name, path)

    def _reference(self) -> Any:
        return self.path(None, name_from(self.name))

    def set_as_default(self) -> None:
        """Make it the workspace's default. Example: `store.set_as_default()`"""
        self.workspace.set_default_datastore(self.name)

    def unregister(self) -> None:
        """Forget it; the data stays where it is. Example: `store.unregister()`"""
        self.workspace._api.delete(self._path())

    def __repr__(self) -> str:
        return "{}(name={!r}, datastore_type={!r})".format(type(self).__name__, self.name, self.datastore_type)
