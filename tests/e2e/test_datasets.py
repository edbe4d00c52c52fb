"""Datasets: definitions, names and versions, which files they mean, and their bytes as one tree."""

import json
import secrets
import threading

import pytest

from harness.blobs import digest
from harness.registry import (
    dataset_files,
    dataset_paths,
    file_definition,
    materialize,
    put_files,
    save_dataset,
    send,
    tree_entries,
)


@pytest.fixture(scope="module")
def server(binary, tmp_path_factory):
    from harness.server import Server

    roots = tmp_path_factory.mktemp("roots")
    with Server(config={"datastores": {"roots": [str(roots)]}}) as server:
        server.roots = roots
        yield server.prepare()


@pytest.fixture
def store(client):
    name = "s" + secrets.token_hex(6)
    client.put(client.path("datastores", name), {"kind": "store"}).expect(201)
    return name


def source(datastore, path=""):
    return {"datastore": datastore, "path": path}


def register(client, name, dataset, **fields):
    return client.post(client.path("datasets", name, "versions"), {"id": dataset} | fields)


def test_equal_definitions_have_one_id(client, store):
    first = client.post(client.path("datasets"), {"definition": file_definition(source(store, "a"))}).expect(201).json()
    again = {"definition": {"sources": [{"path": "a", "datastore": store, "url": None}], "kind": "file"}}
    assert client.post(client.path("datasets"), again).expect(200).json() == first
    assert save_dataset(client, source(store, "b")) != first["id"]
    assert client.get(client.path("datasets", "by-id", first["id"])).expect(200).json() == first
    client.get(client.path("datasets", "by-id", "00000000-0000-0000-0000-000000000000")).expect(404)
    client.get(client.path("datasets", "by-id", "not-a-uuid")).expect(400)


def test_unknown_steps_and_options_are_kept_for_the_sdk(client, store):
    definition = {
        "kind": "tabular",
        "sources": [source(store, "t/*.csv")],
        "steps": [{"keep_columns": ["a", "ü"]}, {"take": 5}],
        "options": {"header": "ALL_FILES_HAVE_SAME_HEADERS", "nested": {"x": [1, 2.5, None]}},
    }
    put_files(client, store, {f"t/{i}.csv": b"a,b\n" for i in range(7)})
    saved = client.post(client.path("datasets"), {"definition": definition}).expect(201).json()
    assert saved["definition"] == definition
    assert len(dataset_files(client, saved["id"])) == 7, "five rows are not five files"


@pytest.mark.parametrize(
    "definition",
    [
        {},
        {"kind": "file", "sources": []},
        {"kind": "other", "sources": [{"url": "http://a/"}]},
        {"kind": "file", "sources": [{"url": "ftp://a/b"}]},
        {"kind": "file", "sources": [{"url": "http://user:pw@a/b"}]},
        {"kind": "file", "sources": [{"url": "http://a/../b"}]},
        {"kind": "file", "sources": [{"url": "http://a/" + "x" * 300}]},
        {"kind": "file", "sources": [{"datastore": "workspaceblobstore", "path": "../x"}]},
        {"kind": "file", "sources": [{"datastore": "workspaceblobstore"}], "steps": [{"take": "many"}]},
        {"kind": "file", "sources": [{"datastore": "workspaceblobstore"}], "unknown": 1},
    ],
    ids=repr,
)
def test_a_wrong_definition_is_refused(client, definition):
    answer = client.post(client.path("datasets"), {"definition": definition}).expect(400)
    assert answer.error() == "invalid"


def test_a_definition_of_an_unknown_datastore_is_refused(client):
    client.post(client.path("datasets"), {"definition": file_definition(source("absent"))}).expect(404)


