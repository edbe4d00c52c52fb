"""Every route with every kind of credential; the expectation is each operation's x-permission in the contract."""

import http.client
import json
import secrets
import time
import threading

import pytest

from harness import contract
from harness.blobs import digest
from harness.cases import check_each
from harness.client import make_submit, new_id
from harness.pages import editing
from harness.wait import wait_for

ROLES = ["viewer", "contributor", "operator", "admin"]
NOBODY = ["none", "garbage", "wrong", "expired", "revoked"]
RUNNERS = ["runner", "runner of another run"]
SCRIPTS = ["script", "script of another run"]
# permission → who passes. Everyone else gets 401 (no valid credential) or 403. What a script may do to which things is
# in test_run_tokens.py.
ALLOWED = {
    "open": [*NOBODY, *SCRIPTS, *RUNNERS, *ROLES],
    "read": [*SCRIPTS, *ROLES],
    "read_or_runner": [*SCRIPTS, *RUNNERS, *ROLES],
    "write": ROLES[1:],
    "write_or_own_run": [*SCRIPTS, *ROLES[1:]],
    "upload": [*SCRIPTS, *RUNNERS, *ROLES[1:]],
    "operate": ROLES[2:],
    "administer": ROLES[3:],
    "own_attempt": RUNNERS[:1],
}
CREDENTIALS = [*NOBODY, *SCRIPTS, *RUNNERS, *ROLES]
OPERATIONS = {operation.id: operation for operation in contract.operations()}
# Requests that pass the gate and then change nothing.
DRY = {"dry_run": True}
BODIES = {"collectGarbage": DRY, "collectEnvironments": DRY, "findMissingBlobs": {"digests": []}}


@pytest.fixture(scope="module")
def credentials(holder):
    """name of the credential → its token; and the run that runner and script belong to."""
    client = holder.client

    def make(name, role, **fields):
        return client.post("/api/v1/tokens", {"name": name, "role": role, **fields}).expect(201).json()

    made = {role: make(f"the {role}", role)["token"] for role in ROLES}
    expired, revoked = make("expired", "admin"), make("revoked", "admin")
    client.delete(f"/api/v1/tokens/{revoked['id']}").expect(204)
    own, other = holder.submit(), holder.submit()
    for attempt in (own, other):
        attempt.claim().expect(200)
    holder.server.stop()
    with editing(holder.server.state / "lathe.db") as database:
        database.execute("UPDATE tokens SET expires = 1 WHERE id = ?", (expired["id"],))
    holder.server.start()
    made |= {
        "none": None,
        "garbage": "\u00ff not a token",
        "wrong": "lathe_" + "A" * len(made["viewer"][6:]),
        "expired": expired["token"],
        "revoked": revoked["token"],
        RUNNERS[0]: own.client.token,
        RUNNERS[1]: other.client.token,
        SCRIPTS[0]: own.script.token,
        SCRIPTS[1]: other.script.token,
        "run": own.run,
    }
    return made


UNIX_SOCKET_ONLY = {"openStaging", "commitStaged"}


def target(operation, run):
    """A path that exists for the gate; what it names does not, except the run of runner and script."""
    values = {
        "workspace": "default",
        "experiment": "absent",
        "compute": "absent",
        "datastore": "absent",
        "dataset": "absent",
        "dataset_id": "00000000-0000-0000-0000-000000000000",
        "model": "absent",
        "version": "1",
        "environment": "absent",
        "build": "1",
        "token": "999999",
        "digest": "ab" * 32,
        "attempt": "1",
        "secret": "absent",
        "staging": "0" * 32,
        "project": "absent",
        "file": "absent",
        "run": run if operation.permission == "own_attempt" else "absent_run",
    }
    return operation.path.format(**values)


@pytest.mark.parametrize("name", CREDENTIALS)
def test_a_credential_opens_exactly_the_routes_whose_permission_names_it(holder, credentials, name):
    client, on_this_machine = holder.server.tcp_client(), holder.server.client()
    client.token = credentials[name]
    sent = {}
    if client.token and not client.token.isascii():
        client.token, sent = None, {"Authorization": b"Bearer \xff not a token"}
    on_this_machine.token = client.token

    def check(identity):
        operation = OPERATIONS[identity]
        headers, body = dict(sent), None
        if operation.method in ("POST", "PUT", "PATCH"):
            headers["Content-Type"], body = "application/json", json.dumps(BODIES.get(identity, {})).encode()
        with (on_this_machine if identity in UNIX_SOCKET_ONLY else client).open(operation.method, target(operation, credentials["run"]), body=body, headers=headers) as response:
            status = response.status
        if name in ALLOWED[operation.permission]:
            assert status not in (401, 403) and status < 500, status
        else:
            assert status == (401 if name in NOBODY else 403), status

    check_each(OPERATIONS, check)


