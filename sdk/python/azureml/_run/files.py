"""The files of a run: names, downloads, uploads, logs, the snapshot."""

import os
from typing import Any, Dict, List, Optional

from lathe.downloads import download, read_all
from lathe.errors import NotFound
from lathe.parallel import in_parallel
from lathe.uploads import BlobSource, source_of_file, upload_blobs

from azureml._run.part import RunPart
from azureml.exceptions import UserErrorException

NAMED_AT_ONCE = 5000


class RunFilesPart(RunPart):
    """A part of Run."""

    def get_file_names(self) -> List[str]:
        """The files of the run. Example: `"outputs/model.h5" in run.get_file_names()`"""
        return sorted(file["path"] for file in self._api.items(self._path("files"), limit=500))

    def download_file(self, name, output_file_path=None, _validate_checksum=False):
        # type: (str, Optional[str], bool) -> None
        """Fetch one file. Example: `run.download_file("outputs/model.h5", "model.h5")`"""
        target = output_file_path or os.path.basename(name)
        if os.path.isdir(target) or target.endswith("/"):
            target = os.path.join(target, os.path.basename(name))
        try:
            download(self._api, self._path("files", "content"), {"path": clean(name)}, target)
        except NotFound:
            raise UserErrorException(
                "File with path {} was not found,\navailable files include: {}".format(
                    name, ",".join(self.get_file_names())
                )
            )

    def download_files(
        self, prefix=None, output_directory=None, output_paths=None, batch_size=100, append_prefix=True, timeout_seconds=None
    ):  # fmt: skip
        # type: (Optional[str], Optional[str], Optional[List[str]], int, bool, Any) -> None
        """Fetch the files whose names begin with `prefix`, several at a time.

        Example: `run.download_files(prefix="outputs/model", output_directory="./model", append_prefix=False)`
        """
        start = clean(prefix) if prefix else ""
        files = list(self._api.items(self._path("files"), prefix=start or None, limit=500))
        if output_paths is not None and len(output_paths) != len(files):
            raise UserErrorException("output_paths has {} names for {} files".format(len(output_paths), len(files)))
        targets = output_paths or [local_name(file["path"], start, append_prefix) for file in files]
        folder = output_directory or "."
        in_parallel(lambda pair: self._fetch_file(pair[0], os.path.join(folder, pair[1])), zip(files, targets))

    def _fetch_file(self, file: Dict[str, Any], target: str) -> None:
        """A file of which the size is known, and the digest if it is no log that grows."""
        size = file["size"] if file.get("digest") else None
        download(
            self._api, self._path("files", "content"), {"path": file["path"]}, target, file.get("digest"), size=size
        )

    def upload_file(self, name, path_or_stream, datastore_name=None):
        # type: (str, Any, Any) -> Dict[str, str]
        """Make a file, or what a stream holds, a file of the run.

        Example: `run.upload_file("outputs/a.txt", "a.txt")`
        """
        if hasattr(path_or_stream, "read"):
            data = path_or_stream.read()
            blob = blob_of_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        else:
            blob = source_of_file(existing(path_or_stream))
        self._put_files({clean(name): blob})
        return {clean(name): blob.digest}

    def upload_files(self, names, paths, return_artifacts=False, timeout_seconds=None, datastore_name=None):
        # type: (List[str], List[str], bool, Any, Any) -> Any
        """Several files at once. Example: `run.upload_files(["outputs/a", "outputs/b"], ["a", "b"])`"""
        if len(names) != len(paths):
            raise UserErrorException("there are {} names for {} files".format(len(names), len(paths)))
        blobs = in_parallel(lambda path: source_of_file(existing(path)), paths)
        self._put_files(dict(zip([clean(name) for name in names], blobs)))
        return {clean(name): blob.digest for name, blob in zip(names, blobs)}

    def upload_folder(self, name, path, datastore_name=None):
        # type: (str, str, Any) -> Any
        """A folder with all that is in it. Example: `run.upload_folder("outputs/plots", "./plots")`"""
        files = files_below(existing_folder(path))
        names = ["{}/{}".format(clean(name), file) for file in files]
        return self.upload_files(names, [os.path.join(path, file) for file in files])

    def _put_files(self, files: Dict[str, BlobSource]) -> None:
        upload_blobs(self._api, list(files.values()))
        named = [{"path": path, "digest": blob.digest, "size": blob.size} for path, blob in sorted(files.items())]
        for at in range(0, len(named), NAMED_AT_ONCE):
            self._api.post(self._path("artifacts"), {"artifacts": named[at : at + NAMED_AT_ONCE]})

    # --- logs

    def get_all_logs(self, destination: Optional[str] = None) -> List[str]:
        """Fetch every log; where they are then. Example: `run.get_all_logs("./logs-of-run")`"""
        folder = os.path.join(destination or os.getcwd(), self._run_id)
        names = sorted(self._log_urls())
        in_parallel(lambda name: self.download_file(name, os.path.join(folder, name)), names)
        return [os.path.join(folder, name) for name in names]

    def download_logs(self, destination: Optional[str] = None) -> List[str]:
        """As get_all_logs(). Example: `run.download_logs("./logs-of-run")`"""
        return self.get_all_logs(destination)

    def _read_text(self, name: str) -> str:
        return read_all(self._api, self._path("files", "content"), {"path": name}).decode("utf-8", "replace")

    # --- source

    def get_snapshot_id(self) -> str:
        """The digest of the source folder. Example: `run.get_snapshot_id()`"""
        found = self._view.get("snapshot")
        if not found:
            raise UserErrorException("this run has no snapshot of a source folder")
        return str(found)

    def restore_snapshot(self, snapshot_id: Optional[str] = None, path: Optional[str] = None) -> str:
        """Write the source folder of the run as a zip; its path. Example: `run.restore_snapshot(path="snapshots")`"""
        from azureml._run.snapshots import zip_of_tree

        digest = snapshot_id or self.get_snapshot_id()
        return zip_of_tree(self._api, digest, path or os.getcwd(), self._run_id)


def clean(name: str) -> str:
    """`./outputs/x` is `outputs/x`. Example: `clean("./a//b")` is "a/b"."""
    parts = [part for part in str(name).replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts:
        raise UserErrorException("{!r} cannot be the name of a file: it steps out with '..'".format(name))
    return "/".join(parts)


def local_name(name: str, prefix: str, append_prefix: bool) -> str:
    """Where a file goes below the output folder; without the prefix's own folders when append_prefix is False."""
    if append_prefix or not prefix:
        return name
    rest = name[len(prefix) :].lstrip("/") if name.startswith(prefix) else name
    return rest or os.path.basename(name)


def blob_of_bytes(data: bytes) -> BlobSource:
    from lathe.tree import digest_of

    return BlobSource(digest_of(data), len(data), data=data)


def existing(path: Any) -> str:
    if not os.path.isfile(path):
        raise UserErrorException("there is no file {}".format(path))
    return str(path)


def existing_folder(path: str) -> str:
    if not os.path.isdir(path):
        raise UserErrorException("there is no folder {}".format(path))
    return path


def files_below(folder: str) -> List[str]:
    """The files in a folder and its folders, with `/` between names. Example: `files_below("data")`"""
    found = []
    for here, folders, names in os.walk(folder, followlinks=True):
        folders.sort()
        for name in sorted(names):
            found.append(os.path.relpath(os.path.join(here, name), folder).replace(os.sep, "/"))
    return found
