"""Secrets of a workspace: readable for who may, and for nobody else anywhere: disk, logs, audit, processes, backups."""

import base64
import os
import stat
import sys
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import processes
from harness.client import new_id
from harness.paths import REPOSITORY
from harness.pages import editing
from harness.wait import wait_for

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


def hide_secrets(attempt, *asked):
    """Plays the part of the runner: says that it hides every secret of which the attempt asks for these."""

    def ask(name):
        return attempt.script.get(path(attempt.client, name))

    with ThreadPoolExecutor(len(asked)) as pool:
        answers = [pool.submit(ask, name) for name in asked]
        for wish in attempt.desired():
            if wish.get("secrets"):
                break
        hidden = []

        def all_are_given():
            hidden.extend(each["id"] for each in exchange(attempt, hidden))
            return all(answer.done() for answer in answers)

        wait_for(all_are_given, 20, "the secrets")
        return [answer.result().expect(200).json()["value"] for answer in answers]


def exchange(attempt, hidden):
    return attempt.call("secrets", {"node": 0, "hidden": hidden}).expect(200).json()["secrets"]


SCRIPT = """
import base64, json, sys, urllib.parse
from azureml.core import Run
value = Run.get_context().get_secret("printed")
print("plain", value, flush=True)
print("coded", base64.b64encode(value.encode()).decode(), urllib.parse.quote(value), json.dumps(value, ensure_ascii=False))
sys.stdout.write("halves " + value[:9])
sys.stdout.flush()
sys.stdout.write(value[9:] + " end")
sys.stdout.flush()
print(file=sys.stderr, flush=True)
assert Run.get_context().get_secret("printed") == value
open("outputs/length", "w").write(str(len(value)))
"""


def run_python(client, script):
    variables = {"PYTHONPATH": str(REPOSITORY / "sdk" / "python")}
    return client.submit(command=[sys.executable, "-c", script], environment={"variables": variables})


def test_what_a_script_prints_of_its_secrets_is_hidden_in_its_log(any_server):
    client = any_server.client()
    put(client, "printed").expect(204)
    run = run_python(client, SCRIPT)
    client.wait(run, "Completed")
    log = client.log(run).decode()
    assert log.split("\n")[0] == "plain ***"
    assert log.split("\n")[1].replace("=", "") == 'coded *** *** "***"'
    assert log.split("\n")[2] == "halves *** end", log
    assert files_holding(any_server.state, VALUE) == []
    assert client.file(run, "outputs/length").expect(200).body == str(len(VALUE)).encode()


def test_a_secret_stays_hidden_when_the_server_is_killed(make_server, meeting_place):
    server = make_server().start().prepare()
    client = server.client()
    put(client, "printed").expect(204)
    go = meeting_place / "go"
    waiting = f"print('has it', flush=True)\nimport os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
    run = run_python(client, SCRIPT.replace("print(", waiting + "print(", 1))
    wait_for(lambda: b"has it" in client.log(run), 30, "the secret in the script")
    server.kill()
    go.touch()
    client = server.start().client()
    client.wait(run, "Completed")
    log = client.log(run).decode()
    assert log.startswith("has it\nplain ***\n") and VALUE not in log


def test_a_script_gets_a_secret_only_when_its_runner_hides_it(holder):
    client = holder.client
    put(client, "guarded").expect(204)
    put(client, "guarded-too", "another").expect(204)
    attempt = holder.submit()
    assert hide_secrets(attempt, "guarded", "guarded-too") == [VALUE, "another"]
    assert value_of(attempt.script, "guarded") == VALUE  # hidden already
    assert exchange(attempt, []) == []
    for body in ({"node": 1, "hidden": []}, {"node": 0}, {"node": 0, "hidden": [1]}):
        attempt.call("secrets", body).expect(400)
    other = holder.submit()
    assert exchange(other, ["unknown@1"]) == []
    other.client.post(f"{attempt.path}/secrets", {"node": 0, "hidden": []}).expect(403)
    client.cancel(other.run)
    next(wish for wish in other.desired() if wish["desired"] == "stop")
    assert other.script.get(path(client, "guarded")).expect(409).error() == "conflict"


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
    hide_secrets(attempt, "shared")
    viewer, contributor = make_token(client, "viewer"), make_token(client, "contributor")
    for reader in (contributor, attempt.script):
        assert value_of(reader, "shared") == VALUE
    viewer.get(path(client, "shared")).expect(403)
    assert "shared" in names(viewer)
    for writer in (viewer, attempt.script):
        put(writer, "shared", "changed").expect(403)
        writer.delete(path(client, "shared")).expect(403)
    client.put("/api/v1/workspaces/island", {}).expect(200, 201)
    islander = make_token(client, "contributor", workspace="island")
    islander.get(path(client, "shared")).expect(403, 404)
    islander.get("/api/v1/workspaces/island/secrets/shared").expect(404)
    attempt.script.get("/api/v1/workspaces/island/secrets/shared").expect(403)


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
    with editing(server.state / "lathe.db") as database:
        rows = dict(database.execute("SELECT name, sealed FROM secrets"))
        database.execute("UPDATE secrets SET sealed = ? WHERE name = 'one'", (rows["two"],))
    client = server.start().client()
    assert client.get(path(client, "one")).expect(422).error() == "corrupt"
    assert value_of(client, "two") == "second"
