"""Secrets of a workspace: readable for who may, and for nobody else anywhere: disk, logs, audit, processes, backups."""

import base64
import os
import sqlite3
import stat
import urllib.parse

import pytest

from harness import processes
from harness.client import new_id

VALUE = "s3cret-" + new_id() + "-ü"


def path(client, *name):
    return client.path("secrets", *name)


def put(client, name, value=VALUE):
    return client.put(path(client, name), {"value": value})


def value_of(client, name):
    return client.get(path(client, name)).expect(200).json()["value"]


def names(client):
    return [each["name"] for each in client.items(path(client), limit=2)]


def make_token(client, role, **fields):
    body = {"name": new_id("t"), "role": role, **fields}
    return client.with_token(client.post("/api/v1/tokens", body).expect(201).json()["token"])


def files_holding(folder, text):
    """Files below the folder that hold the text in any form that could be turned back into it at a glance."""
    plain = text.encode()
    forms = [plain, base64.b64encode(plain).rstrip(b"="), urllib.parse.quote(text).encode(), plain.hex().encode()]
    found = []
    for root, _, files in os.walk(folder):
        for name in files:
            file = os.path.join(root, name)
            if stat.S_ISREG(os.lstat(file).st_mode):
                with open(file, "rb") as opened:
                    data = opened.read()
                found += [file for form in forms if form in data]
    return found


def test_a_secret_is_set_read_replaced_listed_and_deleted(client):
    for name in ("b-key", "a.key_2", "c"):
        put(client, name).expect(204)
    answer = client.get(path(client, "b-key")).expect(200)
    assert answer.json()["value"] == VALUE and answer.headers["cache-control"] == "no-store"
    put(client, "b-key", "other").expect(204)
    assert value_of(client, "b-key") == "other" and value_of(client, "c") == VALUE
    assert names(client) == ["a.key_2", "b-key", "c"]
    assert VALUE.encode() not in client.get(path(client)).body
    client.delete(path(client, "c")).expect(204)
    client.delete(path(client, "c")).expect(404)
    client.get(path(client, "c")).expect(404)
    assert names(client) == ["a.key_2", "b-key"]


@pytest.mark.parametrize("value", ["", "x", "\u0000\n\"\\", "ü🐢" * 1000, "y" * 65536], ids=len)
def test_any_text_comes_back_as_it_was(client, value):
    put(client, "any", value).expect(204)
    assert value_of(client, "any") == value


def test_a_wrong_request_is_refused_and_never_repeats_the_value(client):
    wrong = [{"value": 8273645}, {"value": ["8273645"]}, {"value": None}, {"value": "8273645", "x": 1}]
    for body in (*wrong, {}, [], "8273645"):
        answer = client.put(path(client, "wrong"), body).expect(400)
        assert b"8273645" not in answer.body and answer.json()["field"] == "value"
    assert put(client, "wrong", "z" * 65537).expect(413).json()["field"] == "value"
    for name in ("-x", "a b", "x" * 128, "ü"):
        put(client, name).expect(400)
    client.get(path(client, "wrong")).expect(404)


def test_contributors_and_runs_read_secrets_and_viewers_do_not(holder):
    client = holder.client
    put(client, "shared").expect(204)
    attempt = holder.submit()
    viewer, contributor = make_token(client, "viewer"), make_token(client, "contributor")
    for reader in (contributor, attempt.client):
        assert value_of(reader, "shared") == VALUE
    viewer.get(path(client, "shared")).expect(403)
    assert "shared" in names(viewer)
    for writer in (viewer, attempt.client):
        put(writer, "shared", "changed").expect(403)
        writer.delete(path(client, "shared")).expect(403)
    client.put("/api/v1/workspaces/island", {}).expect(200, 201)
    islander = make_token(client, "contributor", workspace="island")
    islander.get(path(client, "shared")).expect(403, 404)
    islander.get("/api/v1/workspaces/island/secrets/shared").expect(404)
    attempt.client.get("/api/v1/workspaces/island/secrets/shared").expect(403)


def test_a_value_is_nowhere_in_clear_and_its_key_is_not_beside_it(make_server, tmp_path):
    server = make_server().start().prepare()
    client = server.client()
    put(client, "db-password").expect(204)
    value_of(client, "db-password")
    client.put(path(client, "db-password"), {"value": [VALUE]}).expect(400)
    run = client.submit("true")
    client.wait(run, "Completed")
    audit = list(client.items("/api/v1/audit", limit=500))
    assert {"secret.set", "secret.get"} <= {row["action"] for row in audit if row["object"] == "db-password"}
    assert VALUE not in str(audit)
    server.cli("backup", tmp_path / "backup")
    assert processes.showing(VALUE) == [] and processes.holding(VALUE) == []
    server.stop()
    assert VALUE not in server.said()
    for folder in (server.state, tmp_path):
        assert files_holding(folder, VALUE) == []
    folder = server.key_folder
    (key,) = folder.iterdir()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600 and stat.S_IMODE(folder.stat().st_mode) == 0o700
    for place in (server.state, tmp_path):
        plain_files = [file for file in place.rglob("*") if file.is_file()]
        assert plain_files and not [file for file in plain_files if key.read_bytes() in file.read_bytes()]


def test_a_secret_that_was_acknowledged_survives_a_kill(make_server):
    server = make_server().start()
    put(server.client(), "kept").expect(204)
    server.kill()
    assert value_of(server.start().client(), "kept") == VALUE


def test_without_its_key_a_secret_stays_closed_and_says_what_to_do(make_server, tmp_path):
    server = make_server(config={"secrets": {"key_folder": str(tmp_path / "keys")}}).start()
    client = server.client()
    put(client, "closed").expect(204)
    (key,) = (tmp_path / "keys").iterdir()
    key.rename(tmp_path / "elsewhere")
    refused = client.get(path(client, "closed")).expect(404).json()
    assert refused["hint"] and str(tmp_path) not in str(refused)
    put(client, "new").expect(204)  # with a new key
    assert value_of(client, "new") == VALUE
    (tmp_path / "elsewhere").rename(key)
    assert value_of(client, "closed") == VALUE


def test_a_row_that_was_changed_or_swapped_is_noticed(make_server):
    server = make_server().start()
    client = server.client()
    put(client, "one", "first").expect(204)
    put(client, "two", "second").expect(204)
    server.stop()
    with sqlite3.connect(server.state / "lathe.db") as database:
        rows = dict(database.execute("SELECT name, sealed FROM secrets"))
        database.execute("UPDATE secrets SET sealed = ? WHERE name = 'one'", (rows["two"],))
    client = server.start().client()
    assert client.get(path(client, "one")).expect(422).error() == "corrupt"
    assert value_of(client, "two") == "second"
