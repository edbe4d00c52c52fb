"""Metrics of a run. Logging writes one line into a journal that others deliver: it never waits for the server, and
trouble is a warning, never the end of a script.
"""

import os
import time
import warnings
from typing import Any, Dict, List, Optional

from lathe.metric_values import record_line, wire_value

from azureml._run.part import RunPart
from azureml.exceptions import UserErrorException

_warned = set()  # type: ignore


class RunMetricsPart(RunPart):
    """A part of Run."""

    def log(self, name: str, value: Any, description: str = "", step: Optional[int] = None) -> None:
        """Log a number or text; again and again it becomes a list. Example: `run.log("accuracy", 0.9)`"""
        self._log("scalar", name, value, description, step)

    def log_list(self, name: str, value: List[Any], description: str = "") -> None:
        """Log a list of values. Example: `run.log_list("accuracies", [0.6, 0.7])`"""
        self._log("list", name, list(value), description)

    def log_row(self, name: str, description: Optional[str] = None, **kwargs: Any) -> None:
        """Log a row of a table, column by column. Example: `run.log_row("Y over X", x=1, y=0.4)`"""
        self._log("row", name, kwargs, description or "")

    def log_table(self, name: str, value: Dict[str, Any], description: str = "") -> None:
        """Log a table as columns. Example: `run.log_table("Y over X", {"x": [1, 2], "y": [0.6, 0.7]})`"""
        if not isinstance(value, dict):
            raise UserErrorException("log_table wants a dict of columns, not a {}".format(type(value).__name__))
        self._log("table", name, value, description)

    def log_image(self, name, path=None, plot=None, description=""):
        # type: (str, Optional[str], Any, str) -> None
        """Log an image: a file, or what matplotlib.pyplot shows now. Example: `run.log_image("ROC", plot=plt)`"""
        from azureml._run.images import image_file

        if (path is None) == (plot is None):
            raise UserErrorException("log_image wants either path= or plot=")
        with image_file(path, plot) as (file, suffix):
            self._log_file("image", name, "{}_{}{}".format(name, int(time.time()), suffix), file, description)

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        """Log a confusion matrix. Example: `run.log_confusion_matrix("cm", matrix)`"""
        self._log_json("confusion_matrix", name, value, description)

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        """Log an accuracy table. Example: `run.log_accuracy_table("table", table)`"""
        self._log_json("accuracy_table", name, value, description)

    def log_predictions(self, name: str, value: Any, description: str = "") -> None:
        """Log predictions. Example: `run.log_predictions("predictions", data)`"""
        self._log_json("predictions", name, value, description)

    def log_residuals(self, name: str, value: Any, description: str = "") -> None:
        """Log residuals. Example: `run.log_residuals("residuals", data)`"""
        self._log_json("residuals", name, value, description)

    def flush(self, timeout_seconds: float = 300) -> bool:
        """Wait until the server has stored what was logged; False, and a warning, when it has not in time.

        Example: `run.flush()`
        """
        if self._journal_of_run is None or self._journal_of_run.flush(timeout_seconds):
            return True
        warn("flush", "metrics of {} are not all with the server yet".format(self._run_id))
        return False

    def get_metrics(self, name=None, recursive=False, run_type=None, populate=False):
        # type: (Optional[str], bool, Optional[str], bool) -> Dict[str, Any]
        """What was logged, by name. With `recursive`, by run and then by name.

        Example: `run.get_metrics()["accuracy"]`
        """
        from azureml._run.metric_shapes import by_run, shapes

        self.flush(30)
        query = {"name": name, "recursive": True if recursive else None, "limit": 10000}
        records = self._api.items(self._path("metrics"), **query)
        if not recursive:
            return shapes(records)
        wanted = None if run_type is None else self._ids_of_type(run_type)
        return {run: found for run, found in by_run(records, self._run_id).items() if wanted is None or run in wanted}

    def _ids_of_type(self, run_type: str) -> Any:
        ids = {run.id for run in self.get_children(recursive=True, type=run_type)}
        return ids | ({self._run_id} if self.type == run_type else set())

    # --- the journal

    def _log(self, kind, name, value, description="", step=None):
        # type: (str, str, Any, Optional[str], Optional[int]) -> None
        try:
            self._journal().append(record_line(kind, str(name), value, time.time(), description, step))
        except (OSError, ValueError) as problem:
            warn("log", "the metric {!r} was not logged: {}".format(name, problem))

    def _journal(self) -> Any:
        if self._journal_of_run is None:
            self._journal_of_run = self._make_journal()
        return self._journal_of_run

    def _make_journal(self) -> Any:
        folder = os.environ.get("LATHE_METRICS_DIR")
        if folder and os.environ.get("AZUREML_RUN_ID") == self._run_id and os.path.isdir(folder):
            from lathe.journal import Journal

            return Journal(folder)
        from lathe.shipping import ShippedJournal

        return ShippedJournal(self._api, self._path("metrics"))

    def _log_file(self, kind, name, artifact, file, description):
        # type: (str, str, str, Any, str) -> None
        from azureml.exceptions import AzureMLException

        try:
            self.upload_file(artifact, file)
        except (AzureMLException, OSError) as problem:
            warn("log_" + kind, "{!r} was not logged: {}".format(name, problem))
            return
        self._log(kind, name, "aml://artifactId/ExperimentRun/dcid.{}/{}".format(self._run_id, artifact), description)

    def _log_json(self, kind: str, name: str, value: Any, description: str) -> None:
        import io
        import json

        data = value if isinstance(value, str) else json.dumps(wire_value(value))
        self._log_file(kind, name, "{}_{}.json".format(name, int(time.time())), io.StringIO(data), description)


def warn(where: str, text: str) -> None:
    """Once for each kind of trouble: a loop that logs must not fill the output."""
    if where not in _warned:
        _warned.add(where)
        warnings.warn(text, UserWarning, stacklevel=4)
