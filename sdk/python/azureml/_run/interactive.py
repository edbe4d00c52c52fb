"""Runs that a program drives itself: start_logging and child_run."""

import os
import uuid
from typing import Any, Dict, List, Optional, Tuple

from azureml._internal.unused import unused

FOLDERS = ("outputs", "logs")


def start_logging(experiment, *args, outputs=None, snapshot_directory=".", display_name=None, tags=None, **kwargs):
    # type: (Any, Any, Any, Optional[str], Optional[str], Any, Any) -> Any
    """Make a run that is Running at once; see Experiment.start_logging."""
    from azureml.core.run import Run

    run_id = kwargs.pop("run_id", None) or str(uuid.uuid4())
    unused("Experiment.start_logging", **kwargs)
    body = interactive_body(experiment, run_id, display_name, tags)
    workspace = experiment.workspace
    if snapshot_directory is not None:
        from azureml._submit.source import git_properties, upload_source

        body["snapshot"] = upload_source(workspace._api, snapshot_directory)
        body["properties"] = git_properties(snapshot_directory)
    view = workspace._api.post(workspace._path("runs"), body)
    run = Run(experiment, view["id"], _view=view)
    run._outputs_tracker = OutputsTracker(outputs)
    return run


def interactive_body(experiment: Any, run_id: str, name: Optional[str], tags: Any) -> Dict[str, Any]:
    body = {"id": run_id, "experiment": experiment.name, "kind": "interactive"}  # type: Dict[str, Any]
    if name:
        body["display_name"] = name
    if tags:
        body["tags"] = {str(key): None if value is None else str(value) for key, value in tags.items()}
    return body


class OutputsTracker:
    """Remembers what was in ./outputs and ./logs at the start; at the end what is new or changed belongs to the run."""

    def __init__(self, outputs: Any) -> None:
        given = [outputs] if isinstance(outputs, str) else list(outputs or FOLDERS)
        self.folders = [(os.path.basename(os.path.normpath(name)), os.path.abspath(name)) for name in given]
        for _, folder in self.folders:
            os.makedirs(folder, exist_ok=True)
        self.before = {path: stamp for path, _, stamp in self._look()}

    def upload(self, run: Any) -> None:
        """Send what changed; again after that only what changed since."""
        changed = [(path, name, stamp) for path, name, stamp in self._look() if self.before.get(path) != stamp]
        if changed:
            run.upload_files([name for _, name, _ in changed], [path for path, _, _ in changed])
            self.before.update({path: stamp for path, _, stamp in changed})

    def _look(self) -> List[Tuple[str, str, Any]]:
        from azureml._run.files import files_below

        found = []
        for name, folder in self.folders:
            for file in files_below(folder):
                path = os.path.join(folder, file)
                try:
                    info = os.stat(path)
                except OSError:
                    continue
                found.append((path, "{}/{}".format(name, file), (info.st_mtime_ns, info.st_size, info.st_ino)))
        return found
