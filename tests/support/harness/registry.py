"""Datastores, datasets and models as tests make them."""

import uuid

from .blobs import digest, pack


def send(client, *blobs):
    """Puts blobs into the store; their digests."""
    client.request("POST", "/api/v1/blobs/pack", body=pack(*blobs)).expect(200)
    return [digest(blob) for blob in blobs]


def put_files(client, datastore, files, overwrite=False):
    """{path: bytes} as files of a datastore."""
    send(client, *set(files.values()))
    entries = [{"path": path, "digest": digest(data), "size": len(data)} for path, data in files.items()]
    body = {"files": entries, "overwrite": overwrite}
    return client.post(client.path("datastores", datastore, "files"), body).expect(200).json()


def file_definition(*sources, steps=()):
    return {"kind": "file", "sources": list(sources), "steps": list(steps), "options": {}}


def save_dataset(client, *sources, steps=()):
    answer = client.post(client.path("datasets"), {"definition": file_definition(*sources, steps=steps)})
    return answer.expect(200, 201).json()["id"]


def dataset_files(client, dataset, limit=None):
    """All files of a dataset, page by page."""
    cursor, found = None, []
    while True:
        query = {name: value for name, value in (("cursor", cursor), ("limit", limit)) if value}
        page = client.post(client.path("datasets", "by-id", dataset, "list"), query=query).expect(200).json()
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            return found


def dataset_paths(client, dataset, limit=None):
    return [file["path"] for file in dataset_files(client, dataset, limit)]


def materialize(client, dataset, timeout=60):
    return client.post(client.path("datasets", "by-id", dataset, "materialize"), timeout=timeout)


def tree_entries(client, tree):
    """{path: (digest, size)} of a manifest (docs/formats/tree.md)."""
    lines = client.get(f"/api/v1/trees/{tree}").expect(200).body.decode().splitlines()[1:]
    found = {}
    for line in lines:
        kind, name, size, path = line.split(" ", 3)
        found[path] = (name, int(size))
    return found


def register_model(client, name, **fields):
    body = {"id": str(uuid.uuid4()), "name": name} | fields
    return client.post(client.path("models"), body)
