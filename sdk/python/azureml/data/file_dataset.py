"""FileDataset: files in datastores or on the web."""

import os
import shutil
import tempfile
from typing import Any, List, Optional

from azureml.data.abstract_dataset import AbstractDataset
from azureml.exceptions import UserErrorException


class FileDataset(AbstractDataset):
    """Files.

    Example:

        dataset = Dataset.File.from_files(["https://host/a.gz", "https://host/b.gz"])
        dataset.to_path()                                    # ['/https/host/a.gz', '/https/host/b.gz']
        arguments = ["--data", dataset.as_mount()]
    """

    def to_path(self) -> List[str]:
        """The files, as paths that begin with `/`. Example: `dataset.to_path()`"""
        if self._workspace is None and not self._definition.get("steps"):
            return [path_of_url(source["url"]) for source in self._definition["sources"]]
        workspace = self._need_workspace("listing")
        path = workspace._path("datasets", "by-id", self._save(workspace), "list")
        found, cursor = [], None  # type: List[str], Optional[str]
        while True:
            page = workspace._api.post(path, limit=500, cursor=cursor)
            found += [file["path"] for file in page["items"]]
            cursor = page.get("next")
            if cursor is None:
                return found

    def download(self, target_path=None, overwrite=False, ignore_not_found=False):
        # type: (Optional[str], bool, bool) -> List[str]
        """Fetch the files; where they are. Example: `dataset.download("./data", overwrite=True)`"""
        from azureml._data.materialize import materialize
        from azureml._data.trees import entries_of, fetch_tree

        workspace = self._need_workspace("downloading")
        folder = os.path.abspath(target_path or tempfile.mkdtemp(prefix="lathe-dataset-"))
        tree = materialize(workspace, self._save(workspace))["tree"]
        return fetch_tree(workspace._api, tree, entries_of(workspace._api, tree), folder, overwrite)

    def mount(self, mount_point: Optional[str] = None, **_: Any) -> "MountContext":
        """The files in a folder, for as long as a `with` lasts. Example: `with dataset.mount() as context: …`"""
        return MountContext(self, mount_point)

    def as_mount(self, path_on_compute: Optional[str] = None) -> Any:
        """For arguments: the path where the run sees the files. Example: `["--data", dataset.as_mount()]`"""
        return self._unnamed().as_mount(path_on_compute)

    def as_download(self, path_on_compute: Optional[str] = None) -> Any:
        """For arguments: the path of the run's own copy. Example: `["--data", dataset.as_download()]`"""
        return self._unnamed().as_download(path_on_compute)

    def as_hdfs(self) -> Any:
        """Not offered: there is no Hadoop here."""
        raise UserErrorException("as_hdfs needs Hadoop, which Lathe does not use\nhint: as_mount() or as_download()")

    def _unnamed(self) -> Any:
        from azureml._data.names import random_name

        return self.as_named_input("input_" + random_name()[:8])

    @property
    def file_metadata(self) -> Any:
        """Properties of files to filter by. Example: `dataset.filter(dataset.file_metadata["Size"] > 1000)`"""
        from azureml._data.file_filter import FileMetadata

        return FileMetadata()

    def filter(self, expression: Any) -> "FileDataset":
        """Only files that meet a condition; kept in the definition. Example: see file_metadata."""
        from azureml._data.file_filter import Condition

        if not isinstance(expression, Condition):
            raise UserErrorException("filter wants a condition such as dataset.file_metadata['Size'] > 1000")
        return self._with({"filter": expression.told})


class MountContext:
    """A folder with the files of a dataset.

    Example: `with dataset.mount() as context: os.listdir(context.mount_point)`
    """

    def __init__(self, dataset: FileDataset, mount_point: Optional[str]) -> None:
        self._dataset, self._own = dataset, mount_point is None
        self.mount_point = mount_point or tempfile.mkdtemp(prefix="lathe-mount-")

    def start(self) -> None:
        """Make the files available. Example: `context.start()`"""
        self._dataset.download(self.mount_point, overwrite=True)

    def stop(self) -> None:
        """Remove them again. Example: `context.stop()`"""
        if self._own:
            shutil.rmtree(self.mount_point, ignore_errors=True)

    def __enter__(self) -> "MountContext":
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


def path_of_url(url: str) -> str:
    """Example: `path_of_url("http://host/a/b.gz")` is "/http/host/a/b.gz"."""
    scheme, _, rest = url.partition("://")
    return "/{}/{}".format(scheme, rest.split("?")[0].split("#")[0])
