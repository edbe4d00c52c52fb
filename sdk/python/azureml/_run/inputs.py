"""run.input_datasets: what a run reads, by name."""

import os
from collections.abc import Mapping
from typing import Any, Iterator


class InputDatasets(Mapping):
    """Inside the run, a path for what was mounted or downloaded; elsewhere, and in direct mode, the dataset.

    Example: `run.input_datasets["mnist"]`
    """

    def __init__(self, run: Any) -> None:
        self._run = run
        self._inside = os.environ.get("AZUREML_RUN_ID") == run.id

    def _inputs(self) -> Any:
        from azureml._run.details import definition_of

        view = self._run._fresh()
        return view.get("inputs") or definition_of(view).get("data") or {}

    def __getitem__(self, name: str) -> Any:
        told = self._inputs().get(name)
        path = os.environ.get("AZUREML_DATAREFERENCE_" + name) or os.environ.get(name)
        if self._inside and path and (told is None or mode_of(told) != "direct"):
            return path
        if told is None:
            raise KeyError(name)
        from azureml.core.dataset import Dataset

        return Dataset.get_by_id(self._run.experiment.workspace, dataset_id_of(told))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._inputs()))

    def __len__(self) -> int:
        return len(self._inputs())


def mode_of(told: Any) -> str:
    return str(told.get("mode") or told.get("mechanism") or "mount").lower()


def dataset_id_of(told: Any) -> str:
    return str(told.get("dataset") or told["dataLocation"]["dataset"]["id"])
