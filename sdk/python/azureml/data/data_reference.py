"""DataReference: a path in a datastore, and how a run gets it."""

from typing import Any, Optional

from azureml._data.names import name_from, random_name


class DataReference:
    """In arguments it stands for the path that the run sees. `str(reference)` is `$AZUREML_DATAREFERENCE_<name>`.

    Example:

        reference = DataReference(store, "mnist", path_on_datastore="mnist", mode="download")
        ScriptRunConfig("src", "train.py", arguments=["--data", reference])
    """

    def __init__(self, datastore, data_reference_name=None, path_on_datastore=None, mode="mount", path_on_compute=None,
                 overwrite=False):  # fmt: skip
        # type: (Any, Optional[str], Optional[str], str, Optional[str], bool) -> None
        self.datastore = datastore
        self.data_reference_name = name_from(data_reference_name) if data_reference_name else random_name()
        self.path_on_datastore, self.mode = path_on_datastore, mode
        self.path_on_compute, self.overwrite = path_on_compute, overwrite

    def path(self, path: Optional[str] = None, data_reference_name: Optional[str] = None) -> "DataReference":
        """A path below this one. Example: `store.path("mnist").path("train")`"""
        below = "/".join(part for part in (self.path_on_datastore, path) if part) or None
        return DataReference(self.datastore, data_reference_name, below, self.mode)

    def as_mount(self) -> "DataReference":
        """Seen by the run without being copied. Example: `store.path("mnist").as_mount()`"""
        return self._with("mount", None, False)

    def as_download(self, path_on_compute: Optional[str] = None, overwrite: bool = False) -> "DataReference":
        """A private copy for the run. Example: `store.path("mnist").as_download()`"""
        return self._with("download", path_on_compute, overwrite)

    def as_upload(self, path_on_compute: Optional[str] = None, overwrite: bool = False) -> "DataReference":
        """What the run writes is uploaded at its end. Example: `store.path("results").as_upload("outputs/results")`"""
        return self._with("upload", path_on_compute, overwrite)

    def _with(self, mode: str, path_on_compute: Optional[str], overwrite: bool) -> "DataReference":
        return DataReference(
            self.datastore, self.data_reference_name, self.path_on_datastore, mode, path_on_compute, overwrite
        )

    def to_config(self) -> Any:
        """For RunConfiguration.data_references.

        Example: `rc.data_references = {ref.data_reference_name: ref.to_config()}`
        """
        from azureml.core.runconfig import DataReferenceConfiguration

        return DataReferenceConfiguration(
            self.datastore.name, self.mode, self.path_on_datastore, self.path_on_compute, self.overwrite
        )

    def _resolve(self, resolved: Any) -> str:
        told = {"datastore": self.datastore.name, "path": self.path_on_datastore or "", "mode": self.mode}
        if self.mode == "upload":
            return str(resolved.add_output(self.data_reference_name, dict(told, overwrite=bool(self.overwrite))))
        return str(resolved.add_input(self.data_reference_name, dict(told, path_on_compute=self.path_on_compute)))

    def __str__(self) -> str:
        return "$AZUREML_DATAREFERENCE_" + self.data_reference_name

    def __repr__(self) -> str:
        return str(self)
