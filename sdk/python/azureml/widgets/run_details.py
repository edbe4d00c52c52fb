"""RunDetails: the status of a run and the end of its log, live in a notebook, as text elsewhere."""

import html
import threading
import time
from typing import Any

from lathe.client import TROUBLE
from lathe.errors import LatheError

from azureml._run.base import TERMINAL

TAIL = 40
EVERY = 1.0  # seconds between two pictures


class RunDetails:
    """Shows a run.

    Example: `RunDetails(run).show()`
    """

    def __init__(self, run_instance: Any) -> None:
        self.run = run_instance

    def show(self, render_lib: Any = None, widget_settings: Any = None) -> None:
        """In a notebook, an HTML table that follows the run until its end; elsewhere, lines of text.

        Example: `RunDetails(run).show()`
        """
        shell = notebook()
        if shell is None:
            print(self.text())
            return
        from IPython.display import HTML, display

        handle = display(HTML(self.html()), display_id=True)
        threading.Thread(target=self._follow, args=(handle, HTML), name="lathe-widget", daemon=True).start()

    def get_widget_data(self, widget_settings: Any = None) -> Any:
        """What is shown, as data. Example: `RunDetails(run).get_widget_data()["status"]`"""
        return {"status": self.run.get_status(), "run_id": self.run.id, "run_type": self.run.type, "log": self._tail(),
                "run_metrics": self._metrics()}  # fmt: skip

    def text(self) -> str:
        """The same for a terminal. Example: `print(RunDetails(run).text())`"""
        data = self.get_widget_data()
        lines = ["Run {} ({}): {}".format(data["run_id"], self.run.experiment.name, data["status"])]
        lines += ["  {} = {}".format(name, value) for name, value in sorted(data["run_metrics"].items())]
        return "\n".join(lines + [data["log"]]).rstrip()

    def html(self) -> str:
        """The same for a notebook. Example: `HTML(RunDetails(run).html())`"""
        data = self.get_widget_data()
        rows = [("Status", data["status"]), ("Run", data["run_id"]), ("Experiment", self.run.experiment.name)]
        rows += [(name, str(value)) for name, value in sorted(data["run_metrics"].items())]
        table = "".join("<tr><th>{}</th><td>{}</td></tr>".format(html.escape(a), html.escape(b)) for a, b in rows)
        return "<table>{}</table><pre>{}</pre>".format(table, html.escape(data["log"]))

    def _follow(self, handle: Any, make: Any) -> None:
        while self.run._view.get("status") not in TERMINAL:
            time.sleep(EVERY)
            try:
                handle.update(make(self.html()))
            except (LatheError,) + TROUBLE:
                continue

    def _tail(self) -> str:
        try:
            answer = self.run._api.send("GET", self.run._path("logs"))
        except LatheError:
            return ""
        return "\n".join(answer.body.decode("utf-8", "replace").rstrip().split("\n")[-TAIL:])

    def _metrics(self) -> Any:
        try:
            found = self.run.get_metrics()
        except LatheError:
            return {}
        return {name: value[-1] if isinstance(value, list) and value else value for name, value in found.items()}


def notebook() -> Any:
    """The shell of a notebook, or None."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    shell = get_ipython()
    return shell if shell is not None and type(shell).__name__ == "ZMQInteractiveShell" else None