def test_a_refused_caller_learns_nothing(holder, credentials):
    for name in ("none", "wrong"):
        client = holder.server.tcp_client()
        client.token = credentials[name]
        answers = {client.get(client.path("runs", run)).body for run in (credentials["run"], "absent_run")}
        assert len(answers) == 1, "a stranger can tell which runs exist"
        answer = client.get(client.path("runs")).expect(401)
        assert answer.error() == "unauthorized" and str(holder.server.state).encode() not in answer.body


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "CONNECT", "BREW", "get", "PROPFIND"])
def test_other_methods_reach_no_handler(holder, method):
    client = holder.server.tcp_client()
    client.token = None
    for path in ("/api/v1/workspaces/default/runs", "/api/v1/tokens", "/healthz"):
        with client.open(method, path) as response:
            assert response.status in (400, 401, 404, 405, 501), f"{method} {path}: {response.status}"


def test_a_known_path_with_another_method_is_405_and_says_which_are_allowed(holder):
    answer = holder.client.request("PATCH", "/api/v1/tokens")
    assert answer.status == 405 and set(answer.headers["allow"].replace(" ", "").split(",")) >= {"GET", "POST"}
    holder.client.get("/api/v1/no-such-thing").expect(404).error()
    holder.client.get("/no-such-thing").expect(404)


@pytest.mark.parametrize("scheme", ["Basic {}", "bearer{}", "Bearer  ", "Token {}", "Bearer {} x", "Bearer {}x", "{}"])
def test_only_a_well_formed_bearer_credential_counts(holder, scheme):
    client = holder.server.tcp_client()
    header = {"Authorization": scheme.format(client.token)}
    client.token = None
    client.request("GET", client.path("runs"), headers=header).expect(401)


def test_a_token_in_the_query_or_a_cookie_does_not_count(holder):
    client = holder.server.tcp_client()
    token, client.token = client.token, None
    client.get(client.path("runs"), token=token, access_token=token).expect(400, 401)
    client.request("GET", client.path("runs"), headers={"Cookie": f"token={token}"}).expect(401)


def test_the_unix_socket_needs_a_token_too(holder):
    client = holder.server.client()
    client.token = None
    client.get(client.path("runs")).expect(401)


def test_a_token_of_one_workspace_does_not_reach_another(holder):
    client = holder.client
    client.put("/api/v1/workspaces/island", {}).expect(200, 201)
    token = (
        client.post("/api/v1/tokens", {"name": "islander", "role": "contributor", "workspace": "island"})
        .expect(201)
        .json()["token"]
    )
    islander = client.with_token(token)
    islander.get("/api/v1/workspaces/island/runs").expect(200)
    islander.get("/api/v1/workspaces/default/runs").expect(403, 404)
    islander.post("/api/v1/workspaces/default/runs", make_submit("true")).expect(403, 404)


def test_a_run_token_does_not_reach_another_workspace(holder):
    client = holder.client
    client.put("/api/v1/workspaces/island", {}).expect(200, 201)
    attempt = holder.submit()
    attempt.script.get("/api/v1/workspaces/default/runs").expect(200)
    attempt.script.get("/api/v1/workspaces/island/runs").expect(403, 404)


def test_a_run_token_of_one_attempt_is_no_token_of_the_next(holder):
    attempt = holder.submit(retries={"user": 1})
    attempt.claim().expect(200)
    attempt.finish(exit_code=1).expect(200)
    second = holder.attempt(attempt.run, 2)
    stale = attempt.client.post(f"{second.path}/claim", {"node": 0, "runner_version": "0", "host": "x", "pid": 1})
    assert stale.status in (401, 403, 409)
    second.claim().expect(200)


def test_tokens_are_listed_without_their_secret_and_revoked_at_once(holder):
    client = holder.client
    made = client.post("/api/v1/tokens", {"name": new_id("t"), "role": "viewer", "expires_in_days": 1}).expect(201).json()
    listed = client.get("/api/v1/tokens", limit=500).expect(200)
    assert made["token"].encode() not in listed.body
    row = next(row for row in listed.json()["items"] if row["id"] == made["id"])
    assert row["name"] == made["name"] and row["expires"] and "token" not in row
    viewer = client.with_token(made["token"])
    viewer.get("/api/v1/server").expect(200)
    client.delete(f"/api/v1/tokens/{made['id']}").expect(204)
    viewer.get("/api/v1/server").expect(401)
    assert client.delete(f"/api/v1/tokens/{made['id']}").status in (204, 404, 409)


