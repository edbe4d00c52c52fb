"""Registering models: from a run's files, from a datastore, or from this machine. Bytes are shared wherever they lie."""

import os
import uuid
import warnings
from typing import Any, Dict, List, Optional

from lathe.parallel import in_parallel
from lathe.snapshot import hash_file
from lathe.tree import TreeEntry, check_links, digest_of, encode_tree
from lathe.uploads import BlobSource, source_of_file, upload_blobs

from azureml._run.files import clean, files_below
from azureml.exceptions import ModelPathNotFoundException, UserErrorException


def register_from_run(run: Any, name: str, path: Optional[str], **told: Any) -> Any:
    """A file or folder of a run; without a path, the file or folder `outputs/NAME`, else `outputs`."""
    if path is None:
        names = run.get_file_names()
        own = "outputs/" + name
        path = own if any(file == own or file.startswith(own + "/") for file in names) else "outputs"
    return post(run.experiment.workspace, name, {"run": run.id, "path": clean(path)}, told)


def register_from_anywhere(workspace: Any, name: str, path: Any, child_paths: Optional[List[str]], **told: Any) -> Any:
    """`path` is a file or folder here, or a path in a datastore."""
    from azureml.data.data_reference import DataReference
    from azureml.data.datapath import DataPath

    if isinstance(path, (DataReference, DataPath)):
        store = path.datastore if isinstance(path, DataReference) else path._datastore
        return post(workspace, name, {"datastore": store.name, "path": clean(path.path_on_datastore or "")}, told)
    if isinstance(path, tuple):
        return post(workspace, name, {"datastore": path[0].name, "path": clean(path[1])}, told)
    if os.path.isfile(path):
        blob = source_of_file(path)
        upload_blobs(workspace._api, [blob])
        return post(workspace, name, {"blob": blob.digest, "file_name": os.path.basename(path)}, told)
    if os.path.isdir(path):
        return post(workspace, name, {"tree": upload_folder(workspace._api, path, child_paths)}, told)
    raise ModelPathNotFoundException("there is neither a file nor a folder {}".format(path))


def upload_folder(api: Any, path: str, child_paths: Optional[List[str]]) -> str:
    """All files below a folder as a tree that keeps the folder's own name; the tree's digest."""
    base = os.path.basename(os.path.abspath(path))
    names = files_below(path)
    if child_paths:
        wanted = [clean(child) for child in child_paths]
        names = [name for name in names if any(name == w or name.startswith(w + "/") for w in wanted)]
    if not names:
        raise ModelPathNotFoundException("the folder {} holds no files".format(path))
    files = [os.path.join(path, name) for name in names]
    hashed = in_parallel(lambda file: hash_file(os.fsencode(file)), files)
    entries = [TreeEntry("{}/{}".format(base, name).encode("utf-8"), digest, size, os.access(file, os.X_OK), b"")
               for name, file, (digest, size) in zip(names, files, hashed)]  # fmt: skip
    check_links(entries)
    manifest = encode_tree(entries)
    blobs = [BlobSource(digest, size, path=file) for file, (digest, size) in zip(files, hashed)]
    upload_blobs(api, blobs + [BlobSource(digest_of(manifest), len(manifest), data=manifest)])
    return digest_of(manifest)


def post(workspace: Any, name: str, where: Dict[str, Any], told: Dict[str, Any]) -> Any:
    from azureml.core.model import Model

    body = {
        "id": str(uuid.uuid4()),
        "name": name,
        "tags": texts(told.get("tags")),
        "properties": texts(told.get("properties")),
        "framework": told.get("framework"),
        "framework_version": told.get("framework_version"),
        "description": told.get("description"),
        "datasets": datasets_of(workspace, told.get("datasets")),
        "sample_input_dataset": saved(workspace, told.get("sample_input_dataset")),
        "sample_output_dataset": saved(workspace, told.get("sample_output_dataset")),
        "resource_configuration": resources_of(told.get("resource_configuration")),
    }
    body.update(where)
    view = workspace._api.post(
        workspace._path("models"), {key: value for key, value in body.items() if value is not None}
    )
    for warning in view.get("warnings") or []:
        warnings.warn("model {}: {}".format(name, warning), UserWarning, stacklevel=4)
    return Model._of_view(workspace, view)


def texts(values: Optional[Dict[str, Any]]) -> Optional[Dict[str, str]]:
    return None if values is None else {str(key): str(value) for key, value in values.items()}


def resources_of(resources: Any) -> Optional[Dict[str, Any]]:
    if resources is None:
        return None
    found = {"cpu": resources.cpu, "memory_in_gb": resources.memory_in_gb, "gpu": resources.gpu}
    return {key: value for key, value in found.items() if value is not None}


def saved(workspace: Any, dataset: Any) -> Optional[str]:
    return None if dataset is None else str(dataset._save(workspace))


def datasets_of(workspace: Any, datasets: Any) -> Optional[List[Dict[str, Any]]]:
    """Pairs (purpose, dataset), as `datasets=[("training", ds)]`."""
    if datasets is None:
        return None
    found = []
    for pair in datasets:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise UserErrorException("datasets= is a list of pairs (purpose, dataset)")
        found.append({"name": str(pair[0]), "id": saved(workspace, pair[1])})
    return found
