"""config.json: found as the documents say, and written with our own part, {"lathe": {"server", "token_file"}}."""

import json
import os
from typing import Any, Dict, Iterator, Optional

from azureml.exceptions import UserErrorException

FOLDERS = ("", ".azureml", "aml_config")


def find(path: Optional[str], file_name: Optional[str]) -> Dict[str, Any]:
    """The nearest config.json with a workspace's name. Example: `find(None, None)["workspace_name"]`"""
    if path is not None and os.path.isfile(path):
        return read(path) or refuse(path, "names no workspace")
    start = os.path.abspath(path or os.getcwd())
    if path is not None and not os.path.isdir(start):
        refuse(path, "does not exist")
    for file in candidates(start, file_name or "config.json"):
        config = read(file)
        if config:
            return config
    return refuse(start, "has no {} of a workspace, nor has a parent".format(file_name or "config.json"))


def candidates(start: str, name: str) -> Iterator[str]:
    folder = start
    while True:
        for inner in FOLDERS:
            yield os.path.join(folder, inner, name)
        if os.path.dirname(folder) == folder:
            return
        folder = os.path.dirname(folder)


def read(file: str) -> Optional[Dict[str, Any]]:
    """A config.json of this user or of root: it decides where a token goes, so a stranger's file does not speak."""
    try:
        if os.stat(file).st_uid not in (os.geteuid(), 0):
            return None
        with open(file, "rb") as text:
            config = json.loads(text.read().decode("utf-8-sig"))
    except (OSError, ValueError):
        return None
    return config if isinstance(config, dict) and config.get("workspace_name") else None


def refuse(where: str, why: str) -> Any:
    raise UserErrorException(
        "{} {}\nhint: in a terminal: lathe workspace init NAME writes .azureml/config.json; or Workspace.create(NAME, "
        "exist_ok=True).write_config()".format(where, why)
    )


def write(workspace: Any, path: Optional[str], file_name: Optional[str]) -> None:
    folder = os.path.join(path or os.getcwd(), "" if path and path.rstrip("/").endswith(".azureml") else ".azureml")
    os.makedirs(folder, exist_ok=True)
    server = workspace._api.server
    config = {
        "subscription_id": workspace.subscription_id,
        "resource_group": workspace.resource_group,
        "workspace_name": workspace.name,
        "lathe": {"server": server.url(), "token_file": server.token_file or os.path.join(server.state, "token")},
    }
    target = os.path.join(folder, file_name or "config.json")
    with open(target + ".new", "w") as file:
        json.dump(config, file, indent=2)
        file.write("\n")
    os.replace(target + ".new", target)
