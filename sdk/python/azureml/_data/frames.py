"""Rows of a tabular dataset as a pandas DataFrame."""

import os
import random
import shutil
import tempfile
from typing import Any, Dict, List

from azureml._data.time_series import rows_in_time
from azureml.exceptions import UserErrorException


def read_frame(dataset: Any, workspace: Any) -> Any:
    """Fetch the files, read each, put them together, apply the steps in order."""
    pandas = need("pandas")
    from azureml._data.materialize import materialize
    from azureml._data.trees import entries_of, fetch_tree

    definition = dataset._definition
    folder = tempfile.mkdtemp(prefix="lathe-table-")
    try:
        tree = materialize(workspace, dataset._save(workspace))["tree"]
        files = fetch_tree(workspace._api, tree, entries_of(workspace._api, tree), folder, True)
        frames = [read_file(pandas, file, folder, definition.get("options") or {}) for file in files]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    frame = pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()
    for step in definition.get("steps") or []:
        frame = apply_step(frame, step)
    return frame


def need(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise UserErrorException("reading tables needs {0}\nhint: pip install {0}".format(name))


def read_file(pandas: Any, file: str, folder: str, options: Dict[str, Any]) -> Any:
    form = options.get("format", "delimited")
    if form == "parquet":
        need("pyarrow")
        frame = pandas.read_parquet(file)
    elif form == "json_lines":
        frame = pandas.read_json(file, lines=True)
    else:
        frame = read_delimited(pandas, file, options)
    if options.get("include_path"):
        frame.insert(0, "Path", "/" + os.path.relpath(file, folder))
    for column, kind in (options.get("set_column_types") or {}).items():
        frame[column] = converted(pandas, frame[column], kind)
    return frame


def read_delimited(pandas: Any, file: str, options: Dict[str, Any]) -> Any:
    header = None if options.get("header") == "NO_HEADERS" else 0
    kind = None if options.get("infer_column_types", True) else str
    frame = pandas.read_csv(
        file, sep=options.get("separator", ","), header=header, dtype=kind, encoding=options.get("encoding", "utf8"),
        quotechar='"',
    )  # fmt: skip
    if header is None:
        frame.columns = ["Column{}".format(number + 1) for number in range(len(frame.columns))]
    return frame


def converted(pandas: Any, column: Any, kind: str) -> Any:
    if kind == "datetime":
        return pandas.to_datetime(column, errors="coerce")
    if kind in ("float", "long"):
        return pandas.to_numeric(column, errors="coerce")
    return column.astype(str if kind == "string" else bool)


def apply_step(frame: Any, step: Dict[str, Any]) -> Any:
    ((name, told),) = step.items()
    if name == "take":
        return frame.head(told)
    if name == "skip":
        return frame.iloc[told:].reset_index(drop=True)
    if name == "keep_columns":
        return frame[told]
    if name == "drop_columns":
        return frame.drop(columns=told)
    if name == "timestamp":
        return frame
    if name == "time":
        return rows_in_time(need("pandas"), frame, told)
    if name == "sample":
        chance = random.Random(told["seed"])
        return chosen(frame, [chance.random() < told["probability"] for _ in range(len(frame))])
    if name == "split":
        chance = random.Random(told["seed"])
        first = [chance.random() < told["percentage"] for _ in range(len(frame))]
        return chosen(frame, first if told["part"] == 0 else [not mine for mine in first])
    raise UserErrorException("this version does not know the step {!r} of a table".format(name))


def chosen(frame: Any, mask: List[bool]) -> Any:
    return frame[mask].reset_index(drop=True)
