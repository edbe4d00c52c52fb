"""Experiment: a name under which runs gather."""

import re
from typing import Any, Dict, Iterator, Optional

from lathe.errors import NotFound

from azureml._internal.later import not_yet
from azureml._internal.show import html_table
from azureml.exceptions import UserErrorException

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")


class Experiment:
    """Runs of one kind.

    Example:

        exp = Experiment(workspace=ws, name="mnist")
        run = exp.submit(ScriptRunConfig(source_directory="src", script="train.py"))
        for run in exp.get_runs():
            print(run.id, run.status)
    """

    def __init__(self, workspace: Any, name: str, _skip_name_validation: bool = False, **kwargs: Any) -> None:
        if kwargs:
            raise TypeError("Experiment() got unexpected arguments: {}".format(", ".join(sorted(kwargs))))
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise UserErrorException(
                "{!r} cannot be the name of an experiment: it begins with a letter or digit and holds letters, digits, "
                "'_', '-' and '.'".format(name)
            )
        self._workspace, self._name = workspace, name

    workspace = property(lambda self: self._workspace, doc="Its workspace.")
    name = property(lambda self: self._name, doc="Its name.")
    tags = property(lambda self: {})

    @property
    def id(self) -> str:
        import uuid

        return str(uuid.uuid5(uuid.NAMESPACE_URL, self._workspace._workspace_id + "/experiments/" + self._name))

    def submit(self, config: Any, tags: Optional[Dict[str, str]] = None, **kwargs: Any) -> Any:
        """Start a run and return at once. Example: `run = exp.submit(src, tags={"try": "1"})`"""
        from azureml._submit import submit

        return submit(self, config, tags, kwargs)

    def start_logging(self, *args: Any, **kwargs: Any) -> Any:
        """A run that this program drives itself: log, upload, complete().

        Example:

            with exp.start_logging() as run:
                run.log("accuracy", 0.9)
        """
        from azureml._run.interactive import start_logging

        return start_logging(self, *args, **kwargs)

    def get_runs(self, type=None, tags=None, properties=None, include_children=False):
        # type: (Optional[str], Any, Any, bool) -> Iterator[Any]
        """The runs, newest first, fetched as they are asked for. Example: `next(exp.get_runs(tags={"try": "1"}))`"""
        from azureml._run.listing import list_runs

        return list_runs(self._workspace, self, type, tags, properties, include_children)

    @staticmethod
    def list(workspace, experiment_name=None, view_type="ActiveOnly", tags=None):
        # type: (Any, Optional[str], str, Any) -> Any
        """The experiments of a workspace. Example: `[exp.name for exp in Experiment.list(ws)]`"""
        if experiment_name is None:
            return list(workspace.experiments.values())
        try:
            workspace._api.get(workspace._path("experiments", experiment_name))
        except NotFound:
            return []
        return [Experiment(workspace, experiment_name)]

    def get_portal_url(self) -> str:
        """The address of its page. Example: `exp.get_portal_url()`"""
        return "{}/experiments/{}?wsid={}".format(self._workspace.discovery_url, self._name, self._workspace._arm_id)

    def get_docs_url(self) -> str:
        """Where its server is. Example: `exp.get_docs_url()`"""
        return self._workspace.discovery_url

    def archive(self) -> None:
        """Not offered yet: runs are archived one by one (`lathe run archive`)."""
        raise not_yet("archiving experiments", "Experiment.archive")

    def __repr__(self) -> str:
        return "Experiment(Name: {},\nWorkspace: {})".format(self._name, self._workspace.name)

    def _repr_html_(self) -> str:
        pairs = [("Name", self._name), ("Workspace", self._workspace.name), ("Report Page", self.get_portal_url())]
        return html_table(pairs, ("Report Page",))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Experiment) and (self._name, self._workspace) == (other._name, other._workspace)

    def __hash__(self) -> int:
        return hash(self._name)
