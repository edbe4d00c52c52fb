"""wait_for_completion: the states and the output of a run as they come, across restarts of the server."""

import sys
from typing import Any, Dict, Optional

from lathe.errors import LatheError
from lathe.events import events_of_run

from azureml._run.base import TERMINAL
from azureml._run.log_copy import LogCopy, say
from azureml.exceptions import ActivityFailedException

LAST_LINES = 20
RULE = "="
BUILD_LOG = "azureml-logs/20_image_build_log.txt"


def wait(run: Any, show_output: bool, raise_on_error: bool) -> Dict[str, Any]:
    """Until the run is over; its details. The run itself is not touched when this is interrupted."""
    out = sys.stdout if show_output else None
    if out:
        say(out, "RunId: {}\nWeb View: {}\n".format(run.id, run.get_portal_url()))
    follow(run, out)
    details = run.get_details()
    if out:
        say(out, "\nExecution Summary\n{}".format(RULE * len("Execution Summary")))
        say(out, "RunId: {}\nWeb View: {}\n".format(run.id, run.get_portal_url()))
        for warning in details.get("warnings") or []:
            say(out, "Warning: {}".format(warning["message"]))
    if details["status"] == "Failed" and raise_on_error:
        raise failure(run, details)
    return dict(details)


def follow(run: Any, out: Any) -> None:
    """Read events until the run is over; while it runs, its log."""
    log = LogFollower(run, out) if out else None
    workspace = run.experiment.workspace
    run._view = run._fetch()
    told = None  # type: Optional[str]
    for event in events_of_run(workspace._api, workspace.name, run.id):
        if event.get("kind") not in ("state", "environment"):
            continue
        run._view = run._fetch()
        status = run._view["status"]
        if log:
            log.follow_build()
        if out and status == "Queued":
            told = say_why_it_waits(out, run._view, told)
        if log and status in ("Running", "Finalizing") + TERMINAL:
            log.follow()
        if status in TERMINAL:
            return


def say_why_it_waits(out: Any, view: Dict[str, Any], told: Optional[str]) -> Optional[str]:
    """The documents' stage *Scaling*: nodes are not there yet, or others are before it."""
    reason = (view.get("waiting") or {}).get("reason")
    if reason and reason != told:
        say(out, "Scaling: {}".format(reason))
    return reason or told


class LogFollower:
    """Shows the logs of a run: that of the build of its environment, then the main log of each attempt."""

    def __init__(self, run: Any, out: Any) -> None:
        self.run, self.out = run, out
        self.build, self.attempt, self.begun = 0, 0, False
        self.copy = None  # type: Optional[LogCopy]

    def follow_build(self) -> None:
        """What the run waits for while it is Preparing: the build of its environment. Nothing for a cached one."""
        build = int((self.run._view.get("environment") or {}).get("build") or 0)
        if not build or build == self.build:
            return
        self.build = build
        self.title(BUILD_LOG)
        workspace = self.run.experiment.workspace
        LogCopy(self.run._api, workspace._path("environment-builds", str(build), "log"), self.out).until_over()
        say(self.out, "")

    def follow(self) -> None:
        """Until the attempt is over."""
        attempt = self.run._view.get("attempt") or 0
        if not attempt or self.run._view.get("kind") == "interactive":
            return
        if self.copy is None or attempt != self.attempt:
            self.attempt = attempt
            self.copy = LogCopy(self.run._api, self.run._path("logs"), self.out, attempt=attempt)
        if not self.begun:
            self.begun = True
            self.title(self.run._view.get("log") or "azureml-logs/70_driver_log.txt")
        self.copy.until_over()

    def title(self, name: str) -> None:
        title = "Streaming {}".format(name)
        say(self.out, "{}\n{}\n".format(title, RULE * len(title)))


def failure(run: Any, details: Dict[str, Any]) -> ActivityFailedException:
    """The exception for a failed run, with the end of what its script said."""
    error = details.get("error", {}).get("error", {})
    text = "ActivityFailedException: {}".format(error.get("message") or "the run failed")
    last = last_lines(run)
    if last:
        text += "\n--- the last lines of {}:\n{}".format(run._view.get("log"), last)
    return ActivityFailedException(text, error_details=details.get("error"))


def last_lines(run: Any) -> str:
    try:
        answer = run._api.send("GET", run._path("logs"))
    except LatheError:
        return ""
    return "\n".join(answer.body.decode("utf-8", "replace").rstrip().split("\n")[-LAST_LINES:])
