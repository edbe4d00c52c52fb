"""DataPath: a path in a datastore, not yet bound to a way in which a run gets it."""

from typing import Any, Optional

from azureml._data.names import random_name
from azureml.data.data_reference import DataReference


class DataPathComputeBinding:
    """How a run gets a DataPath. Example: `DataPathComputeBinding(mode="mount")`"""

    def __init__(self, mode="mount", path_on_compute=None, overwrite=False):
        # type: (str, Optional[str], bool) -> None
        self.mode, self.path_on_compute, self.overwrite = mode, path_on_compute, overwrite

    def create_data_reference(self, datapath: "DataPath", data_reference_name: Optional[str] = None) -> DataReference:
        """Bind a path. Example: `binding.create_data_reference(path, "model")`"""
        return datapath.create_data_reference(data_reference_name, self)


class DataPath:
    """A path in a datastore. Example: `DataPath(store, "mnist/train")`"""

    def __init__(self, datastore=None, path_on_datastore=None, name=None, run=None):
        # type: (Any, Optional[str], Optional[str], Any) -> None
        self._datastore, self.path_on_datastore = datastore, path_on_datastore
        self.data_path_name = name or random_name()
        self._run = run

    datastore_name = property(lambda self: self._datastore.name if self._datastore is not None else None)

    def create_data_reference(self, data_reference_name=None, datapath_compute_binding=None):
        # type: (Optional[str], Optional[DataPathComputeBinding]) -> DataReference
        """Bind it. Example: `path.create_data_reference("model", DataPathComputeBinding(mode="mount"))`"""
        self._settle()
        binding = datapath_compute_binding or DataPathComputeBinding()
        return DataReference(
            self._datastore, data_reference_name or self.data_path_name, self.path_on_datastore, binding.mode,
            binding.path_on_compute, binding.overwrite,
        )  # fmt: skip

    def _resolve(self, resolved: Any) -> str:
        return self.create_data_reference()._resolve(resolved)

    def _settle(self) -> None:
        """The outputs of a run get names in the artifact store; their bytes are shared, not copied."""
        if self._run is None or self._datastore is not None:
            return
        from azureml.core.datastore import Datastore

        workspace, api = self._run.experiment.workspace, self._run._api
        store = Datastore.get(workspace, "workspaceartifactstore")
        base = "ExperimentRun/dcid.{}".format(self._run.id)
        files = api.items(self._run._path("files"), prefix="{}/".format(self.path_on_datastore), limit=500)
        named = [{"path": "{}/{}".format(base, file["path"]), "digest": file["digest"], "size": file["size"]}
                 for file in files if file.get("digest")]  # fmt: skip
        for at in range(0, len(named), 5000):
            api.post(store._path("files"), {"files": named[at : at + 5000], "overwrite": True})
        self._datastore, self.path_on_datastore = store, "{}/{}".format(base, self.path_on_datastore)
