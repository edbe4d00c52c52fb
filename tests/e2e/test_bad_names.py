"""No name or path of a client reaches the file system: every name field with every bad name."""

import json
import os
import urllib.parse

import pytest

from harness.blobs import digest, pack
from harness.cases import check_each
from harness.client import make_submit, new_id
from harness.corpus import BAD_NAMES, BAD_PATHS

STATE_NAMES = {
    "lock",
    "server.json",
    "token",
    "run",
    "lathe.db",
    "lathe.db-wal",
    "lathe.db-shm",
    "store",
    "live",
    "reserve",
    "server.log",
    "config.yaml",
    "work",
    "views",
}


def snapshot(folder):
    return sorted(os.path.join(root, name) for root, folders, files in os.walk(folder) for name in folders + files)


@pytest.fixture(autouse=True)
def nothing_is_touched_outside(server):
    """The folder around the state folder is the same after every test, and the state folder has no new names in it."""
    around = server.state.parent
    (around / "outside").mkdir(exist_ok=True)
    (around / "outside" / "secret.txt").write_text("secret of the machine")
    before = [name for name in snapshot(around) if not name.startswith(str(server.state))]
    yield
    assert [name for name in snapshot(around) if not name.startswith(str(server.state))] == before
    assert (around / "outside" / "secret.txt").read_text() == "secret of the machine"
    assert set(os.listdir(server.state)) <= STATE_NAMES
    server.client().get("/healthz").expect(200)


def refused(answer, name):
    assert 400 <= answer.status < 500, f"{name!r} got {answer.status}: {answer.body[:200]!r}"
    assert b"secret of the machine" not in answer.body and b"root:" not in answer.body
    if answer.body:
        json.loads(answer.body)


@pytest.mark.parametrize(
    "template",
    [
        "/api/v1/workspaces/{}",
        "/api/v1/workspaces/{}/runs",
        "/api/v1/workspaces/default/runs/{}",
        "/api/v1/workspaces/default/runs/{}/logs",
        "/api/v1/workspaces/default/experiments/{}",
        "/api/v1/workspaces/default/computes/{}",
        "/api/v1/blobs/{}",
        "/api/v1/trees/{}",
    ],
)
def test_a_bad_name_in_a_path_is_refused(client, template):
    for name in filter(None, BAD_NAMES):
        refused(client.get(template.format(urllib.parse.quote(name, safe=""))), name)


@pytest.mark.parametrize("template", ["/api/v1/workspaces/{}", "/api/v1/workspaces/default/computes/{}"])
def test_a_bad_name_is_not_created(client, template):
    for name in filter(None, BAD_NAMES):
        refused(client.put(template.format(urllib.parse.quote(name, safe="")), {}), name)


@pytest.mark.parametrize("field", ["id", "experiment", "compute", "snapshot"])
def test_a_bad_name_in_a_submit_is_refused(client, field):
    for name in BAD_NAMES:
        refused(client.post(client.path("runs"), make_submit("true") | {field: name}), name)


def test_a_script_outside_the_snapshot_is_refused(server, client, tmp_path):
    (tmp_path / "train.py").write_text("print(1)")
    tree = client.wait(server.submit_folder(tmp_path))["snapshot"]
    for path in BAD_PATHS:
        submit = make_submit(None, script=path, snapshot=tree, environment={"interpreter": "/usr/bin/python3"})
        refused(client.post(client.path("runs"), submit), path)


@pytest.mark.parametrize("where", ["files/content", "logs"])
def test_a_bad_path_reads_no_file(client, where):
    run = client.submit("mkdir -p outputs; echo x > outputs/x")
    client.wait(run, "Completed")
    name = "path" if where == "files/content" else "name"
    for path in BAD_PATHS + BAD_NAMES:
        if where == "logs" and path == "":
            continue  # an empty name may mean the main log
        refused(client.request("GET", client.path("runs", run) + f"/{where}", query={name: path.encode()}), path)


