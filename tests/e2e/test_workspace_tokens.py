"""A token that is limited to a workspace reads the blobs that its workspace names, and names those that it has sent.
Bytes are kept once for all workspaces: a digest that somebody has heard of must open nothing."""

import secrets

import pytest

from harness.blobs import digest, pack, unpack
from harness.client import Client, make_submit, new_id
from harness.registry import materialize, put_files, register_model, save_dataset, send

MISSING = "/api/v1/blobs/missing"


def manifest(**files):
    lines = [f"f {digest(data)} {len(data)} {path}" for path, data in sorted(files.items())]
    return ("\n".join(["lathe-tree 1", *lines]) + "\n").encode()


def limited(server, workspace, role="contributor"):
    """A client of one workspace."""
    admin = server.client()
    admin.put(f"/api/v1/workspaces/{workspace}", {}).expect(200, 201)
    admin.put(f"/api/v1/workspaces/{workspace}/computes/pool", {"vm_size": "machine", "max_nodes": 4}).expect(200, 201)
    body = {"name": new_id("t"), "role": role, "workspace": workspace}
    token = admin.post("/api/v1/tokens", body).expect(201).json()["token"]
    return Client(admin.url, admin.socket_path, token, workspace)


def missing(client, *digests, **more):
    return client.post(MISSING, {"digests": list(digests), **more}).expect(200).json()


def put_blob(client, data, name=None, offset=0, size=None):
    query = {"offset": offset, "size": len(data) if size is None else size}
    return client.request("PUT", f"/api/v1/blobs/{name or digest(data)}", query=query, body=data)


def is_hidden(client, name):
    """Exactly as if the bytes were nowhere."""
    absent = digest(secrets.token_bytes(16))
    for path in ("/api/v1/blobs/{}", "/api/v1/blobs/{}/chunks", "/api/v1/trees/{}", "/api/v1/trees/{}/pack"):
        answers = [client.get(path.format(each)) for each in (name, absent)]
        assert [answer.status for answer in answers] == [404, 404], path
        assert answers[0].body.replace(name.encode(), b"X") == answers[1].body.replace(absent.encode(), b"X"), path
    return missing(client, name)["missing"] == [name] and missing(client, name)["partial"] == {}


@pytest.fixture(scope="module")
def island(server):
    return limited(server, "island")


@pytest.fixture(scope="module")
def mainland(server):
    return limited(server, "mainland")


def data_of(client):
    """A dataset's tree in the workspace of this client: its digest and the bytes of its files."""
    files = {f"{new_id()}/{name}": secrets.token_bytes(40) for name in ("a", "b")}
    put_files(client, "workspaceblobstore", files)
    folder = next(iter(files)).split("/")[0]
    dataset = save_dataset(client, {"datastore": "workspaceblobstore", "path": folder})
    return materialize(client, dataset).expect(200).json()["tree"], list(files.values())


def test_what_another_workspace_has_is_not_there(server, island, mainland):
    tree, (first, _) = data_of(mainland)
    for name in (tree, digest(first)):
        assert is_hidden(island, name)
        island.get(f"/api/v1/blobs/{name}", tree=tree).expect(404)
    assert server.client().get(f"/api/v1/blobs/{digest(first)}").expect(200).body == first, "an admin reads everything"


def test_what_the_workspace_names_is_read(island):
    tree, (first, second) = data_of(island)
    assert digest(island.get(f"/api/v1/trees/{tree}").expect(200).body) == tree
    assert set(unpack(island.get(f"/api/v1/trees/{tree}/pack").expect(200).body).values()) >= {first}
    assert island.get(f"/api/v1/blobs/{digest(first)}", tree=tree).expect(200).body == first
    island.get(f"/api/v1/blobs/{digest(first)}/chunks", tree=tree).expect(200)
    island.get(f"/api/v1/blobs/{digest(second)}", tree="nonsense").expect(400)


def test_a_viewer_reads_the_files_of_trees_that_others_have_made(server, island):
    """Who has sent nothing: the tree that it names opens its files, and nothing else does."""
    admin = Client(server.client().url, server.client().socket_path, server.token, "island")
    tree, (first, second) = data_of(admin)
    other, (foreign, _) = data_of(admin)
    data = secrets.token_bytes(64)
    model = register_model(admin, new_id("m"), blob=send(admin, data)[0], file_name="w").expect(201).json()["tree"]
    viewer = limited(server, "island", "viewer")
    assert viewer.get(f"/api/v1/blobs/{digest(data)}", tree=model).expect(200).body == data
    viewer.get(f"/api/v1/blobs/{digest(data)}", tree=tree).expect(404)
    # A client of 0.1 does not say which tree: it has read one before, and files of datastores are known.
    assert viewer.get(f"/api/v1/blobs/{digest(foreign)}").expect(200).body == foreign
    viewer.get(f"/api/v1/blobs/{digest(data)}").expect(404)
    viewer.get(f"/api/v1/trees/{model}").expect(200)
    assert viewer.get(f"/api/v1/blobs/{digest(data)}").expect(200).body == data


