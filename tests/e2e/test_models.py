"""Models: from a run, a datastore, a tree or one file; numbered without gaps; looked into; with their lineage."""

import secrets
import threading
import uuid

import pytest

from harness import saved_model
from harness.blobs import digest
from harness.client import new_id
from harness.registry import materialize, put_files, register_model, save_dataset, send, tree_entries


@pytest.fixture(scope="module")
def server(binary):
    from harness.server import Server

    with Server() as server:
        yield server.prepare()


@pytest.fixture(scope="module")
def graph(server):
    return saved_model.make()


@pytest.fixture(scope="module")
def trained(server, graph, tmp_path_factory):
    """A run that left outputs/model (a SavedModel), outputs/weights.h5 and outputs/model-2.txt."""
    client = server.client()
    folder = tmp_path_factory.mktemp("files")
    (folder / "graph").write_bytes(graph)
    script = (
        f"mkdir -p outputs/model/variables && cp {folder}/graph outputs/model/saved_model.pb"
        " && echo i > outputs/model/variables/variables.index && echo h5 > outputs/weights.h5 && echo x > outputs/model-2.txt"
    )
    run = client.submit(script)
    client.wait(run, "Completed")
    return run


def name():
    return "m-" + secrets.token_hex(5)


def test_a_folder_of_a_run_is_registered_without_copying(client, trained, graph):
    before = client.get("/api/v1/store").json()["blobs"]
    model = register_model(
        client,
        called := name(),
        run=trained,
        path="./outputs/model/",
        framework="TensorFlow",
        framework_version="2.2",
        tags={"area": "digits"},
        properties={"p": "1"},
        description="größer\nmore",
        resource_configuration={"cpu": 1, "memory_in_gb": 0.5},
    )
    model = model.expect(201).json()
    assert (model["name"], model["version"], model["latest"], model["run"]) == (called, 1, True, trained)
    assert model["resource_configuration"] == {"cpu": 1, "memory_in_gb": 0.5, "gpu": None}
    entries = tree_entries(client, model["tree"])
    assert set(entries) == {"model/saved_model.pb", "model/variables/variables.index"}, "a folder keeps its last name"
    assert entries["model/saved_model.pb"] == (digest(graph), len(graph))
    assert client.get("/api/v1/store").json()["blobs"] == before + 1, "only the manifest is new"
    assert model["warnings"] == []
    assert model["inspection"] == {
        "format": "saved_model",
        "path": "model",
        "tensorflow_version": "2.2.0",
        "signatures": [
            {
                "name": "serving_default",
                "method": "tensorflow/serving/predict",
                "tags": ["serve"],
                "inputs": [{"name": "image", "dtype": "float32", "shape": [-1, 28, 28]}],
                "outputs": [{"name": "label", "dtype": "int64", "shape": [-1]}],
            }
        ],
    }
    assert client.get(client.path("models", called)).expect(200).json() == model
    assert client.get(client.path("models", called, "versions", "1")).expect(200).json() == model


def test_one_file_of_a_run(client, trained):
    model = register_model(client, name(), run=trained, path="outputs/weights.h5").expect(201).json()
    assert tree_entries(client, model["tree"]) == {"weights.h5": (digest(b"h5\n"), 3)}
    assert model["inspection"] is None and model["warnings"] == []


def test_what_a_run_does_not_have(client, trained):
    assert register_model(client, name(), run=trained, path="outputs/absent").expect(404).json()["field"] == "path"
    register_model(client, name(), run=trained, path="outputs/mod").expect(404)
    register_model(client, name(), run="no-such-run", path="outputs").expect(404)
    for path in ("../x", "/etc", "outputs/../.."):
        register_model(client, name(), run=trained, path=path).expect(400)


