"""Lists of runs with filters, newest first, page by page."""

from typing import Any, Dict, Iterator, Optional


def list_runs(workspace, experiment, run_type, tags, properties, include_children):
    # type: (Any, Any, Optional[str], Any, Any, bool) -> Iterator[Any]
    """The runs of an experiment."""
    from azureml.core.run import Run

    query = filters(run_type, tags, properties)
    query["experiment"] = experiment.name
    for view in workspace._api.items(workspace._path("runs"), **query):
        if (include_children or not view.get("parent")) and fits(view, tags, properties):
            yield Run(experiment, view["id"], _view=view)


def list_children(run, recursive, tags, properties, run_type, status):
    # type: (Any, bool, Any, Any, Optional[str], Optional[str]) -> Iterator[Any]
    """The children of a run, or all its descendants."""
    from azureml.core.run import Run

    query = filters(run_type, tags, properties)
    query.update({"parent": run.id, "recursive": True if recursive else None, "status": status})
    workspace = run.experiment.workspace
    for view in workspace._api.items(workspace._path("runs"), **query):
        if fits(view, tags, properties):
            yield Run(run.experiment, view["id"], _view=view)


def filters(run_type: Optional[str], tags: Any, properties: Any) -> Dict[str, Any]:
    """The server filters by one tag and one property; the rest is looked at here."""
    return {"run_type": run_type, "tag": first_of(tags), "property": first_of(properties), "limit": 100}


def first_of(wanted: Any) -> Optional[str]:
    if not wanted:
        return None
    if isinstance(wanted, str):
        return wanted
    key = sorted(wanted)[0]
    value = wanted[key] if isinstance(wanted, dict) else None
    return key if value is None else "{}={}".format(key, value)


def fits(view: Dict[str, Any], tags: Any, properties: Any) -> bool:
    return has_all(view.get("tags"), tags) and has_all(view.get("properties"), properties)


def has_all(found: Optional[Dict[str, Any]], wanted: Any) -> bool:
    if not wanted or found is None:  # lists do not show properties; the server looked at the first one
        return True
    if isinstance(wanted, str):
        return wanted in found
    if not isinstance(wanted, dict):
        return all(key in found for key in wanted)
    return all(key in found and (value is None or found[key] == str(value)) for key, value in wanted.items())
