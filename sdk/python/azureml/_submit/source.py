"""The source folder of a run: its snapshot on the server, and what git knows about it."""

import os
import subprocess
from typing import Any, Dict

from lathe.errors import LatheError
from lathe.snapshot import take_snapshot
from lathe.uploads import upload_blobs

from azureml.exceptions import SnapshotException

GIT = {
    "repository_uri": ["config", "--get", "remote.origin.url"],
    "branch": ["symbolic-ref", "--short", "HEAD"],
    "commit": ["rev-parse", "HEAD"],
}
MLFLOW = {"repository_uri": "repoURL", "branch": "branch", "commit": "commit"}


def upload_source(api: Any, folder: str) -> str:
    """Send what the server lacks of a folder; the digest of its snapshot."""
    from azureml._internal.api import ApiError

    try:
        snapshot = take_snapshot(folder)
    except LatheError as problem:
        raise SnapshotException(str(problem), problem)
    try:
        known = api.post(api.path("blobs", "missing"), {"digests": [], "tree": snapshot.digest})
        if not known.get("complete"):
            upload_blobs(api, snapshot.blobs())
    except ApiError:
        raise
    except LatheError as problem:  # a file that changed meanwhile
        raise SnapshotException(str(problem), problem)
    return snapshot.digest


def git_properties(folder: str) -> Dict[str, str]:
    """Repository, branch, commit and whether it has changes; nothing where there is no git."""
    found = {}  # type: Dict[str, str]
    for name, command in GIT.items():
        text = git(folder, command)
        if text:
            found["azureml.git." + name] = without_password(text)
            found["mlflow.source.git." + MLFLOW[name]] = without_password(text)
    if "azureml.git.commit" in found:
        changes = git(folder, ["status", "--porcelain", "--untracked-files=no", "."])
        found["azureml.git.dirty"] = str(bool(changes))
    return found


def git(folder: str, command: Any) -> str:
    environment = dict(os.environ, GIT_OPTIONAL_LOCKS="0", LC_ALL="C")
    try:
        done = subprocess.run(
            ["git", "-C", folder] + command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=10,
            env=environment,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip()[:1000] if done.returncode == 0 else ""


def without_password(text: str) -> str:
    """The address of a repository may hold a token."""
    scheme, mark, rest = text.partition("://")
    return scheme + mark + rest.split("@", 1)[-1] if mark and "@" in rest.split("/", 1)[0] else text
