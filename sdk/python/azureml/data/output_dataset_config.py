"""OutputFileDatasetConfig: a folder that a run writes and that becomes data in a datastore."""

import copy
from typing import Any, Dict, Optional

from azureml._data.names import name_from, random_name


class OutputFileDatasetConfig:
    """In arguments it stands for the folder to write to.

    Example:

        out = OutputFileDatasetConfig("features", destination=(store, "features/{run-id}")).as_upload(overwrite=True)
        ScriptRunConfig("src", "prepare.py", arguments=["--out", out.register_on_complete("features")])
    """

    def __init__(self, name=None, destination=None, source=None, partition_format=None):
        # type: (Optional[str], Any, Optional[str], Optional[str]) -> None
        self.name = name_from(name) if name else "output_" + random_name()[:8]
        self.destination, self.source, self.partition_format = destination, source, partition_format
        self.mode, self.overwrite = "upload", False
        self._register = None  # type: Optional[Dict[str, Any]]

    def as_upload(self, overwrite: bool = False, source_globs: Any = None) -> "OutputFileDatasetConfig":
        """Uploaded at the end of the run. Example: `out.as_upload(overwrite=True)`"""
        made = copy.copy(self)
        made.mode, made.overwrite = "upload", bool(overwrite)
        return made

    def as_mount(self, disable_metadata_cache: bool = False) -> "OutputFileDatasetConfig":
        """Written as it is made. Example: `out.as_mount()`"""
        made = copy.copy(self)
        made.mode = "mount"
        return made

    def register_on_complete(
        self, name: str, description: Optional[str] = None, tags: Any = None
    ) -> "OutputFileDatasetConfig":
        """Register it as a dataset when the run has completed. Example: `out.register_on_complete("features")`"""
        made = copy.copy(self)
        told = {"name": name, "description": description, "tags": tags}
        made._register = {key: value for key, value in told.items() if value is not None}
        return made

    def as_input(self, name: Optional[str] = None) -> Any:
        """Comes with pipelines."""
        from azureml._internal.later import not_yet

        raise not_yet("pipelines", "OutputFileDatasetConfig.as_input")

    def _resolve(self, resolved: Any) -> str:
        store, path = self.destination or (resolved.workspace.get_default_datastore(), "dataset/{run-id}/" + self.name)
        told = {"datastore": store.name, "path": path, "mode": self.mode, "overwrite": self.overwrite,
                "register": self._register}  # fmt: skip
        return str(resolved.add_output(self.name, told))

    def __repr__(self) -> str:
        return "OutputFileDatasetConfig:{}".format(self.name)
