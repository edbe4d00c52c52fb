"""The end of a run: complete, fail, cancel, wait."""

from typing import Any, Dict, Optional

from lathe.errors import Conflict

from azureml._run.base import TERMINAL
from azureml._run.part import RunPart


class RunLifecyclePart(RunPart):
    """A part of Run."""

    def complete(self, _set_status: bool = True) -> None:
        """End a run of start_logging() or child_run() well. Example: `run.complete()`"""
        self._deliver()
        if self._is_own_script():
            return  # the runner ends it when the script is over
        try:
            self._view = self._api.post(self._path("complete"))
        except Conflict:
            self._view = self._fetch()
            if self._view["status"] not in TERMINAL and self._view.get("kind") == "interactive":
                raise

    def fail(self, error_details=None, error_code=None, _set_status=True):
        # type: (Any, Optional[str], bool) -> None
        """End it as failed. A script that calls it on its own run is ended by it; a submitted run of another script is canceled.

        Example: `run.fail("the data is wrong")`
        """
        self._deliver()
        if self._is_own_script():
            raise SystemExit("run.fail: {}".format(error_details or "the script gave up"))
        body = {"message": None if error_details is None else str(error_details), "error_code": error_code}
        try:
            self._view = self._api.post(self._path("fail"), {key: value for key, value in body.items() if value})
        except Conflict:
            if self.get_status() not in TERMINAL:
                self.cancel()

    def cancel(self) -> None:
        """Stop it with all its processes. Example: `run.cancel()`"""
        self._view = self._api.post(self._path("cancel"))

    def wait_for_completion(self, show_output=False, wait_post_processing=False, raise_on_error=True):
        # type: (bool, bool, bool) -> Dict[str, Any]
        """Wait for the end, with the output as it comes; get_details() of then. Ctrl-C leaves the run alone.

        Example: `run.wait_for_completion(show_output=True)`
        """
        from azureml._run.streaming import wait

        return wait(self, show_output, raise_on_error)

    def _deliver(self) -> None:
        if self._outputs_tracker is not None:
            self._outputs_tracker.upload(self)
        if not self._is_own_script():  # of which the runner delivers everything before it reports the end
            self.flush()

    def _is_own_script(self) -> bool:
        import os

        return os.environ.get("AZUREML_RUN_ID") == self._run_id and self._view.get("kind") != "interactive"

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, problem: Any, _trace: Any) -> None:
        if kind is None:
            self.complete()
        elif not self._is_own_script():
            self.fail("{}: {}".format(kind.__name__, problem))
