"""Datastores: the three of every workspace, folders of the machine, definitions of cloud stores, and their files."""

import os
import secrets

import pytest

from harness.blobs import digest
from harness.registry import put_files, send

BUILTIN = ["workspaceartifactstore", "workspaceblobstore", "workspacefilestore"]


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    return tmp_path_factory.mktemp("roots")


@pytest.fixture(scope="module")
def server(binary, roots):
    from harness.server import Server

    with Server(config={"datastores": {"roots": [str(roots)]}}) as server:
        yield server.prepare()


@pytest.fixture
def store(client):
    name = "s" + secrets.token_hex(6)
    client.put(client.path("datastores", name), {"kind": "store"}).expect(201)
    return name


def listed(client, datastore, **query):
    return [file["path"] for file in client.items(client.path("datastores", datastore, "files"), **query)]


def content(client, datastore, path, **headers):
    return client.request(
        "GET", client.path("datastores", datastore, "files", "content"), query={"path": path}, headers=headers
    )


def test_every_workspace_has_three_without_asking(client):
    client.put("/api/v1/workspaces/other").expect(200, 201)
    for workspace in ("default", "other"):
        items = client.get(f"/api/v1/workspaces/{workspace}/datastores").expect(200).json()["items"]
        assert [item["name"] for item in items if item["is_builtin"]] == BUILTIN
        assert [item["name"] for item in items if item["is_default"]] == ["workspaceblobstore"]
    assert client.get(client.path("datastores", "workspacefilestore")).json()["type"] == "AzureFile"
    for name in BUILTIN:
        client.delete(client.path("datastores", name)).expect(409)
        client.put(client.path("datastores", name), {"kind": "store"}).expect(409)
    client.get(client.path("datastores", "absent")).expect(404)


def test_the_default_is_chosen_and_falls_back_when_it_is_gone(client, store):
    client.put(client.path("default-datastore"), {"name": "absent"}).expect(404)
    assert client.put(client.path("default-datastore"), {"name": store}).expect(200).json()["is_default"]
    assert client.get(client.path("default-datastore")).expect(200).json()["name"] == store
    client.delete(client.path("datastores", store)).expect(204)
    assert client.get(client.path("default-datastore")).json()["name"] == "workspaceblobstore"


def test_files_are_listed_in_order_read_back_and_removed(client, store):
    deep = "/".join(["ä" * 127 + "b"] * 3)
    files = {"b/2": b"two", "b/1": b"one", "a": b"", "b-c": b"x", deep: b"deep", "empty/0": b""}
    assert put_files(client, store, files)["skipped"] == []
    assert listed(client, store, limit=2) == sorted(files)
    assert listed(client, store, prefix="b/") == ["b/1", "b/2"]
    for path, data in files.items():
        assert content(client, store, path).expect(200).body == data
    assert content(client, store, "b/2", Range="bytes=1-").expect(206).body == b"wo"
    content(client, store, "absent").expect(404)
    removed = client.request("DELETE", client.path("datastores", store, "files"), query={"prefix": "b/"})
    assert removed.expect(200).json() == {"removed": 2}
    client.request("DELETE", client.path("datastores", store, "files")).expect(400)
    assert listed(client, store) == sorted(set(files) - {"b/1", "b/2"})


def test_a_file_is_overwritten_only_when_asked(client, store):
    put_files(client, store, {"a": b"one"})
    assert put_files(client, store, {"a": b"two", "b": b"new"}) == {"written": ["b"], "skipped": ["a"]}
    assert content(client, store, "a").body == b"one"
    assert put_files(client, store, {"a": b"two"}, overwrite=True) == {"written": ["a"], "skipped": []}
    assert content(client, store, "a").body == b"two"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../b", "a//b", ".", "a/\n", "x" * 256, ""])
def test_a_name_that_is_no_file_of_the_store_is_refused(client, store, path):
    (name,) = send(client, b"data")
    body = {"files": [{"path": path, "digest": name, "size": 4}]}
    assert client.post(client.path("datastores", store, "files"), body).expect(400).json()["field"]


def test_a_file_without_its_blob_is_refused(client, store):
    body = {"files": [{"path": "a", "digest": digest(secrets.token_bytes(9)), "size": 9}]}
    assert client.post(client.path("datastores", store, "files"), body).expect(400).json()["hint"]
    (name,) = send(client, b"data")
    body = {"files": [{"path": "a", "digest": name, "size": 5}]}
    client.post(client.path("datastores", store, "files"), body).expect(400)
    assert listed(client, store) == []


