"""Datastores that hold files: those of every workspace, folders of the site, and cloud stores once their feature
is there.
"""

import os
from typing import Any, Dict, List, Optional

from lathe.downloads import download, download_blob
from lathe.parallel import in_parallel
from lathe.uploads import source_of_file, upload_blobs

from azureml._data.progress import Progress
from azureml._run.files import clean, existing, existing_folder, files_below
from azureml.data.abstract_datastore import AbstractDatastore
from azureml.exceptions import UserErrorException

NAMED_AT_ONCE = 5000


class AbstractAzureStorageDatastore(AbstractDatastore):
    """A datastore with files. Example: `ws.get_default_datastore().download("./here", prefix="mnist")`"""

    def _told(self, name: str, otherwise: str) -> str:
        return str((self._view.get("definition") or {}).get(name) or otherwise)

    account_name = property(lambda self: self._told("account_name", "lathe"))
    container_name = property(
        lambda self: self._told("container_name", "azureml-blobstore-" + self.workspace._workspace_id)
    )

    def upload(self, src_dir, target_path=None, overwrite=False, show_progress=True):
        # type: (str, Optional[str], bool, bool) -> Any
        """Send a folder. Example: `store.upload("./data/mnist", target_path="mnist", overwrite=True)`"""
        files = [os.path.join(src_dir, name) for name in files_below(existing_folder(src_dir))]
        return self.upload_files(files, src_dir, target_path, overwrite, show_progress)

    def upload_files(self, files, relative_root=None, target_path=None, overwrite=False, show_progress=True):
        # type: (List[str], Optional[str], Optional[str], bool, bool) -> Any
        """Send files; folders below `relative_root` are kept.

        Example: `store.upload_files(["a.csv"], target_path="raw")`
        """
        files = [existing(file) for file in files]
        root = os.path.abspath(relative_root or common_folder(files))
        base = clean(target_path or "")
        progress = Progress("Upload", len(files), show_progress)
        targets = [target_of(file, root, base) for file in files]
        for file in files:
            progress.begin(file)
        blobs = in_parallel(source_of_file, files)
        by_digest = {}  # type: Dict[str, List[str]]
        for file, blob in zip(files, blobs):
            by_digest.setdefault(blob.digest, []).append(file)

        def arrived(blob):
            # type: (Any) -> None
            for file in by_digest[blob.digest]:
                progress.one(file)

        upload_blobs(self.workspace._api, blobs, arrived)
        named = [{"path": target, "digest": b.digest, "size": b.size} for target, b in zip(targets, blobs)]
        written = self._name_files(named, overwrite, progress)
        progress.end(written)
        return self.path(base or None)

    def _name_files(self, named: List[Dict[str, Any]], overwrite: bool, progress: Progress) -> int:
        written = 0
        for at in range(0, len(named), NAMED_AT_ONCE):
            body = {"files": named[at : at + NAMED_AT_ONCE], "overwrite": bool(overwrite)}
            answer = self.workspace._api.post(self._path("files"), body)
            written += len(answer["written"])
            for name in answer["skipped"]:
                progress.skipped(name)
        return written

    def download(self, target_path, prefix=None, overwrite=False, show_progress=True):
        # type: (str, Optional[str], bool, bool) -> int
        """Fetch the files below `prefix`, with their folders; how many. Example: `store.download("./here", "mnist")`"""
        files = list(self.workspace._api.items(self._path("files"), prefix=clean(prefix or "") or None, limit=500))
        wanted = [file for file in files if overwrite or not os.path.exists(os.path.join(target_path, file["path"]))]
        progress = Progress("Download", len(wanted), show_progress)

        def fetch(file):
            # type: (Dict[str, Any]) -> None
            target = os.path.join(target_path, clean(file["path"]))
            if file.get("digest"):
                download_blob(self.workspace._api, file["digest"], target, size=file["size"])
            else:
                download(self.workspace._api, self._path("files", "content"), {"path": file["path"]}, target)
            progress.one(file["path"])

        in_parallel(fetch, wanted)
        progress.end(len(wanted))
        return len(wanted)


class AzureBlobDatastore(AbstractAzureStorageDatastore):
    """What prints `AzureBlob` as its type: the store of every workspace, and registered blob containers.

    Example: `isinstance(ws.get_default_datastore(), AzureBlobDatastore)`
    """


class AzureFileDatastore(AbstractAzureStorageDatastore):
    """What prints `AzureFile` as its type. Example: `Datastore.get(ws, "workspacefilestore")`"""


class LocalDatastore(AbstractAzureStorageDatastore):
    """A folder of the site. Example: `Datastore.register_local(ws, "scans", "/srv/scans").folder`"""

    folder = property(lambda self: self._view.get("path"), doc="The folder. Example: `store.folder`")


def common_folder(files: List[str]) -> str:
    if not files:
        return "."
    folders = [os.path.dirname(os.path.abspath(file)) for file in files]
    return os.path.commonpath(folders)


def target_of(file: str, root: str, base: str) -> str:
    inside = os.path.relpath(os.path.abspath(file), root).replace(os.sep, "/")
    if inside.startswith("../"):
        raise UserErrorException("{} is not below relative_root {}".format(file, root))
    return "{}/{}".format(base, inside) if base else inside
