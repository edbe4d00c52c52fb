"""Builds of environments: what env.build(workspace) gives, and what an environment became."""

import sys
from typing import Any, Dict, List, Optional

from azureml._run.log_copy import LogCopy, say
from azureml.exceptions import ActivityFailedException, UserErrorException

OVER = ("ready", "failed")
# The words that scripts compare.
STATUS = {"waiting": "Queued", "locking": "Running", "building": "Running", "ready": "Succeeded", "failed": "Failed"}


class ImageBuildDetails:
    """A build of an environment on the server.

    Example:

        build = env.build(ws)
        build.wait_for_completion(show_output=True)
        print(build.status, build.substitutions)
    """

    def __init__(self, workspace: Any, view: Dict[str, Any]) -> None:
        self._workspace, self._view = workspace, view

    id = property(lambda self: self._view["id"])
    environment_name = property(lambda self: self._view.get("environment"))
    environment_version = property(lambda self: self._view.get("version"))

    @property
    def status(self) -> str:
        """Queued, Running, Succeeded or Failed, as it stands now. Example: `env.build(ws).status`"""
        if self._view["state"] not in OVER:
            self._refresh()
        return STATUS[self._view["state"]]

    @property
    def lock(self) -> Optional[str]:
        """The digest of its lock, as soon as it is known. Example: `build.lock`"""
        return self._view.get("lock")

    @property
    def substitutions(self) -> List[Dict[str, str]]:
        """What was given instead of what was asked for, with the reason. Example: `build.substitutions[0]["why"]`"""
        return list(self._view.get("substitutions") or [])

    @property
    def log_url(self) -> str:
        """The address of its log. Example: `build.log_url`"""
        return self._workspace.discovery_url + self._path("log")

    def wait_for_completion(self, show_output: bool = True) -> "ImageBuildDetails":
        """Until it is over; its log is shown as it comes. A build that fails raises ActivityFailedException.

        Example: `env.build(ws).wait_for_completion(show_output=True)`
        """
        out = sys.stdout if show_output else None
        if out:
            say(out, "Image Build Status: {}\n".format(self.status))
        LogCopy(self._workspace._api, self._path("log"), out).until_over()
        self._refresh()
        if out:
            say(out, "\nImage Build Status: {}".format(STATUS[self._view["state"]]))
        if self._view["state"] == "failed":
            raise failure(self._view)
        return self

    def cancel(self) -> None:
        """Give it up; runs that wait for it fail. Example: `build.cancel()`"""
        self._view = self._workspace._api.post(self._path("cancel"))

    def _path(self, *parts: str) -> str:
        return str(self._workspace._path("environment-builds", str(self.id), *parts))

    def _refresh(self) -> None:
        self._view = self._workspace._api.get(self._path())

    def __repr__(self) -> str:
        return "ImageBuildDetails(id={}, environment={!r}, status={})".format(
            self.id, self.environment_name, STATUS[self._view["state"]]
        )


class DockerImageDetails:
    """What an environment became: its lock, and every replacement with its reason.

    Example: `print(env.get_image_details(ws))`
    """

    def __init__(self, told: Dict[str, Any], lock: Dict[str, Any]) -> None:
        self._told, self.lock = told, lock
        self.substitutions = list(told.get("substitutions") or [])
        image = lock.get("image") or {}
        self.image, self.digest = image.get("reference"), image.get("digest")
        self.ready = bool(told.get("ready"))

    def __repr__(self) -> str:
        return str(self._told.get("text") or "")


def start_build(workspace: Any, env: Any) -> ImageBuildDetails:
    """Registers what has a name, so that the build is found by it; the same work asked for twice is one build."""
    from azureml._submit.environment import check_unchanged, is_curated

    api = workspace._api
    if env.name is None:
        path, body = workspace._path("environment-builds"), {"definition": env._definition()}
    elif is_curated(env.name):
        check_unchanged(workspace, env)
        path, body = workspace._path("environments", env.name, "builds"), {}
    else:
        version = env.register(workspace).version
        path, body = workspace._path("environments", env.name, "builds"), {"version": version}
    return ImageBuildDetails(workspace, api.post(path, body))


def details_of(workspace: Any, env: Any) -> DockerImageDetails:
    name, version = env.name, env.version
    if not name:
        raise UserErrorException("an environment without a name is not known to the server\nhint: env.register(ws)")
    told = workspace._api.get(workspace._path("environments", name, "explain"), version=version)
    if not told.get("lock"):
        raise UserErrorException("the environment {!r} was not built yet\nhint: env.build(workspace)".format(name))
    lock = workspace._api.get(workspace._path("environments", name, "lock"), version=version)
    return DockerImageDetails(told, lock)


def failure(view: Dict[str, Any]) -> ActivityFailedException:
    error = view.get("error") or {}
    text = "the environment could not be built: {}".format(error.get("message") or "its log says why")
    if error.get("hint"):
        text += "\nhint: {}".format(error["hint"])
    return ActivityFailedException(text, error_details={"error": error})
