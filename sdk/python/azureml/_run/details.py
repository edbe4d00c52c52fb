"""get_details() in the documented shape."""

import urllib.parse
from typing import Any, Dict, List, Mapping

from azureml._run.part import RunPart


class RunDetailsPart(RunPart):
    """A part of Run."""

    def get_details(self) -> Dict[str, Any]:
        """Everything about the run as data. Example: `run.get_details()["runDefinition"]["arguments"]`"""
        self._view = self._fetch()
        view = self._view
        details = {
            "runId": self._run_id,
            "target": view.get("compute") or "local",
            "status": view["status"],
            "startTimeUtc": view.get("started"),
            "endTimeUtc": view.get("ended"),
            "services": {},
            "properties": properties_of(view),
            "inputDatasets": input_datasets_of(view),
            "outputDatasets": output_datasets_of(view),
            "runDefinition": definition_of(view),
            "logFiles": self._log_urls(),
            "submittedBy": view.get("submitted_by"),
        }  # type: Dict[str, Any]
        if not view.get("ended"):
            details.pop("endTimeUtc")
        if view.get("error"):
            details["error"] = {"error": error_of(view["error"])}
        if view.get("notes"):
            details["warnings"] = [{"source": "lathe", "message": note} for note in view["notes"]]
        return details

    def get_details_with_logs(self) -> Dict[str, Any]:
        """As get_details(), with the text of each log in `logFiles`.

        Example: `run.get_details_with_logs()["logFiles"]`
        """
        details = self.get_details()
        details["logFiles"] = {name: self._read_text(name) for name in details["logFiles"]}
        return details

    def _log_urls(self) -> Dict[str, str]:
        base = self._experiment.workspace.discovery_url
        urls = {}
        for file in self._api.items(self._path("files"), limit=500):
            if file["kind"] == "log" or file["path"].startswith(("logs/", "azureml-logs/", "user_logs/")):
                query = urllib.parse.urlencode({"path": file["path"]})
                urls[file["path"]] = "{}{}?{}".format(base, self._path("files", "content"), query)
        return urls

    def get_environment(self) -> Any:
        """The environment of the run. Example: `run.get_environment().name`"""
        from azureml.core.environment import Environment

        self._view = self._fetch()
        told = definition_of(self._view).get("environment") or {}
        env = Environment(told.get("name"))
        env._load(told)
        env.name, env.version = told.get("name"), told.get("version")
        return env

    def get_submitted_run(self, **_: Any) -> Any:
        """The run itself. Example: `Run.get_context().get_submitted_run().id`"""
        return self

    @property
    def input_datasets(self) -> Mapping[str, Any]:
        """What the run reads: inside it the paths (or, in direct mode, the datasets) by name. Example:
        `run.input_datasets["mnist"]`"""
        from azureml._run.inputs import InputDatasets

        return InputDatasets(self)


def properties_of(view: Dict[str, Any]) -> Dict[str, str]:
    properties = dict(view.get("properties") or {})
    if view.get("snapshot"):
        properties.setdefault("ContentSnapshotId", view["snapshot"])
    return properties


def definition_of(view: Dict[str, Any]) -> Dict[str, Any]:
    """What the SDK submitted; for a run of the command line, what can be said of it."""
    if view.get("definition"):
        return dict(view["definition"])
    return {"script": view.get("script"), "command": " ".join(view.get("command") or []),
            "arguments": view.get("arguments"), "target": view.get("compute"), "nodeCount": view.get("node_count"),
            "framework": "Python", "environment": dict(view.get("environment") or {})}  # fmt: skip


def error_of(error: Dict[str, Any]) -> Dict[str, Any]:
    code = error.get("code") or "UserError"
    told = {
        "code": "UserError" if code == "script-failed" else code,
        "message": error.get("message") or "",
        "details": [],
    }  # type: Dict[str, Any]
    if error.get("details"):
        told["details"] = [{"message": error["details"]}]
    return told


def input_datasets_of(view: Dict[str, Any]) -> List[Dict[str, Any]]:
    """The datasets that the run reads, with the digest of what it really read where the server recorded it."""
    found = []
    for name, told in sorted((view.get("inputs") or {}).items()):
        if not told.get("dataset"):
            continue
        mode = {"mount": "Mount", "download": "Download", "direct": "Direct"}.get(told.get("mode"), told.get("mode"))
        found.append({"dataset": {"id": told["dataset"]}, "digest": told.get("tree") or told.get("digest"),
                      "consumptionDetails": {"type": "RunInput", "inputName": name, "mechanism": mode,
                                             "pathOnCompute": told.get("path_on_compute")}})  # fmt: skip
    return found


def output_datasets_of(view: Dict[str, Any]) -> List[Dict[str, Any]]:
    found = []
    for name, told in sorted((view.get("outputs") or {}).items()):
        found.append({"identifier": {"datastore": told.get("datastore"), "path": told.get("path")},
                      "outputType": "RunOutput", "outputDetails": {"outputName": name}})  # fmt: skip
    return found