def test_a_digest_cannot_be_named_without_its_bytes(server, island, mainland):
    tree, (secret, _) = data_of(mainland)
    name = digest(secret)
    session = {"id": new_id(), "experiment": "e2e", "kind": "interactive"}
    run = island.post(island.path("runs"), session).expect(201).json()["id"]
    file = {"path": "outputs/x", "digest": name, "size": len(secret)}
    stolen = manifest(x=secret)
    send(island, stolen)  # a manifest is only bytes; what it lists is not ours
    refused = [
        island.post(island.path("runs", run, "artifacts"), {"artifacts": [file]}),
        island.post(island.path("datastores", "workspaceblobstore", "files"), {"files": [file]}),
        register_model(island, new_id("m"), blob=name, file_name="w"),
        register_model(island, new_id("m"), tree=digest(stolen)),
        register_model(island, new_id("m"), tree=tree),
        island.post(island.path("runs"), make_submit("true", snapshot=digest(stolen))),
        island.post(island.path("runs"), make_submit("true", snapshot=tree)),
    ]
    assert [answer.status for answer in refused] == [400] * len(refused)
    assert missing(island, tree=digest(stolen))["complete"] is False
    island.get(f"/api/v1/trees/{digest(stolen)}").expect(200)
    island.get(f"/api/v1/trees/{digest(stolen)}/pack").expect(404)
    island.get(f"/api/v1/blobs/{name}", tree=digest(stolen)).expect(404)
    assert is_hidden(island, name)


@pytest.mark.parametrize("how", ["pack", "blob"])
def test_who_sends_the_bytes_may_name_and_read_them(server, island, mainland, how):
    data = secrets.token_bytes(100)
    send(mainland, data)
    assert missing(island, digest(data))["missing"] == [digest(data)]
    if how == "pack":
        send(island, data)
    else:
        assert put_blob(island, data[:60], digest(data), size=100).expect(202).json() == {"offset": 60}
        assert missing(island, digest(data))["partial"] == {digest(data): 60}
        put_blob(island, data[60:], digest(data), 60, 100).expect(201)
    assert missing(island, digest(data))["missing"] == []
    assert island.get(f"/api/v1/blobs/{digest(data)}").expect(200).body == data
    register_model(island, new_id("m"), blob=digest(data), file_name="w").expect(201)
    server.restart()
    assert missing(island, digest(data))["missing"] == [], "it is kept over a restart"


def test_an_upload_of_another_workspace_is_not_gone_on_with(island, mainland):
    """The last bytes of a blob are no proof of the first."""
    data = secrets.token_bytes(100)
    put_blob(mainland, data[:90], digest(data), size=100).expect(202)
    assert missing(island, digest(data)) == {"missing": [digest(data)], "partial": {}}
    put_blob(island, data[90:], digest(data), 90, 100).expect(409)
    put_blob(island, bytes(100), digest(data), 0, 100).expect(422)
    assert is_hidden(island, digest(data))
    put_blob(mainland, data[90:], digest(data), 90, 100).expect(201)


def test_a_snapshot_is_submitted_with_a_token_of_its_workspace(server, island, tmp_path):
    """As the command line does it: what is missing is sent, then the run names it."""
    (tmp_path / "train.py").write_text("print('ran')")
    (tmp_path / "data.txt").write_text(new_id())
    for text in ("one", "two"):
        (tmp_path / "changes.txt").write_text(text)
        files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        tree = manifest(**files)
        lacking = missing(island, *(digest(data) for data in (tree, *files.values())))["missing"]
        assert (len(lacking) == 4) == (text == "one"), "what was sent before is not asked for again"
        send(island, *(data for data in (tree, *files.values()) if digest(data) in lacking))
        assert missing(island, tree=digest(tree))["complete"] is True
        run = island.submit(command=["/bin/sh", "-c", "cat changes.txt"], snapshot=digest(tree))
        island.wait(run, "Completed")
        assert island.log(run) == text.encode()
        assert island.get(f"/api/v1/blobs/{digest(files['data.txt'])}", tree=digest(tree)).status == 200