def test_what_a_datastore_names_is_no_garbage(client, store):
    data = secrets.token_bytes(100)
    put_files(client, store, {"kept": data})
    report = client.post("/api/v1/store/gc", {"dry_run": True}).expect(200).json()
    assert report["reachable_blobs"] >= 1 and report["missing"] == []
    client.get(f"/api/v1/blobs/{digest(data)}").expect(200)


def test_a_folder_of_the_machine_is_read_in_place(client, roots):
    folder = roots / "images"
    (folder / "sub" / "deep").mkdir(parents=True)
    contents = {"a.txt": b"a", "sub/b.txt": b"bb", "sub/deep/ü.txt": b"", "sub-c": b"c"}
    for path, data in contents.items():
        (folder / path).write_bytes(data)
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "out").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    name = client.put(client.path("datastores", "images"), {"kind": "local", "path": f"{folder}/"}).expect(201).json()
    assert name["path"] == str(folder) and not name["writable"]
    assert listed(client, "images", limit=1) == sorted(contents)
    assert listed(client, "images", prefix="sub/") == ["sub/b.txt", "sub/deep/ü.txt"]
    for path, data in contents.items():
        assert content(client, "images", path).expect(200).body == data
    for path in ("link", "out/passwd", "pipe", "sub"):
        content(client, "images", path).expect(404)
    (blob,) = send(client, b"new")
    body = {"files": [{"path": "new", "digest": blob, "size": 3}]}
    client.post(client.path("datastores", "images", "files"), body).expect(409)


def test_a_writable_folder_takes_files_and_never_leaves_itself(client, roots):
    folder = roots / "writable"
    folder.mkdir()
    outside = roots / "outside"
    outside.mkdir()
    (folder / "escape").symlink_to(outside)
    client.put(client.path("datastores", "writable"), {"kind": "local", "path": str(folder), "writable": True}).expect(
        201
    )
    assert put_files(client, "writable", {"x/y/z": b"data"}) == {"written": ["x/y/z"], "skipped": []}
    assert (folder / "x/y/z").read_bytes() == b"data"
    assert put_files(client, "writable", {"x/y/z": b"other"}) == {"written": [], "skipped": ["x/y/z"]}
    put_files(client, "writable", {"x/y/z": b"other"}, overwrite=True)
    assert (folder / "x/y/z").read_bytes() == b"other"
    (blob,) = send(client, b"bad")
    body = {"files": [{"path": "escape/bad", "digest": blob, "size": 3}]}
    client.post(client.path("datastores", "writable", "files"), body).expect(404)
    assert list(outside.iterdir()) == []


def test_a_folder_outside_the_roots_or_by_anybody_but_an_administrator_is_refused(server, client, roots):
    def put(who, path):
        return who.put(who.path("datastores", "evil"), {"kind": "local", "path": path})

    for path in ("/etc", f"{roots}/../..", str(roots.parent), f"{roots}x"):
        put(client, path).expect(403)
    put(client, "relative").expect(400)
    put(client, f"{roots}/absent").expect(404)
    for role in ("contributor", "operator"):
        token = client.post("/api/v1/tokens", {"name": role, "role": role}).expect(201).json()["token"]
        assert "admin" in put(client.with_token(token), str(roots)).expect(403).json()["message"]
    client.get(client.path("datastores", "evil")).expect(404)


def test_a_cloud_store_is_a_definition_without_its_credentials(client):
    definition = {
        "account_name": "a",
        "container_name": "c",
        "account_key": "secret",
        "nested": {"sas_token": "secret"},
    }
    body = {"kind": "cloud", "type": "AzureBlob", "definition": definition}
    made = client.put(client.path("datastores", "azure"), body).expect(201).json()
    assert made["definition"] == {"account_name": "a", "container_name": "c", "nested": {}}
    refused = client.get(client.path("datastores", "azure", "files")).expect(501).json()
    assert "object stores" in refused["hint"]


def test_a_hundred_thousand_files(client, store):
    (blob,) = send(client, b"same")
    paths = [f"{i // 1000:03}/{i:06}" for i in range(100_000)]
    for start in range(0, len(paths), 10_000):
        files = [{"path": path, "digest": blob, "size": 4} for path in paths[start : start + 10_000]]
        client.post(client.path("datastores", store, "files"), {"files": files}).expect(200)
    assert listed(client, store, limit=500) == paths
