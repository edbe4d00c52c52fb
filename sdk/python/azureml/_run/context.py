"""Run.get_context(): the run that this process belongs to, told by its environment, or an offline one."""

import os
import uuid
from typing import Any, Dict, Optional

from azureml.core.run import Run
from azureml.exceptions import RunEnvironmentException

_current = {}  # type: Dict[Any, Any]


def context(allow_offline: bool) -> Any:
    """One object per run and process, so that metrics of all callers share a journal."""
    run_id = os.environ.get("AZUREML_RUN_ID")
    if not run_id:
        if not allow_offline:
            raise RunEnvironmentException(
                "this is not inside a submitted run\nhint: Run.get_context(allow_offline=True) gives one that logs to the screen"
            )
        run_id = "offline"
    key = (os.getpid(), run_id)
    if key not in _current:
        _current[key] = _OfflineRun() if run_id == "offline" else _SubmittedRun(run_id)
    return _current[key]


class _SubmittedRun(Run):
    """The run that this script is. Nothing is asked of the server until it is needed: logging works without it."""

    def __init__(self, run_id: str) -> None:
        self._asked = None  # type: Optional[Dict[str, Any]]
        self._run_id = run_id
        self._journal_of_run = None
        self._outputs_tracker = None
        self._lazy_experiment = None  # type: Any

    @property
    def _view(self) -> Dict[str, Any]:
        if self._asked is None:
            self._asked = self._fetch()
        return self._asked

    @_view.setter
    def _view(self, value: Dict[str, Any]) -> None:
        self._asked = value

    @property
    def _experiment(self) -> Any:
        if self._lazy_experiment is None:
            from azureml.core.experiment import Experiment
            from azureml.core.workspace import Workspace

            env = os.environ
            workspace = Workspace(
                env.get("AZUREML_ARM_SUBSCRIPTION"),
                env.get("AZUREML_ARM_RESOURCEGROUP"),
                env["AZUREML_ARM_WORKSPACE_NAME"],
            )
            self._lazy_experiment = Experiment(workspace, env["AZUREML_ARM_PROJECT_NAME"])
        return self._lazy_experiment

    def _is_own_script(self) -> bool:
        return True


class _OfflineRun:
    """Prints what would be logged; everything else does nothing, so that a script works on a desk, too.

    Example: `Run.get_context().log("accuracy", 0.9)` prints "Attempted to log scalar metric accuracy:\\n0.9".
    """

    type = "OfflineRun"
    status = "Running"
    experiment = None
    parent = None
    input_datasets = {}  # type: Dict[str, Any]

    def __init__(self) -> None:
        self.id = "OfflineRun_" + str(uuid.uuid4())
        self.run_id = self.id
        self.tags, self.properties, self._metrics = {}, {}, {}  # type: Any, Any, Any

    def _show(self, kind: str, name: str, value: Any) -> None:
        print("Attempted to log {} metric {}:\n{}".format(kind, name, value), flush=True)
        self._metrics.setdefault(name, []).append(value)

    def log(self, name: str, value: Any, description: str = "", step: Any = None) -> None:
        """Print it."""
        self._show("scalar", name, value)

    def log_list(self, name: str, value: Any, description: str = "") -> None:
        """Print it."""
        self._show("list", name, value)

    def log_row(self, name: str, description: Any = None, **kwargs: Any) -> None:
        """Print it."""
        self._show("row", name, kwargs)

    def log_table(self, name: str, value: Any, description: str = "") -> None:
        """Print it."""
        self._show("table", name, value)

    def log_image(self, name: str, path: Any = None, plot: Any = None, description: str = "") -> None:
        """Print it."""
        self._show("image", name, path or plot)

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        """Print it."""
        self._show("confusion matrix", name, value)

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        """Print it."""
        self._show("accuracy table", name, value)

    def get_metrics(self, name: Optional[str] = None, **_: Any) -> Dict[str, Any]:
        """What was printed so far."""
        found = {key: values[0] if len(values) == 1 else list(values) for key, values in self._metrics.items()}
        return found if name is None else {key: value for key, value in found.items() if key == name}

    def tag(self, key: str, value: Any = None) -> None:
        self.tags[key] = value

    def set_tags(self, tags: Dict[str, Any]) -> None:
        self.tags.update(tags)

    def get_tags(self) -> Dict[str, Any]:
        return dict(self.tags)

    def add_properties(self, properties: Dict[str, Any]) -> None:
        self.properties.update(properties)

    def get_properties(self) -> Dict[str, Any]:
        return dict(self.properties)

    def get_status(self) -> str:
        return self.status

    def child_run(self, name: Any = None, run_id: Any = None, outputs: Any = None) -> "_OfflineRun":
        return _OfflineRun()

    def create_children(self, count: int = 0, tag_key: Any = None, tag_values: Any = None) -> Any:
        return [_OfflineRun() for _ in (tag_values or range(count or 0))]

    def get_children(self, **_: Any) -> Any:
        return iter(())

    def get_file_names(self) -> Any:
        return []

    def upload_file(self, name: str, path_or_stream: Any, **_: Any) -> None:
        print("Attempted to upload {}".format(name), flush=True)

    def upload_folder(self, name: str, path: str, **_: Any) -> None:
        print("Attempted to upload folder {}".format(name), flush=True)

    def get_secret(self, name: str) -> Any:
        raise RunEnvironmentException("an offline run has no secrets\nhint: ws.get_default_keyvault().get_secret(name)")

    def flush(self, timeout_seconds: float = 300) -> bool:
        return True

    def complete(self, **_: Any) -> None:
        self.status = "Completed"

    def fail(self, *_args: Any, **_kwargs: Any) -> None:
        self.status = "Failed"

    def cancel(self) -> None:
        self.status = "Canceled"

    def __enter__(self) -> "_OfflineRun":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def __repr__(self) -> str:
        return "Run(Experiment: None,\nId: {},\nType: {},\nStatus: {})".format(self.id, self.type, self.status)
