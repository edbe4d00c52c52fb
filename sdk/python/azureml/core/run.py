"""Run: one execution of a script, or of code that a program drives itself."""

from typing import Any, Dict, Iterator, Optional

from lathe.lazy import export as _export

from azureml._run.base import RunBase
from azureml._run.details import RunDetailsPart
from azureml._run.family import RunFamilyPart
from azureml._run.files import RunFilesPart
from azureml._run.lifecycle import RunLifecyclePart
from azureml._run.metrics import RunMetricsPart
from azureml._run.models import RunModelsPart

RUNNING_STATES = ("NotStarted", "Starting", "Provisioning", "Preparing", "Queued", "Running", "Finalizing",
                  "CancelRequested", "NotResponding")  # fmt: skip


class Run(RunMetricsPart, RunFilesPart, RunDetailsPart, RunFamilyPart, RunLifecyclePart, RunModelsPart, RunBase):
    """A run.

    Example:

        run = Run.get_context()          # inside a script
        run.log("accuracy", 0.9)

        run = Run(experiment, run_id)    # elsewhere
        print(run.get_metrics())
    """

    def __init__(
        self, experiment: Any, run_id: str, outputs: Any = None, _view: Optional[Dict[str, Any]] = None
    ) -> None:
        RunBase.__init__(self, experiment, run_id, _view)

    @classmethod
    def get_context(cls, allow_offline: bool = True, used_for_context_manager: bool = False, **kwargs: Any) -> Any:
        """The run that this script is; outside of one, an object that prints what is logged.

        Example: `Run.get_context().log("accuracy", 0.9)`
        """
        if kwargs:
            raise TypeError("get_context() got unexpected arguments: {}".format(", ".join(sorted(kwargs))))
        from azureml._run.context import context

        return context(allow_offline)

    @staticmethod
    def get(workspace: Any, run_id: str) -> "Run":
        """A run by its id. Example: `Run.get(ws, "mnist_1550603179_109029bb")`"""
        from azureml.core.experiment import Experiment

        view = workspace._api.get(workspace._path("runs", run_id))
        return Run(Experiment(workspace, view["experiment"]), run_id, _view=view)

    @staticmethod
    def list(experiment, type=None, tags=None, properties=None, status=None, include_children=False):
        # type: (Any, Any, Any, Any, Any, bool) -> Iterator[Run]
        """The runs of an experiment, newest first. Example: `next(Run.list(exp))`"""
        found = experiment.get_runs(type=type, tags=tags, properties=properties, include_children=include_children)
        return (run for run in found if status is None or run._view["status"] == status)


def get_run(experiment: Any, run_id: str, rehydrate: bool = True, clean_up: bool = True) -> Run:
    """A run of an experiment by its id. Example: `get_run(exp, run_id)`"""
    return Run(experiment, run_id)


__all__ = ["Run", "get_run", "RUNNING_STATES"]
_export(__name__, {"_OfflineRun": "azureml._run.context", "_SubmittedRun": "azureml._run.context"})
