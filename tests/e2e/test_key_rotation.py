"""New keys for the secrets: nothing is lost, whoever is killed meanwhile, and old keys are needed by nobody afterwards."""

import json
import os
import random
import shutil
import signal
import sqlite3
import threading

import pytest

from harness import campaign
from harness.client import new_id
from harness.server import StartFailed
from test_keyvault import exchange, make_token, path, put, value_of
from test_kill_points import failing_at, start_plainly, until_answered

ROTATE = "/api/v1/secrets/rotate"
COUNT = 250  # more than two batches


@pytest.fixture
def kept(make_server, tmp_path):
    """A server with secrets in two workspaces, and what they are."""
    server = make_server(config={"secrets": {"key_folder": str(tmp_path / "keys")}}).start()
    return server, fill(server)


def fill(server, count=COUNT):
    client = server.client()
    client.put("/api/v1/workspaces/island", {}).expect(200, 201)
    values = {}
    for number in range(count):
        where = f"/api/v1/workspaces/{'island' if number % 3 else 'default'}/secrets/secret-{number}"
        values[where] = f"value {number} {new_id()}"
        client.put(where, {"value": values[where]}).expect(204)
    return values


def found(server, values):
    client = server.client()
    return {where: client.get(where).expect(200).json()["value"] for where in values}


def times(server):
    return {each["name"]: each["updated"] for each in server.client().items("/api/v1/workspaces/island/secrets")}


def keys_of(folder):
    return sorted(file.name.removesuffix(".key") for file in folder.iterdir())


def test_every_secret_gets_the_new_key_and_keeps_its_value_and_time(kept, tmp_path):
    server, values = kept
    (old,) = keys_of(tmp_path / "keys")
    before = times(server)
    answer = json.loads(server.cli("--output", "json", "secret", "rotate-keys").stdout)
    assert answer["secrets"] == COUNT and answer["unopened"] == 0 and answer["unused"] == [old]
    assert keys_of(tmp_path / "keys") == [old, answer["key"]]
    assert (tmp_path / "keys" / f"{answer['key']}.key").stat().st_mode & 0o777 == 0o600
    (tmp_path / "keys" / f"{old}.key").unlink()
    assert found(server, values) == values and times(server) == before
    again = server.client().post(ROTATE).expect(200).json()
    assert again["secrets"] == COUNT and again["key"] > answer["key"] and again["unused"] == [answer["key"]]
    actions = [row for row in server.client().items("/api/v1/audit", limit=500) if row["action"] == "secret.rotate"]
    assert {row["object"] for row in actions} == {answer["key"], again["key"]}


def test_only_an_admin_rotates(server, holder):
    client = server.client()
    for role in ("viewer", "contributor", "operator"):
        make_token(client, role).post(ROTATE).expect(403)
    make_token(client, "admin", workspace="default").post(ROTATE).expect(403)
    attempt = holder.submit()
    attempt.client.post(ROTATE).expect(403)
    assert exchange(attempt, []) == []


def test_a_secret_whose_key_is_lost_is_left_as_it_is(kept, tmp_path):
    server, _ = kept
    client = server.client()
    (first,) = keys_of(tmp_path / "keys")
    (tmp_path / "keys" / f"{first}.key").rename(tmp_path / "away")
    put(client, "later", "with a key of its own").expect(204)
    answer = client.post(ROTATE).expect(200).json()
    assert (answer["secrets"], answer["unopened"]) == (1, COUNT) and first not in answer["unused"]
    assert value_of(client, "later") == "with a key of its own"
    (tmp_path / "away").rename(tmp_path / "keys" / f"{first}.key")
    assert client.post(ROTATE).expect(200).json()["secrets"] == COUNT + 1


def test_secrets_that_are_set_meanwhile_have_the_new_key_too(kept):
    server, values = kept
    over = threading.Event()
    wrong = []

    def set_them():
        client = server.client()
        while not over.is_set():
            for where in list(values)[:20]:
                value = new_id()
                if client.put(where, {"value": value}).status != 204:
                    wrong.append(where)
                values[where] = value

    setter = threading.Thread(target=set_them)
    setter.start()
    try:
        answers = [server.client().post(ROTATE) for _ in range(3)]
    finally:
        over.set()
        setter.join()
    assert [answer.status for answer in answers] == [200] * 3 and not wrong
    assert found(server, values) == values
    server.stop()
    with sqlite3.connect(server.state / "lathe.db") as database:
        assert [key for (key,) in database.execute("SELECT DISTINCT key_id FROM secrets")] == [answers[-1].json()["key"]]


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_a_kill_at_any_write_of_a_rotation_loses_no_secret(kept, tmp_path):
    server, values = kept
    seed = int(os.environ.get("LATHE_SEED", random.SystemRandom().randrange(2**31)))
    chance, killed = random.Random(seed), 0
    for calls in ("pwrite64", "fdatasync", "fsync", "rename,renameat,renameat2", "write", "sendmsg,sendto"):
        for number in chance.sample(range(1, 12), 2):
            server.kill()
            server.prefix = failing_at(calls, number, "signal=SIGKILL")
            try:
                server.start()
            except StartFailed:
                start_plainly(server)
            answer = until_answered(server, lambda client: client.post(ROTATE), (200,)).json()
            killed += not server.prefix
            assert answer["unopened"] == 0
            if server.prefix:  # the server itself, not the strace before it
                os.kill(server.pid, signal.SIGKILL)
                server.process.wait(30)
                start_plainly(server)
            assert found(server, values) == values, f"after a kill at {calls} number {number}"
            for unused in answer["unused"]:  # nobody needs them
                (tmp_path / "keys" / f"{unused}.key").unlink(missing_ok=True)
    assert killed > 0
    campaign.say(f"key rotation: {killed} kills, no secret lost, seed {seed}")