def test_versions_follow_definitions(client, store):
    name = "mnist dataset " + secrets.token_hex(3)
    one, two = save_dataset(client, source(store, "one")), save_dataset(client, source(store, "two"))
    first = register(client, name, one, description="d", tags={"a": "1"}).expect(201).json()
    assert (first["version"], first["latest"]) == (1, True)
    assert register(client, name, one).expect(200).json()["version"] == 1
    assert register(client, name, two).expect(409).json()["field"] == "create_new_version"
    assert register(client, name, two, create_new_version=True).expect(201).json()["version"] == 2
    assert client.get(client.path("datasets", name)).json()["version"] == 2
    assert client.get(client.path("datasets", name), version="latest").json()["id"] == two
    old = client.get(client.path("datasets", name), version=1).expect(200).json()
    assert (old["id"], old["latest"], old["description"]) == (one, False, "d")
    client.get(client.path("datasets", name), version=3).expect(404)
    client.get(client.path("datasets", name), version="newest").expect(400)
    assert [v["version"] for v in client.items(client.path("datasets", name, "versions"), limit=1)] == [2, 1]
    assert [v["version"] for v in client.items(client.path("datasets")) if v["name"] == name] == [2]
    changed = client.request(
        "PATCH",
        client.path("datasets", name),
        query={"version": 1},
        json_body={"description": "new", "tags": {"a": None, "b": "2"}},
    )
    assert changed.expect(200).json()["tags"] == {"b": "2"}
    assert client.get(client.path("datasets", name), version=2).json()["tags"] == {}
    client.delete(client.path("datasets", name)).expect(204)
    client.get(client.path("datasets", name)).expect(404)
    client.delete(client.path("datasets", name)).expect(404)
    assert client.get(client.path("datasets", "by-id", one)).expect(200), "what a run has used stays"


def test_concurrent_registrations_number_without_gaps(server, client, store):
    name, count = "many-" + secrets.token_hex(4), 32
    ids = [save_dataset(client, source(store, f"p{i}")) for i in range(count)]
    versions = []

    def work(dataset):
        versions.append(register(server.client(), name, dataset, create_new_version=True).expect(201).json()["version"])

    threads = [threading.Thread(target=work, args=(dataset,)) for dataset in ids]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(versions) == list(range(1, count + 1))


def test_a_source_is_a_file_a_folder_or_a_pattern(client, store):
    put_files(client, store, {p: p.encode() for p in ("a.csv", "d/a.csv", "d/b.txt", "d/e/c.csv", "d-x/z.csv", "dd")})

    def paths(*sources):
        return dataset_paths(client, save_dataset(client, *sources), limit=2)

    assert paths(source(store, "d")) == ["/a.csv", "/b.txt", "/e/c.csv"]
    assert paths(source(store, "./d/")) == ["/a.csv", "/b.txt", "/e/c.csv"]
    assert paths(source(store, "d/a.csv")) == ["/a.csv"]
    assert paths(source(store, "d/*.csv")) == ["/a.csv"]
    assert paths(source(store, "d/**/*.csv")) == ["/a.csv", "/e/c.csv"]
    assert paths(source(store, "**/*.csv")) == ["/a.csv", "/d-x/z.csv", "/d/a.csv", "/d/e/c.csv"]
    assert paths(source(store)) == ["/a.csv", "/d-x/z.csv", "/d/a.csv", "/d/b.txt", "/d/e/c.csv", "/dd"]
    assert paths(source(store, "absent")) == []
    # Several sources: relative to what they share, and nothing twice.
    assert paths(source(store, "d/e"), source(store, "d-x")) == ["/d/e/c.csv", "/d-x/z.csv"]
    assert paths(source(store, "d/a.csv"), source(store, "d/*")) == ["/a.csv", "/b.txt"]


def test_urls_are_listed_without_fetching(client):
    dataset = save_dataset(client, {"url": "http://192.0.2.1/a/b.gz"}, {"url": "https://example.invalid:8443/c?v=1/2"})
    files = dataset_files(client, dataset)
    assert [file["path"] for file in files] == ["/http/192.0.2.1/a/b.gz", "/https/example.invalid:8443/c?v=1_2"]
    assert files[0]["size"] is None and files[0]["source"] == {"url": "http://192.0.2.1/a/b.gz"}


def test_take_skip_sample_split_and_filter_choose_files(client, store):
    put_files(client, store, {f"f{i:03}": b"x" * i for i in range(100)})
    every = [f"/f{i:03}" for i in range(100)]

    def paths(*steps):
        dataset = save_dataset(client, source(store), steps=steps)
        whole = dataset_paths(client, dataset)
        assert dataset_paths(client, dataset, limit=7) == whole, "pages do not change the choice"
        return whole

    assert paths({"take": 3}) == every[:3]
    assert paths({"skip": 95}) == every[95:]
    assert paths({"skip": 10}, {"take": 2}) == every[10:12]
    assert paths({"take": 0}) == []
    assert paths({"filter": {">=": [{"file": "size"}, 98]}}) == every[98:]
    first, second = ({"split": {"percentage": 0.75, "seed": 1, "part": part}} for part in (0, 1))
    assert sorted(paths(first) + paths(second)) == every and 60 < len(paths(first)) < 90
    assert 5 < len(paths({"sample": {"probability": 0.2, "seed": 3}})) < 40