def test_a_token_for_a_workspace_that_does_not_exist_is_refused(holder):
    name = new_id("t")
    refused = holder.client.post("/api/v1/tokens", {"name": name, "role": "viewer", "workspace": "nowhere"}).expect(404)
    assert refused.json()["field"] == "workspace" and refused.json()["hint"]
    rows = holder.client.items("/api/v1/tokens", limit=500)
    assert all(row["name"] != name for row in rows)


def revocable(client, role="contributor"):
    """A new token's client, and what revokes it."""
    made = client.post("/api/v1/tokens", {"name": new_id("t"), "role": role}).expect(201).json()
    return client.with_token(made["token"]), lambda: client.delete(f"/api/v1/tokens/{made['id']}").expect(204)


def test_an_open_stream_ends_with_its_token(holder):
    client = holder.client
    spy, revoke = revocable(client, "viewer")
    attempt = holder.submit()
    attempt.claim().expect(200)
    attempt.append(b"line\n", 0).expect(200)
    log = client.path("runs", attempt.run, "logs")
    with (
        spy.open("GET", client.path("events"), timeout=20) as events,
        spy.open("GET", log, {"follow": "true"}, timeout=20) as followed,
        client.open("GET", log, {"follow": "true"}, timeout=20) as own,
    ):
        assert events.readline() == b": lathe events\n"
        assert followed.read1(100) == own.read1(100) == b"line\n"
        revoke()
        with pytest.raises(http.client.IncompleteRead):
            events.read()
        with pytest.raises(http.client.IncompleteRead):
            followed.read()
        attempt.append(b"more\n", 5).expect(200)
        assert own.read1(100) == b"more\n", "the stream of another token ended too"


def test_an_open_stream_ends_when_its_token_expires(make_server):
    server = make_server().start().prepare()
    client = server.client()
    made = client.post("/api/v1/tokens", {"name": "short", "role": "viewer"}).expect(201).json()
    run = client.submit("echo line; sleep 600")
    wait_for(lambda: client.log(run) == b"line\n", 30, "the first output")
    server.stop()
    with editing(server.state / "lathe.db") as database:
        database.execute("UPDATE tokens SET expires = ? WHERE id = ?", (int((time.time() + 4) * 1e6), made["id"]))
    client = server.start().client()
    short, log = client.with_token(made["token"]), client.path("runs", run, "logs")
    with (
        short.open("GET", client.path("events"), timeout=30) as events,
        short.open("GET", log, {"follow": "true"}, timeout=30) as followed,
        client.open("GET", log, {"follow": "true"}, timeout=30) as own,
    ):
        assert events.readline() == b": lathe events\n"
        assert followed.read1(100) == own.read1(100) == b"line\n"
        for stream in (events, followed):
            with pytest.raises(http.client.IncompleteRead):
                stream.read()
        short.get("/api/v1/server").expect(401)
        client.cancel(run)
        assert own.read() == b"", "the stream of another token goes on to the end of the run"
    client.wait(run, "Canceled")


def test_an_upload_under_way_ends_with_its_token(holder):
    spy, revoke = revocable(holder.client)
    data = secrets.token_bytes(1 << 20)
    connection = spy.connect(20)
    connection.putrequest("PUT", f"/api/v1/blobs/{digest(data)}?offset=0&size={len(data)}")
    for name, value in {"Authorization": f"Bearer {spy.token}", "Content-Length": len(data)}.items():
        connection.putheader(name, str(value))
    connection.endheaders()
    connection.send(data[: 1 << 19])
    partial = holder.server.state / "store"
    wait_for(lambda: any(digest(data) in str(file) for file in partial.rglob("*")), 20, "the first half")
    revoke()
    with pytest.raises((OSError, http.client.HTTPException)):
        connection.send(data[1 << 19 :])
        connection.getresponse()
    holder.client.get(f"/api/v1/blobs/{digest(data)}").expect(404)
    connection.close()


def test_a_token_that_revokes_itself_is_told_so(holder):
    made = holder.client.post("/api/v1/tokens", {"name": new_id("t"), "role": "admin"}).expect(201).json()
    itself = holder.client.with_token(made["token"])
    itself.delete(f"/api/v1/tokens/{made['id']}").expect(204)
    itself.get("/api/v1/server").expect(401)