def test_trees_blobs_and_datastore_files(client):
    (blob,) = send(client, b"weights")
    one = register_model(client, name(), blob=blob, file_name="model.pkl").expect(201).json()
    assert tree_entries(client, one["tree"]) == {"model.pkl": (blob, 7)}
    same = register_model(client, name(), tree=one["tree"]).expect(201).json()
    assert same["tree"] == one["tree"]
    folder = secrets.token_hex(4)
    put_files(client, "workspaceblobstore", {f"{folder}/m/a": b"1", f"{folder}/m/b/c": b"", f"{folder}/mm": b"no"})
    stored = register_model(client, name(), datastore="workspaceblobstore", path=f"{folder}/m").expect(201).json()
    assert set(tree_entries(client, stored["tree"])) == {"m/a", "m/b/c"}
    absent = digest(secrets.token_bytes(8))
    register_model(client, name(), tree=absent).expect(400)
    register_model(client, name(), blob=absent, file_name="x").expect(400)
    register_model(client, name(), blob=blob, file_name="../x").expect(400)
    register_model(client, name(), blob=blob, file_name="a/x").expect(400)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"path": "outputs"},
        {"run": "r"},
        {"tree": "0" * 64, "path": "outputs", "run": "r"},
        {"blob": "0" * 64},
        {"run": "r", "path": "o", "unknown": 1},
        {"run": "r", "path": "o", "datasets": [{"id": "x"}]},
        {"run": "r", "path": "o", "resource_configuration": {"cpu": -1}},
    ],
    ids=repr,
)
def test_a_registration_that_says_too_little_or_too_much_is_refused(client, fields):
    register_model(client, name(), **fields).expect(400, 404)


@pytest.mark.parametrize("bad", ["", "a/b", "by-id", "x" * 256, "-x", "ü", "a\n"])
def test_names_that_cannot_be(client, bad):
    register_model(client, bad, blob=send(client, b"w")[0], file_name="w").expect(400)


def test_a_wrong_folder_is_a_warning_at_once(client, trained, graph):
    model = (
        register_model(client, name(), run=trained, path="outputs/weights.h5", framework="TensorFlow")
        .expect(201)
        .json()
    )
    assert "Keras" in model["warnings"][0] and model["inspection"] is None
    (broken,) = send(client, graph[:40])
    model = (
        register_model(client, name(), blob=broken, file_name="saved_model.pb", framework="TensorFlow")
        .expect(201)
        .json()
    )
    assert "not a SavedModel" in model["warnings"][0]
    (alone,) = send(client, graph)
    model = (
        register_model(client, name(), blob=alone, file_name="saved_model.pb", framework="TensorFlow")
        .expect(201)
        .json()
    )
    assert "variables" in model["warnings"][0] and model["inspection"]["path"] == ""


def test_an_id_is_one_registration(client):
    one, two = send(client, b"1", b"2")
    called, made = name(), str(uuid.uuid4())
    first = register_model(client, called, id=made, blob=one, file_name="w").expect(201).json()
    assert register_model(client, called, id=made, blob=one, file_name="w").expect(200).json() == first
    assert register_model(client, called, id=made, blob=two, file_name="w").expect(409).json()["field"] == "id"
    assert register_model(client, called, blob=one, file_name="w").expect(201).json()["version"] == 2