def test_materialize_gives_a_tree_over_the_same_blobs(server, client, store):
    contents = {"d/a": secrets.token_bytes(1000), "d/empty": b"", "d/ü/" + "n" * 255: b"x"}
    put_files(client, store, contents)
    dataset = save_dataset(client, source(store, "d"))
    before = client.get("/api/v1/store").json()["blobs"]
    made = materialize(client, dataset).expect(200).json()
    assert (made["files"], made["bytes"], made["sources"]) == (3, 1001, [])
    assert tree_entries(client, made["tree"]) == {p[2:]: (digest(data), len(data)) for p, data in contents.items()}
    assert client.get("/api/v1/store").json()["blobs"] == before + 1, "only the manifest is new"
    assert client.get(client.path("datasets", "by-id", dataset)).json()["tree"] == made["tree"]
    assert materialize(client, dataset).json() == made
    put_files(client, store, {"d/a": b"changed"}, overwrite=True)
    assert materialize(client, dataset).json()["tree"] != made["tree"]


def test_a_local_folder_is_brought_into_the_store(server, client):
    folder = server.roots / secrets.token_hex(4)
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.bin").write_bytes(bytes(3_000_000))
    (folder / "b").write_bytes(b"b")
    name = "local" + secrets.token_hex(4)
    client.put(client.path("datastores", name), {"kind": "local", "path": str(folder)}).expect(201)
    dataset = save_dataset(client, source(name))
    made = materialize(client, dataset).expect(200).json()
    assert tree_entries(client, made["tree"]) == {
        "b": (digest(b"b"), 1),
        "sub/a.bin": (digest(bytes(3_000_000)), 3_000_000),
    }


def test_an_empty_dataset_says_so(client, store):
    refused = materialize(client, save_dataset(client, source(store, "absent"))).expect(404).json()
    assert "no files" in refused["message"] and refused["hint"]


def test_progress_is_streamed_when_asked_for(client, store):
    put_files(client, store, {"a": b"1", "b": b"2"})
    dataset = save_dataset(client, source(store))
    path = client.path("datasets", "by-id", dataset, "materialize")
    answer = client.request("POST", path, headers={"Accept": "application/x-ndjson"}).expect(200)
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert all("progress" in line for line in lines[:-1]) and lines[-1]["result"]["files"] == 2
    empty = client.path("datasets", "by-id", save_dataset(client, source(store, "absent")), "materialize")
    answer = client.request("POST", empty, headers={"Accept": "application/x-ndjson"}).expect(200)
    assert json.loads(answer.body.splitlines()[-1])["error"]["code"] == "not-found"


def test_a_hundred_thousand_files_in_one_dataset(client, store):
    (blob,) = send(client, b"same")
    for start in range(0, 100_000, 10_000):
        files = [{"path": f"{i // 1000:03}/{i:06}", "digest": blob, "size": 4} for i in range(start, start + 10_000)]
        client.post(client.path("datastores", store, "files"), {"files": files}).expect(200)
    dataset = save_dataset(client, source(store))
    made = materialize(client, dataset, timeout=120).expect(200).json()
    assert (made["files"], made["bytes"]) == (100_000, 400_000)
    assert len(set(dataset_paths(client, dataset, limit=500))) == 100_000


def test_a_dataset_is_not_seen_from_another_workspace(client, store):
    dataset = save_dataset(client, source(store))
    client.put("/api/v1/workspaces/elsewhere").expect(200, 201)
    client.get(f"/api/v1/workspaces/elsewhere/datasets/by-id/{dataset}").expect(404)


def test_ten_thousand_sources(client, store):
    """Named one by one, some of them twice."""
    (blob,) = send(client, b"x")
    paths = [f"p/{i:05}" for i in range(5_000)]
    files = [{"path": path, "digest": blob, "size": 1} for path in paths]
    client.post(client.path("datastores", store, "files"), {"files": files}).expect(200)
    dataset = save_dataset(client, *(source(store, path) for path in paths + paths))
    assert dataset_paths(client, dataset, limit=500) == [path[1:] for path in paths]
    assert materialize(client, dataset).expect(200).json()["files"] == 5_000