def test_a_runner_cannot_name_a_file_outside(holder):
    data = b"an artifact"
    attempt = holder.submit()
    attempt.claim().expect(200)
    attempt.client.request("POST", "/api/v1/blobs/pack", body=pack(data)).expect(200)
    for path in BAD_PATHS:
        files = {"files": [{"path": path, "digest": digest(data), "size": len(data), "executable": False}]}
        refused(attempt.call("artifacts", files), path)
        refused(attempt.append(b"x", 0, name=path), path)
        refused(attempt.finish(logs={path: {"segments": 1, "size": 1}}), path)
    assert holder.client.status(attempt.run) == "Running"
    assert set(os.listdir(holder.server.state)) <= STATE_NAMES
    attempt.finish().expect(200)


RAW = [
    "/../../../etc/passwd",
    "/..%2f..%2fetc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/api/v1/../../etc/passwd",
    "/api/v1/workspaces/default/runs/..%2f..%2f..%2ftoken",
    "/api/v1/blobs/..%2f..%2f..%2ftoken",
    "/api/v1//server",
    "//api/v1/server",
    "/api/v1/server/",
    "/api/v1/./server",
    "/api/v1/server%00",
    "/api/v1/server%2f",
    "/api/v1/blobs/ab%2fcd",
    "/static/../token",
    "/api/v1/workspaces/default/runs/x/files/content?path=..%2f..%2ftoken",
    "/api/v1/workspaces/default/runs/x/files/content?path=%252e%252e%252ftoken",
    "/api/v1/server%",
    "/api/v1/server%zz",
    "/api/v1/server%c0%af",
    "http://evil.example/api/v1/server",
]


def test_a_target_that_plays_with_its_path_finds_nothing(client):
    """Replays of the shapes that broke MLflow, Ray, Triton and Aim."""

    def check(target):
        connection = client.over_tcp().connect()
        connection.putrequest("GET", target, skip_host=False)
        connection.putheader("Authorization", f"Bearer {client.token}")
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert 400 <= answer.status < 500, f"{answer.status} {body[:200]!r}"
        assert client.token.encode() not in body

    check_each(RAW, check)


def test_names_that_are_only_text_are_kept_as_they_are(client):
    """Tags and display names are shown, never used as a path: anything that is text is fine, and comes back the same."""
    names = [name for name in BAD_NAMES if 0 < len(name.encode()) <= 250 and name.isprintable()]
    for start in range(0, len(names), 40):
        tags = {name[:255]: name for name in names[start : start + 40]}
        run = client.submit("true", id=new_id(), tags=tags, display_name=names[start])
        assert client.run(run)["tags"] == tags and client.run(run)["display_name"] == names[start]
    for name in ("a\nb", "\x1b[31mred", "\x7f", "\x9b31m", "a\0b"):
        assert client.submit_answer("true", tags={"key": name}).expect(400).json()["field"] == "tags"
        assert client.submit_answer("true", display_name=name).expect(400).json()["field"] == "display_name"


def test_outputs_that_are_links_bring_no_foreign_bytes(server, client):
    outside = server.state.parent / "outside" / "secret.txt"
    run = client.submit(
        f"mkdir -p outputs; ln -s {outside} outputs/link; ln -s {outside.parent} outputs/folder; ln -s {server.state}/token outputs/token; mkfifo outputs/pipe; echo ok > outputs/ok"
    )
    client.wait(run, "Completed")
    for path in client.files(run):
        body = client.file(run, path).body
        assert b"secret of the machine" not in body and server.token.encode() not in body, path
    assert client.file(run, "outputs/ok").expect(200).body == b"ok\n"


def test_an_output_folder_that_is_a_link_is_not_followed(server, client):
    outside = server.state.parent / "outside"
    run = client.submit(f"rm -rf outputs; ln -s {outside} outputs; echo done")
    client.wait(run, "Completed", "Failed")
    assert not [path for path in client.files(run) if path.startswith("outputs/")]
