"""Everything that a server shows of a workspace, as one value: what was stored before a fault can be compared with what is
shown after it. An error counts as such, under its code: it is told, so nobody takes it for content."""

import http.client
import json

# What depends on the moment at which it is asked.
PASSING = {"nodes", "last_used", "queue"}


class Told(str):
    """Stands in the place of content that the server has refused to show, with the reason."""


def contents(client):
    """{place: content, or Told}"""
    found = {}
    for place in ("computes", "datasets", "models", "experiments", "environments", "secrets", "datastores"):
        found[place] = collect(client, client.path(place))
    found["audit"] = without_looking(collect(client, "/api/v1/audit"))
    found["runs"] = collect(client, client.path("runs"))
    runs = [] if isinstance(found["runs"], Told) else [run["id"] for run in found["runs"]]
    for run in runs:
        found |= run_contents(client, run)
    datasets = [] if isinstance(found["datasets"], Told) else [row["name"] for row in found["datasets"]]
    for name in datasets:
        found[f"versions of {name}"] = collect(client, client.path("datasets", name, "versions"))
    files = client.path("datastores", "workspaceblobstore", "files")
    found["datastore"] = collect(client, files)
    for file in [] if isinstance(found["datastore"], Told) else found["datastore"]:
        found[f"file {file['path']}"] = ask(client, f"{files}/content", path=file["path"])
    found["secret"] = ask(client, client.path("secrets", "kept"))
    return found


def without_looking(audit):
    """Reading a secret leaves a row of its own."""
    return audit if isinstance(audit, Told) else [row for row in audit if row["action"] != "secret.get"]


def run_contents(client, run):
    place = client.path("runs", run)
    found = {f"run {run}": ask(client, place), f"log of {run}": ask(client, f"{place}/logs")}
    for part in ("events", "metrics", "files"):
        found[f"{part} of {run}"] = collect(client, f"{place}/{part}")
    files = found[f"files of {run}"]
    for file in [] if isinstance(files, Told) else files:
        found[f"{file['path']} of {run}"] = ask(client, f"{place}/files/content", path=file["path"])
    return found


def collect(client, path):
    """All items of a list."""
    items, cursor = [], None
    while True:
        page = ask(client, path, limit=500, **({"cursor": cursor} if cursor else {}))
        if isinstance(page, Told):
            return page
        items += page["items"]
        cursor = page.get("next")
        if cursor is None:
            return items


def ask(client, place, **query):
    try:
        answer = client.request("GET", place, query=query)
    except (OSError, http.client.HTTPException) as broken:
        return Told(f"broken off: {broken!r}")
    if answer.status != 200:
        return Told(f"{answer.status} {answer.body[:200]!r}")
    if "json" not in answer.headers.get("content-type", ""):
        return answer.body.hex()
    return without_passing(json.loads(answer.body))


def without_passing(value):
    if isinstance(value, dict):
        return {name: without_passing(each) for name, each in value.items() if name not in PASSING}
    return [without_passing(each) for each in value] if isinstance(value, list) else value


def differences(before, after):
    """Places whose content is another one now, or gone without a word. What the server refuses to show is none."""
    return {
        place: (content, after.get(place, "absent"))
        for place, content in before.items()
        if not is_same(place, content, after) and not is_told(place, after)
    }


def is_same(place, content, after):
    """The audit may have grown: a server that starts says so there when its token is another one."""
    found = after.get(place, "absent")
    if place == "audit" and isinstance(found, list):
        return all(row in found for row in content)
    return found == content


def is_told(place, after):
    """It is refused itself, or belongs to a list that is."""
    if isinstance(after.get(place), Told):
        return True
    of = place.rpartition(" of ")[2]
    lists = [f"files of {of}", "runs", "datasets", "datastore"]
    return place not in after and any(isinstance(after.get(each), Told) for each in lists)
