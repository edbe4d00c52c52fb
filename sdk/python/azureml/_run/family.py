"""Parents and children of a run."""

import uuid
from typing import Any, Dict, Iterator, List, Optional

from azureml._run.listing import list_children
from azureml._run.part import RunPart


class RunFamilyPart(RunPart):
    """A part of Run."""

    @property
    def parent(self) -> Any:
        """The run that this one belongs to, or None. Example: `run.parent.id`"""
        found = self._view.get("parent")
        return self._experiment.workspace.get_run(found) if found else None

    def get_children(self, recursive=False, tags=None, properties=None, type=None, status=None, _rehydrate_runs=True):
        # type: (bool, Any, Any, Optional[str], Optional[str], bool) -> Iterator[Any]
        """The children, newest first. Example: `[child.id for child in run.get_children(recursive=True)]`"""
        return list_children(self, recursive, tags, properties, type, status)

    def child_run(self, name=None, run_id=None, outputs=None):
        # type: (Optional[str], Optional[str], Any) -> Any
        """A child that this program drives and completes. Example: `with run.child_run("fold 1") as child: …`"""
        return self._make_child(name, run_id, None, outputs)

    def create_children(self, count=None, tag_key=None, tag_values=None):
        # type: (Optional[int], Optional[str], Optional[List[str]]) -> List[Any]
        """Several children at once. Example: `for child in run.create_children(count=5): child.complete()`"""
        if (count is None) == (tag_key is None):
            from azureml.exceptions import UserErrorException

            raise UserErrorException("create_children wants either count= or tag_key= with tag_values=")
        if tag_key is not None:
            return [self._make_child(None, None, {tag_key: value}, None) for value in tag_values or []]
        return [self._make_child(None, None, None, None) for _ in range(int(count or 0))]

    def _make_child(self, name, run_id, tags, outputs):
        # type: (Optional[str], Optional[str], Optional[Dict[str, Any]], Any) -> Any
        from azureml._run.interactive import interactive_body
        from azureml.core.run import Run

        body = interactive_body(self._experiment, run_id or str(uuid.uuid4()), name, tags)
        body["parent"] = self._run_id
        view = self._api.post(self._experiment.workspace._path("runs"), body)
        child = Run(self._experiment, view["id"], _view=view)
        if outputs is not None:
            from azureml._run.interactive import OutputsTracker

            child._outputs_tracker = OutputsTracker(outputs)
        return child

    def submit_child(self, config: Any, tags: Optional[Dict[str, str]] = None, **kwargs: Any) -> Any:
        """Start a script as a child of this run. Example: `run.submit_child(ScriptRunConfig("src", "fold.py"))`"""
        from azureml._submit import submit

        return submit(self._experiment, config, tags, kwargs, parent=self._run_id)
