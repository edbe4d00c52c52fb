"""DatasetConsumptionConfig: a dataset, the name it has in a run, and how the run gets it."""

from typing import Any, Optional

from azureml.exceptions import UserErrorException


class DatasetConsumptionConfig:
    """What as_named_input(), as_mount() and as_download() give.

    Example: `arguments=["--data", dataset.as_named_input("mnist").as_mount()]`
    """

    def __init__(self, name, dataset, mode="direct", path_on_compute=None):
        # type: (str, Any, str, Optional[str]) -> None
        self.name, self.dataset, self.mode, self.path_on_compute = name, dataset, mode, path_on_compute

    def as_mount(self, path_on_compute: Optional[str] = None) -> "DatasetConsumptionConfig":
        """Seen by the run without being copied. Example: `config.as_mount()`"""
        return self._files("mount", path_on_compute)

    def as_download(self, path_on_compute: Optional[str] = None) -> "DatasetConsumptionConfig":
        """A private copy for the run. Example: `config.as_download()`"""
        return self._files("download", path_on_compute)

    def as_direct(self) -> "DatasetConsumptionConfig":
        """The dataset itself: run.input_datasets gives the object. Example: `config.as_direct()`"""
        return DatasetConsumptionConfig(self.name, self.dataset, "direct")

    def as_hdfs(self) -> Any:
        """Not offered: there is no Hadoop here."""
        raise UserErrorException("as_hdfs needs Hadoop, which Lathe does not use\nhint: as_mount() or as_download()")

    def _files(self, mode: str, path_on_compute: Optional[str]) -> "DatasetConsumptionConfig":
        from azureml.data.tabular_dataset import TabularDataset

        if isinstance(self.dataset, TabularDataset):
            raise UserErrorException(
                "a tabular dataset is read by rows: pass dataset.as_named_input(name), without as_mount()"
            )
        return DatasetConsumptionConfig(self.name, self.dataset, mode, path_on_compute)

    def _resolve(self, resolved: Any) -> str:
        saved = self.dataset._save(resolved.workspace)
        told = {"dataset": saved, "mode": self.mode, "path_on_compute": self.path_on_compute}
        placeholder = resolved.add_input(self.name, told)
        return saved if self.mode == "direct" else str(placeholder)

    def __repr__(self) -> str:
        return "DatasetConsumptionConfig:{}".format(self.name)