def test_no_request_that_begins_after_a_revocation_gets_in(holder):
    """Many clients use a token for the first time just while it is revoked: look-ups of its row are under way then."""
    for _ in range(30):
        spy, revoke = revocable(holder.client, "viewer")
        revoked, late = threading.Event(), []

        def knock():
            while not revoked.is_set():
                spy.get("/api/v1/server").expect(200, 401)
            late.append(spy.get("/api/v1/server").status)

        clients = [threading.Thread(target=knock) for _ in range(4)]
        for thread in clients:
            thread.start()
        revoke()
        revoked.set()
        for thread in clients:
            thread.join()
        assert late == [401] * 4


def test_the_admin_token_cannot_be_revoked(holder):
    """Whoever did it would lock everybody out, themselves included."""
    rows = holder.client.get("/api/v1/tokens", limit=500).expect(200).json()["items"]
    admin = next(row for row in rows if row["name"] == "admin")
    assert holder.client.delete(f"/api/v1/tokens/{admin['id']}").expect(409).error() == "conflict"
    holder.client.get("/api/v1/server").expect(200)


def test_an_admin_token_that_is_put_back_is_good_again(make_server):
    """The file of the state folder decides, also when it held that token before."""
    server = make_server().start()
    first = server.token
    tokens = [first, "lathe_" + secrets.token_urlsafe(32), first]
    for token in tokens:
        server.stop()
        (server.state / "token").write_text(token + "\n")
        server.start()
        client = server.client()
        client.get("/api/v1/tokens").expect(200)
        for other in set(tokens) - {token}:
            client.with_token(other).get("/api/v1/server").expect(401)
    rows = client.get("/api/v1/tokens", limit=500).expect(200).json()["items"]
    assert [row["revoked"] for row in rows if row["name"] == "admin"].count(None) == 1
    assert "token.restore" in {row["action"] for row in client.items("/api/v1/audit")}


def test_another_token_in_the_file_becomes_the_admins(make_server):
    server = make_server().start()
    made = server.client().post("/api/v1/tokens", {"name": "viewer", "role": "viewer"}).expect(201).json()["token"]
    server.stop()
    (server.state / "token").write_text(made + "\n")
    server.start().client().get("/api/v1/tokens").expect(200)


def denied(client):
    return [row for row in client.items("/api/v1/audit", limit=500) if row["action"] == "denied"]


def test_denied_calls_are_in_the_audit_trail(make_server):
    server = make_server().start()
    client = server.client()
    viewer = client.with_token(client.post("/api/v1/tokens", {"name": "nosy", "role": "viewer"}).expect(201).json()["token"])
    viewer.get("/api/v1/tokens").expect(403)
    client.with_token("lathe_wrong").get("/api/v1/tokens").expect(401)
    client.with_token(None).get("/no-such-path").expect(401)
    wait_for(lambda: len(denied(client)) == 3, 20, "three rows")
    assert {(row["actor"], row["object"], row["detail"]) for row in denied(client)} == {
        ("nosy", "listTokens", "403"),
        ("nobody", "listTokens", "401"),
        ("nobody", "unknown", "401"),
    }
    assert all("uid=" in row["source"] for row in denied(client)) and "lathe_wrong" not in str(denied(client))


def test_a_flood_of_denied_calls_is_counted_and_does_not_fill_the_disk(make_server):
    server = make_server().start()
    client = server.client()
    stranger = client.with_token("lathe_wrong")
    viewer = client.with_token(client.post("/api/v1/tokens", {"name": "nosy", "role": "viewer"}).expect(201).json()["token"])
    for _ in range(300):
        stranger.get("/api/v1/tokens").expect(401)
    # The noise of strangers does not hide what holders of tokens do.
    viewer.get("/api/v1/tokens").expect(403)
    wait_for(lambda: any(row["actor"] == "nosy" for row in denied(client)), 20, "the viewer's row")
    assert 30 <= len([row for row in denied(client) if row["actor"] == "nobody"]) <= 60


def test_tokens_expire_by_default(holder):
    made = holder.client.post("/api/v1/tokens", {"name": "default-expiry", "role": "viewer"}).expect(201).json()
    assert made["expires"] is not None and made["expires"] > made["created"]


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x"},
        {"role": "viewer"},
        {"name": "x", "role": "root"},
        {"name": "", "role": "viewer"},
        {"name": "admin", "role": "viewer"},
        {"name": "x" * 129, "role": "viewer"},
        {"name": "x", "role": "viewer", "expires_in_days": 0},
        {"name": "x", "role": "viewer", "expires_in_days": 10**12},
        {"name": "x", "role": "viewer", "workspace": "../x"},
        {"name": "x" * 10_000, "role": "viewer"},
    ],
    ids=lambda body: str(body)[:60],
)
def test_a_wrong_token_request_is_refused(holder, body):
    holder.client.post("/api/v1/tokens", body).expect(400, 404, 413)
