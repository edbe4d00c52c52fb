"""The shapes in which metrics come back: logged once, a value; repeatedly, a list; rows and tables, columns."""

from typing import Any, Dict, Iterable

from lathe.journal import GAP_KIND
from lathe.metric_values import python_value


def shapes(records: Iterable[Dict[str, Any]]) -> Dict[str, Any]:
    """Metrics by name. Example: `shapes([{"name": "a", "kind": "scalar", "value": 1}])` is {"a": 1}."""
    found, seen = {}, {}  # type: Dict[str, Any], Dict[str, int]
    for record in records:
        name, value, kind = record["name"], python_value(record["value"]), record["kind"]
        if kind == GAP_KIND:
            continue  # it stands for records that a full disk has cost, and is a note of the run
        seen[name] = seen.get(name, 0) + 1
        if kind in ("row", "table") and isinstance(value, dict):
            add_columns(found, name, value, kind)
        elif kind == "list" and isinstance(value, list):
            found[name] = (as_list(found[name]) if name in found else []) + value
        elif seen[name] == 1:
            found[name] = value
        else:
            found[name] = as_list(found[name]) if seen[name] > 2 else [found[name]]
            found[name].append(value)
    return found


def by_run(records: Iterable[Dict[str, Any]], own: str) -> Dict[str, Dict[str, Any]]:
    groups = {}  # type: Dict[str, Any]
    for record in records:
        groups.setdefault(record.get("run") or own, []).append(record)
    return {run: shapes(group) for run, group in groups.items()}


def add_columns(found: Dict[str, Any], name: str, row: Dict[str, Any], kind: str) -> None:
    """A row alone has values; with a second one, or from a table, its columns are lists."""
    if not isinstance(found.get(name), dict):
        found[name] = {key: as_list(value) if kind == "table" else value for key, value in row.items()}
        return
    for key, value in row.items():
        before = found[name].get(key)
        if key not in found[name]:
            found[name][key] = as_list(value) if kind == "table" else value
        else:
            found[name][key] = as_list(before) + (as_list(value) if kind == "table" else [value])


def as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]