def test_32_at_once_number_without_gaps(server, client):
    (blob,) = send(client, b"same")
    called, versions = name(), []

    def work():
        versions.append(register_model(server.client(), called, blob=blob, file_name="w").expect(201).json()["version"])

    threads = [threading.Thread(target=work) for _ in range(32)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(versions) == list(range(1, 33))
    assert client.get(client.path("models", called)).json()["version"] == 32


def test_a_deleted_number_is_not_used_again(client):
    (blob,) = send(client, b"w")
    called = name()
    register_model(client, called, blob=blob, file_name="w").expect(201)
    register_model(client, called, blob=blob, file_name="w").expect(201)
    client.delete(client.path("models", called, "versions", "2")).expect(204)
    client.delete(client.path("models", called, "versions", "2")).expect(404)
    assert client.get(client.path("models", called)).json()["version"] == 1
    assert register_model(client, called, blob=blob, file_name="w").expect(201).json()["version"] == 3
    client.get(client.path("models", called, "versions", "0")).expect(400)


def test_filters_of_the_list(client, trained):
    (blob,) = send(client, b"w")
    called, other = name(), name()
    mark = secrets.token_hex(4)
    register_model(client, called, blob=blob, file_name="w", tags={mark: "1"}).expect(201)
    register_model(client, called, blob=blob, file_name="w", tags={mark: "2"}, framework="Custom").expect(201)
    register_model(client, other, run=trained, path="outputs", tags={mark: "1"}, properties={mark: "p=q"}).expect(201)

    def found(**query):
        return [f"{m['name']}:{m['version']}" for m in client.items(client.path("models"), limit=1, **query)]

    assert found(tag=mark) == [f"{other}:1", f"{called}:2", f"{called}:1"]
    assert found(tag=f"{mark}=1") == [f"{other}:1", f"{called}:1"]
    assert found(tag=mark, latest="true") == [f"{other}:1", f"{called}:2"]
    assert found(tag=mark, run=trained) == [f"{other}:1"]
    assert found(property=f"{mark}=p=q") == [f"{other}:1"]
    assert found(name=called, framework="Custom") == [f"{called}:2"]
    client.get(client.path("models"), tagg="x").expect(400)


def test_tags_change_and_properties_only_grow(client):
    called = name()
    register_model(
        client, called, blob=send(client, b"w")[0], file_name="w", tags={"a": "1"}, properties={"p": "1"}
    ).expect(201)

    def patch(body):
        return client.request("PATCH", client.path("models", called, "versions", "1"), json_body=body)

    changed = (
        patch({"tags": {"a": None, "b": "2"}, "properties": {"p": "1", "q": "2"}, "description": "d"})
        .expect(200)
        .json()
    )
    assert (changed["tags"], changed["properties"], changed["description"]) == ({"b": "2"}, {"p": "1", "q": "2"}, "d")
    assert patch({"properties": {"p": "other"}}).expect(409).json()["field"] == "properties"
    patch({"version": 2}).expect(400)


def test_lineage_names_run_snapshot_and_data(server, client, tmp_path):
    folder = secrets.token_hex(4)
    put_files(client, "workspaceblobstore", {f"{folder}/a": b"data"})
    dataset = save_dataset(client, {"datastore": "workspaceblobstore", "path": folder})
    tree = materialize(client, dataset).expect(200).json()["tree"]
    client.post(client.path("datasets", f"d-{folder}", "versions"), {"id": dataset}).expect(201)
    (tmp_path / "train.py").write_text("pass")
    run = server.submit_folder(tmp_path)
    snapshot = client.wait(run)["snapshot"]
    called = name()
    body = {
        "run": run,
        "blob": send(client, b"w")[0],
        "file_name": "w",
        "datasets": [{"name": "training", "id": dataset}],
    }
    register_model(client, called, **body).expect(201)
    lineage = client.get(client.path("models", called, "versions", "1", "lineage")).expect(200).json()
    assert lineage["model"] == f"{called}:1"
    assert (lineage["run"]["id"], lineage["run"]["exists"], lineage["run"]["snapshot"]) == (run, True, snapshot)
    assert lineage["datasets"] == [
        {"name": "training", "id": dataset, "tree": tree, "registered_as": [f"d-{folder}:1"]}
    ]
    client.delete(client.path("runs", run)).expect(204)
    assert not client.get(client.path("models", called, "versions", "1", "lineage")).json()["run"]["exists"]
    unknown = {"datasets": [{"id": str(uuid.uuid4())}], "blob": body["blob"], "file_name": "w"}
    register_model(client, called, **unknown).expect(404)


def test_a_model_keeps_its_bytes_when_its_run_is_deleted(client):
    run = client.submit("mkdir -p outputs && head -c 1000 /dev/urandom > outputs/w")
    client.wait(run, "Completed")
    data = client.file(run, "outputs/w").body
    model = register_model(client, name(), run=run, path="outputs/w").expect(201).json()
    client.delete(client.path("runs", run)).expect(204)
    report = client.post("/api/v1/store/gc", {"dry_run": True}).expect(200).json()
    assert report["missing"] == []
    assert client.get(f"/api/v1/blobs/{tree_entries(client, model['tree'])['w'][0]}").expect(200).body == data


def test_a_run_registers_what_is_its_own(holder):
    client = holder.client
    attempt = holder.submit()
    attempt.claim().expect(200)
    blob = send(attempt.script, b"w")[0]
    other = client.submit("true")
    mine = register_model(attempt.script, name(), run=attempt.run, blob=blob, file_name="w").expect(201).json()
    assert mine["created_by"] == f"run {attempt.run}"
    unsaid = register_model(attempt.script, name(), blob=blob, file_name="w").expect(201).json()
    assert unsaid["run"] == attempt.run
    register_model(attempt.script, name(), run=other, blob=blob, file_name="w").expect(403)
    attempt.script.delete(client.path("models", mine["name"], "versions", "1")).expect(403)


def test_a_run_registers_what_its_children_made(holder):
    client = holder.client
    attempt = holder.submit()
    attempt.claim().expect(200)
    blob = send(attempt.script, b"w")[0]

    def begin(parent):
        body = {"id": new_id("child"), "experiment": "default", "kind": "interactive", "parent": parent}
        return attempt.script.post(client.path("runs"), body).expect(201).json()["id"]

    child = begin(attempt.run)
    grandchild = begin(child)
    for maker in (child, grandchild):
        model = register_model(attempt.script, name(), run=maker, blob=blob, file_name="w").expect(201).json()
        assert model["run"] == maker
    foreign = client.post(client.path("runs"), {"id": new_id(), "experiment": "default", "kind": "interactive"})
    stranger = foreign.expect(201).json()["id"]
    refused = register_model(attempt.script, name(), run=stranger, blob=blob, file_name="w").expect(403).json()
    assert refused["field"] == "run"
    # And not the other way round: a child's own attempt could not register for its parent.
    other = holder.submit()
    register_model(other.script, name(), run=attempt.run, blob=blob, file_name="w").expect(403)


def hostile_models():
    """Small files that would cost gigabytes if all that they say were kept."""
    tags = saved_model.data(1, saved_model.data(4, b"t") * 9000)
    long_tags = saved_model.data(1, saved_model.data(4, b"\x01" * 4000) * 9000)
    many = saved_model.data(5, saved_model.data(1, b"s"))
    shape = saved_model.entry(1, "x", saved_model.tensor(1, *[1] * 9000))
    nested = b""
    for _ in range(2000):
        nested = saved_model.data(2, nested)
    return {
        "tags times signatures": saved_model.data(2, tags + many * 9000),
        "long tags": saved_model.data(2, long_tags),
        "shapes": saved_model.data(2, saved_model.entry(5, "s", shape) * 300),
        "depth": nested,
        "length that lies": b"\x12\xff\xff\xff\xff\x7f",
        "no end": b"\xff" * 100_000,
    }


@pytest.mark.parametrize("kind", hostile_models())
def test_a_hostile_saved_model_is_a_warning_and_no_more(server, client, kind):
    (blob,) = send(client, hostile_models()[kind])
    pid, before = server.pid, memory_of(server.pid)
    model = register_model(client, name(), blob=blob, file_name="saved_model.pb", framework="TensorFlow").expect(201)
    assert model.json()["warnings"] and not (model.json()["inspection"] or {}).get("signatures")
    assert server.pid == pid and server.is_up()
    assert memory_of(server.pid) - before < 300 << 20


def memory_of(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))


def test_a_tree_that_lies_about_the_size_of_its_graph_does_no_harm(server, client, graph):
    (blob,) = send(client, graph)
    manifest = f"lathe-tree 1\nf {blob} {64 << 20} saved_model.pb\n".encode()
    (tree,) = send(client, manifest)
    answer = register_model(client, name(), tree=tree, framework="TensorFlow")
    assert answer.status in (201, 400, 422), answer.body
    if answer.status == 201:
        assert answer.json()["inspection"] is None and answer.json()["warnings"]
    assert server.is_up()
    client.get("/api/v1/server").expect(200)
