"""What clients of a load do beside runs: tags, metrics, artifacts, datasets, models. Each deed can be repeated until it is
answered, because the client makes the ids; each has a check that finds it again."""

import collections
import json
import uuid

from .blobs import digest
from .registry import put_files, save_dataset, send

MODEL = "load"  # one name for all clients: its versions must be numbered without gaps
LATE = [{"name": "late", "kind": "scalar", "value": number, "time": 1.5} for number in range(3)]


def set_tag(client, run):
    client.request("PATCH", client.path("runs", run, "tags"), json_body={"load": run}).expect(200)


def log_metrics(client, run):
    data = b"".join(json.dumps(record).encode() + b"\n" for record in LATE)
    query = {"source": "client", "offset": 0}
    client.request("POST", client.path("runs", run, "metrics"), query=query, body=data).expect(200)


def add_artifact(client, run):
    data = content(run)
    send(client, data)
    files = [{"path": "added.txt", "digest": digest(data), "size": len(data), "executable": False}]
    client.post(client.path("runs", run, "artifacts"), {"artifacts": files}).expect(204)


def register_dataset(client, run):
    put_files(client, "workspaceblobstore", {f"load/{run}": content(run)}, overwrite=True)
    saved = save_dataset(client, {"datastore": "workspaceblobstore", "path": f"load/{run}"})
    body = {"id": saved, "create_new_version": True}
    client.post(client.path("datasets", run, "versions"), body).expect(200, 201)


def register_model(client, run):
    data = content(run)
    send(client, data)
    body = {"id": model_id(run), "name": MODEL, "blob": digest(data), "file_name": "weights"}
    client.post(client.path("models"), body).expect(200, 201)


def content(run):
    return b"content of " + run.encode()


def model_id(run):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, run))


DEEDS = {
    "tag": set_tag,
    "metrics": log_metrics,
    "artifact": add_artifact,
    "dataset": register_dataset,
    "model": register_model,
}


def check_deeds(client, acknowledged):
    """Every deed among these rows of the ledger is stored, whole and once. Returns how many there are of each."""
    models = check_model_numbers(client) if any(row["action"] == "model" for row in acknowledged) else {}
    for row in acknowledged:
        if row["action"] in DEEDS:
            found = find(client, row["run"], row["action"], models)
            assert found, f"{row['action']} of {row['run']} was acknowledged and is lost"
    return dict(collections.Counter(row["action"] for row in acknowledged if row["action"] in DEEDS))


def find(client, run, deed, models):
    if deed == "tag":
        return client.run(run)["tags"].get("load") == run
    if deed == "metrics":
        return list(client.items(client.path("runs", run, "metrics"), name="late")) == LATE
    if deed == "artifact":
        return client.file(run, "added.txt").expect(200).body == content(run)
    if deed == "dataset":
        version = client.get(client.path("datasets", run)).expect(200).json()
        place = client.path("datastores", "workspaceblobstore", "files", "content")
        file = client.request("GET", place, query={"path": f"load/{run}"}).expect(200).body
        return version["version"] == 1 and file == content(run)
    return model_id(run) in models


def check_model_numbers(client):
    """Versions are dense from 1, and none was given twice. {id: version}"""
    found = list(client.items(client.path("models"), name=MODEL, limit=500))
    numbers = sorted(model["version"] for model in found)
    assert numbers == list(range(1, len(numbers) + 1)), f"versions of the model: {numbers}"
    ids = {model["id"]: model["version"] for model in found}
    assert len(ids) == len(found), "one registration has two versions"
    return ids
