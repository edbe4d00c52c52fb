"""The identity of a run and what the server says about it: status, tags, properties."""

from typing import Any, Dict, Optional

from azureml._internal.show import html_table

TERMINAL = ("Completed", "Failed", "Canceled")


class RunBase:
    """A part of Run. `_view` is what the server said last."""

    def __init__(self, experiment: Any, run_id: str, _view: Optional[Dict[str, Any]] = None) -> None:
        self._experiment, self._run_id = experiment, str(run_id)
        self._journal_of_run = None  # type: Any
        self._outputs_tracker = None  # type: Any
        self._view = _view if _view is not None else self._fetch()

    def _fetch(self) -> Dict[str, Any]:
        return dict(self._api.get(self._path()))

    def _path(self, *parts: str) -> str:
        return str(self._experiment.workspace._path("runs", self._run_id, *parts))

    @property
    def _api(self) -> Any:
        return self._experiment.workspace._api

    def _fresh(self) -> Dict[str, Any]:
        """The run as it is now; one that is over does not change its state any more."""
        if self._view.get("status") not in TERMINAL:
            self._view = self._fetch()
        return self._view

    # --- identity

    id = property(lambda self: self._run_id, doc="The id of the run. Example: `run.id`")
    run_id = id
    experiment = property(lambda self: self._experiment, doc="Its experiment. Example: `run.experiment.name`")
    type = property(lambda self: self._view.get("run_type") or None, doc="For example `azureml.scriptrun`.")
    number = property(lambda self: self._view.get("sequence"))
    name = property(lambda self: self._view.get("display_name") or self._run_id)
    display_name = property(lambda self: self._view.get("display_name") or self._run_id)
    description = property(lambda self: "")
    submitted_by = property(lambda self: self._view.get("submitted_by"))

    # --- state

    def get_status(self) -> str:
        """The state now. Example: `run.get_status()` is "Completed"."""
        return str(self._fresh()["status"])

    status = property(lambda self: self.get_status(), doc="As get_status().")

    def get_tags(self) -> Dict[str, Any]:
        """The tags as they are now. Example: `run.get_tags()["try"]`"""
        self._view = self._fetch()
        return dict(self._view.get("tags") or {})

    tags = property(lambda self: self.get_tags())

    def tag(self, key: str, value: Optional[str] = None) -> None:
        """Set a tag; without a value it is None. Example: `run.tag("reviewed")`"""
        self.set_tags({key: value})

    def set_tags(self, tags: Dict[str, Any]) -> None:
        """Set several tags. Example: `run.set_tags({"a": "1", "b": "2"})`"""
        wanted = {str(key): None if value is None else text_of(value) for key, value in tags.items()}
        if wanted:
            self._view = self._api.patch(self._path("tags"), wanted, null_removes=False)

    def remove_tags(self, tags: Any) -> Dict[str, Any]:
        """Remove tags; those that were there. Example: `run.remove_tags(["a"])`"""
        names = [tags] if isinstance(tags, str) else list(tags)
        before = self.get_tags()
        removed = {name: before[name] for name in names if name in before}
        if removed:
            self._view = self._api.patch(self._path("tags"), {name: None for name in removed})
        return removed

    def get_properties(self) -> Dict[str, str]:
        """The properties, which never change once they are set.

        Example: `run.get_properties()["azureml.git.commit"]`
        """
        from azureml._run.details import properties_of

        self._view = self._fetch()
        return properties_of(self._view)

    properties = property(lambda self: self.get_properties())

    def add_properties(self, properties: Dict[str, Any]) -> None:
        """Add properties; a second value for one raises. Example: `run.add_properties({"author": "ann"})`"""
        body = {"set": {str(key): text_of(value) for key, value in properties.items()}}
        self._view = self._api.patch(self._path("properties"), body)

    # --- for people

    def get_portal_url(self) -> str:
        """The address of its page. Example: `print(run.get_portal_url())`"""
        ws = self._experiment.workspace
        return "{}/experiments/{}/runs/{}?wsid=/subscriptions/{}/resourcegroups/{}/workspaces/{}".format(
            ws.discovery_url, self._experiment.name, self._run_id, ws.subscription_id, ws.resource_group, ws.name
        )

    def __repr__(self) -> str:
        return "Run(Experiment: {},\nId: {},\nType: {},\nStatus: {})".format(
            self._experiment.name, self._run_id, self.type, self.get_status()
        )

    def _repr_html_(self) -> str:
        pairs = [("Experiment", self._experiment.name), ("Id", self._run_id), ("Type", str(self.type)),
                 ("Status", self.get_status()), ("Details Page", self.get_portal_url()),
                 ("Docs Page", self._experiment.get_docs_url())]  # fmt: skip
        return html_table(pairs, ("Details Page", "Docs Page"))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, RunBase) and self._run_id == other._run_id

    def __hash__(self) -> int:
        return hash(self._run_id)


def text_of(value: Any) -> str:
    """Tags and properties are text; what is not becomes JSON."""
    import json

    if isinstance(value, str):
        return value
    return json.dumps(value, default=str)
