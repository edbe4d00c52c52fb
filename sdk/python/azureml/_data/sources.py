"""What `path=` of a dataset may be, as sources of its definition."""

from typing import Any, Dict, List, Optional, Tuple

from azureml.data.abstract_datastore import AbstractDatastore
from azureml.data.data_reference import DataReference
from azureml.data.datapath import DataPath
from azureml.exceptions import UserErrorException


def sources_of(path: Any) -> Tuple[List[Dict[str, str]], Optional[Any]]:
    """(sources, the workspace of their datastores or None). Example: `sources_of("https://host/a.csv")`"""
    if isinstance(path, list):
        found, workspace = [], None  # type: List[Dict[str, str]], Optional[Any]
        for item in path:
            more, its = sources_of(item)
            found += more
            workspace = workspace or its
        if not found:
            raise UserErrorException("a dataset needs at least one path")
        return found, workspace
    if isinstance(path, str):
        return [{"url": url_of(path)}], None
    if isinstance(path, tuple) and len(path) == 2 and isinstance(path[0], AbstractDatastore):
        paths = path[1] if isinstance(path[1], (list, tuple)) else [path[1]]
        return [source(path[0], item) for item in paths], path[0].workspace
    if isinstance(path, DataPath):
        path._settle()
        return [source(path._datastore, path.path_on_datastore)], path._datastore.workspace
    if isinstance(path, DataReference):
        return [source(path.datastore, path.path_on_datastore)], path.datastore.workspace
    if isinstance(path, AbstractDatastore):
        return [source(path, "")], path.workspace
    raise UserErrorException(
        "a dataset cannot be made from a {}\nhint: URLs, (datastore, 'path'), DataPath, DataReference and lists of them "
        "can".format(type(path).__name__)
    )


def source(datastore: AbstractDatastore, path: Optional[str]) -> Dict[str, str]:
    return {"datastore": datastore.name, "path": str(path or "").lstrip("/")}


def url_of(path: str) -> str:
    if path.startswith(("http://", "https://")):
        return path
    raise UserErrorException(
        "{!r} is neither a URL nor a path in a datastore\nhint: Dataset.File.upload_directory(src_dir, (datastore, 'path')) "
        "sends local files first".format(path)
    )


def check_urls(sources: List[Dict[str, str]]) -> None:
    """Ask for the head of each URL. What says that it is not there is an error; no network here is not, because the server
    fetches with its own."""
    import urllib.error
    import urllib.request

    from azureml.exceptions import DatasetValidationError

    for told in sources:
        if "url" not in told:
            continue
        request = urllib.request.Request(told["url"], method="HEAD")
        try:
            urllib.request.urlopen(request, timeout=10).close()
        except urllib.error.HTTPError as problem:
            if problem.code in (404, 410):
                raise DatasetValidationError(
                    "{} was answered with {}: {}".format(told["url"], problem.code, problem.reason)
                )
        except (OSError, ValueError):
            continue
