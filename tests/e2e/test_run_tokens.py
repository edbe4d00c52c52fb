"""The two tokens of an attempt. The script's writes what is its own and nothing else: every operation of the contract
that writes is tried on real things of others, and each of them must be as it was. The runner's is for its attempt."""

import json
import sys
import uuid

import pytest

from harness import contract, paths, processes
from harness.attempt import exit_record, script_token
from harness.blobs import digest, pack
from harness.client import new_id
from harness.pages import editing
from harness.registry import file_definition, materialize, put_files, register_model, save_dataset, send, tree_entries
from harness.wait import wait_for

WRITES = {operation.id: operation for operation in contract.operations() if operation.method not in ("GET", "HEAD")}
TEAM = b"what the team wrote"
POISON = b"poisoned"


def stored_bytes(client, path):
    """Of a file of the default datastore; None where there is none."""
    content = client.path("datastores", "workspaceblobstore", "files", "content")
    answer = client.request("GET", content, query={"path": path}).expect(200, 404)
    return answer.body if answer.status == 200 else None


class World:
    """Things of a user and of another run, one of each kind."""

    def __init__(self, holder):
        self.holder, self.admin = holder, holder.client
        client = self.admin
        self.own, self.other = holder.submit(), holder.submit(tags={"kept": "yes"})
        for attempt in (self.own, self.other):
            attempt.claim().expect(200)
        started = client.post(client.path("runs"), {"id": new_id("mine"), "experiment": "default", "kind": "interactive"})
        self.session = started.expect(201).json()["id"]
        put_files(client, "workspaceblobstore", {"team/data.bin": TEAM})
        client.put(client.path("datastores", "teamstore"), {"kind": "store"}).expect(201)
        self.dataset_id = save_dataset(client, {"datastore": "workspaceblobstore", "path": "team"})
        client.post(client.path("datasets", "teamdata", "versions"), {"id": self.dataset_id}).expect(201)
        materialize(client, self.dataset_id).expect(200)
        self.model_id = str(uuid.uuid4())
        blob = send(client, TEAM)[0]
        register_model(client, "teammodel", id=self.model_id, blob=blob, file_name="w").expect(201)
        definition = {"python": {"userManagedDependencies": True, "interpreterPath": sys.executable}}
        client.put(client.path("environments", "teamenv"), {"definition": definition}).expect(201)
        client.put(client.path("secrets", "teamsecret"), {"value": "s3cret-value"}).expect(204)
        self.definition = definition
        self.token = client.post("/api/v1/tokens", {"name": new_id("t"), "role": "viewer"}).expect(201).json()["id"]

    def look(self):
        """What an administrator sees of these things."""
        client = self.admin

        def get(*parts, **query):
            return client.get(client.path(*parts), **query).expect(200).json()

        def plain(rows):
            return [{key: value for key, value in row.items() if key != "last_used"} for row in rows]

        def not_latest(version):
            """A newer version may come; the old one stays what it is."""
            return {key: value for key, value in version.items() if key != "latest"}

        runs = [self.other.run, self.session]
        return {
            "runs": [get("runs", run) for run in runs],
            "files": [get("runs", run, "files") for run in runs],
            "metrics": [get("runs", run, "metrics") for run in runs],
            "dataset": not_latest(get("datasets", "teamdata", version="1")),
            "tree": tree_entries(client, get("datasets", "by-id", self.dataset_id)["tree"]),
            "model": not_latest(get("models", "teammodel", "versions", "1")),
            "environment": get("environments", "teamenv"),
            "file": stored_bytes(client, "team/data.bin"),
            "datastores": get("datastores"),
            "default": get("default-datastore"),
            "secret": get("secrets", "teamsecret"),
            "computes": get("computes"),
            "workspaces": client.get("/api/v1/workspaces").expect(200).json(),
            "tokens": plain(client.get("/api/v1/tokens", limit=500).expect(200).json()["items"]),
        }


@pytest.fixture(scope="module")
def world(holder):
    return World(holder)


def attacks(world, script):
    """operationId → (path parameters, query, body): each aims at something of others. All are well formed."""
    file = {"path": "team/data.bin", "digest": digest(POISON), "size": len(POISON)}
    run, session = {"run": world.other.run}, {"run": world.session}
    dataset, model = {"dataset": "teamdata"}, {"model": "teammodel", "version": "1"}
    child = {"id": new_id("child"), "experiment": "default", "kind": "interactive", "parent": world.other.run}
    metric = json.dumps({"name": "m", "value": 1}).encode() + b"\n"
    poisoned = script.post(script.path("datasets"), {"definition": file_definition({"datastore": "workspaceblobstore", "path": "x"})})
    new_dataset = poisoned.expect(200, 201).json()["id"]
    body = {
        "submitRun": ({}, {}, child),
        "deleteRun": (run, {}, None),
        "cancelRun": (run, {}, {}),
        "archiveRun": (run, {}, {}),
        "patchRunTags": (run, {}, {"kept": "no"}),
        "completeRun": (session, {}, {}),
        "failRun": (session, {}, {}),
        "patchRunProperties": (run, {}, {"set": {"a": "b"}}),
        "putRunArtifacts": (run, {}, {"artifacts": [{**file, "path": "outputs/x"}]}),
        "appendRunMetrics": (session, {"source": "s", "offset": 0}, metric),
        "putDatastoreFiles": ({"datastore": "workspaceblobstore"}, {}, {"files": [file], "overwrite": True}),
        "deleteDatastoreFiles": ({"datastore": "workspaceblobstore"}, {"prefix": "team"}, None),
        "putDatastore": ({"datastore": "teamstore"}, {}, {"kind": "store", "type": "AzureFile"}),
        "deleteDatastore": ({"datastore": "teamstore"}, {}, None),
        "setDefaultDatastore": ({}, {}, {"name": "teamstore"}),
        "saveDataset": ({}, {}, {"definition": file_definition({"datastore": "workspaceblobstore", "path": "team"})}),
        "registerDataset": (dataset, {}, {"id": new_dataset, "create_new_version": True}),
        "patchDataset": (dataset, {"version": "1"}, {"description": "mine"}),
        "deleteDataset": (dataset, {}, None),
        "listDatasetFiles": ({"dataset_id": world.dataset_id}, {}, None),
        "materializeDataset": ({"dataset_id": world.dataset_id}, {}, None),
        "registerModel": ({}, {}, {"id": world.model_id, "name": "teammodel", "blob": digest(POISON), "file_name": "w"}),
        "patchModel": (model, {}, {"description": "mine"}),
        "deleteModel": (model, {}, None),
        "putEnvironment": ({"environment": "teamenv"}, {}, {"definition": {**world.definition, "environmentVariables": {"A": "b"}}}),
        "putEnvironmentLock": ({"environment": "teamenv"}, {}, {}),
        "buildEnvironment": ({"environment": "teamenv"}, {}, {}),
        "buildDefinition": ({}, {}, {"definition": {"python": {}}}),
        "cancelEnvironmentBuild": ({"build": "1"}, {}, {}),
        "collectEnvironments": ({}, {}, {"dry_run": True}),
        "putCompute": ({"compute": "pool"}, {}, {"vm_size": "machine", "max_nodes": 1}),
        "deleteCompute": ({"compute": "pool"}, {}, None),
        "putWorkspace": ({"workspace": "default"}, {}, {}),
        "putSecret": ({"secret": "teamsecret"}, {}, {"value": "changed"}),
        "deleteSecret": ({"secret": "teamsecret"}, {}, None),
        "rotateSecretKeys": ({}, {}, {}),
        "createToken": ({}, {}, {"name": "spy", "role": "admin"}),
        "revokeToken": ({"token": str(world.token)}, {}, None),
        "findMissingBlobs": ({}, {}, {"digests": [digest(TEAM)]}),
        "putBlobPack": ({}, {}, pack(POISON)),
        "putBlob": ({"digest": digest(TEAM)}, {"offset": 0, "size": len(TEAM)}, POISON[:4]),
        "openStaging": ({}, {}, {}),
        "commitStaged": ({"staging": "0" * 32}, {}, {"blobs": {}}),
        "collectGarbage": ({}, {}, {"dry_run": True}),
        "verifyStore": ({}, {}, {}),
    }
    runner = {
        "claimAttempt": ({}, {"node": 0, "runner_version": "0", "host": "x", "pid": 1}),
        "exchangeSecrets": ({}, {"node": 0, "hidden": []}),
        "appendLog": ({"name": "azureml-logs/70_driver_log.txt", "segment": 0, "offset": 0}, b"forged\n"),
        "linkLog": ({}, {"name": "azureml-logs/70_driver_log.txt", "segment": 0, "size": 1}),
        "appendMetrics": ({"source": "s", "offset": 0}, metric),
        "putArtifacts": ({}, {"files": [{**file, "path": "outputs/x"}]}),
        "putOutputs": ({}, {"files": []}),
        "addNotes": ({}, {"notes": ["forged"]}),
        "reportState": ({}, {"state": "finalizing"}),
        "finishAttempt": ({}, {"node": 0, "exit": exit_record(0)}),
    }
    for name, (query, value) in runner.items():
        body[name] = ({"run": world.other.run, "attempt": "1"}, query, value)
    return body


# What a script may do although the thing is another's: it adds, or the answer is what is there already.
ADDS = {"saveDataset", "registerDataset", "materializeDataset", "listDatasetFiles", "findMissingBlobs", "putBlobPack", "putBlob"}
# Another's registration under this id: a conflict, not a matter of rights.
REPEATS = {"registerModel"}


def try_each(world, client, calls):
    """operationId → status."""
    found = {}
    for name, (params, query, value) in calls.items():
        path = WRITES[name].path.format(**{"workspace": "default", **params})
        raw = value if isinstance(value, bytes) else None
        answer = client.request(WRITES[name].method, path, query=query, json_body=None if raw else value, body=raw)
        found[name] = answer.status
    return found


def test_no_operation_of_a_script_changes_what_is_of_others(world):
    script = world.own.script
    send(script, POISON)
    calls = attacks(world, script)
    assert set(calls) == set(WRITES), "each operation that writes is tried here"
    before = world.look()
    statuses = try_each(world, script, calls)
    assert world.look() == before
    for name, status in statuses.items():
        if name in ADDS:
            assert status < 300 or name == "putBlob", f"{name}: {status}"
        elif name in REPEATS:
            assert status == 409, f"{name}: {status}"
        else:
            assert status == 403, f"{name}: {status}"


def test_a_runner_acts_for_its_attempt_and_for_nothing_else(world):
    calls = attacks(world, world.own.script)
    before = world.look()
    statuses = try_each(world, world.own.client, calls)
    assert world.look() == before
    bytes_only = {"findMissingBlobs", "putBlobPack", "putBlob"}
    wrong = {name: status for name, status in statuses.items() if status != 403 and name not in bytes_only}
    assert not wrong
    for path in (world.admin.path("runs"), world.admin.path("secrets", "teamsecret"), world.admin.path("models")):
        world.own.client.get(path).expect(403)


def test_no_route_of_a_runner_takes_the_token_of_its_own_script(world):
    attempt = world.holder.submit()
    attempt.claim().expect(200)
    for operation in contract.operations():
        if operation.permission != "own_attempt":
            continue
        path = operation.path.format(run=attempt.run, attempt=1)
        body = None if operation.method == "GET" else {}
        assert attempt.script.request(operation.method, path, json_body=body).expect(403).error() == "forbidden"
    attempt.finish(exit_code=3).expect(200)
    assert world.admin.run(attempt.run)["status"] == "Failed"


def test_a_script_writes_what_is_its_own(world):
    script, client = world.own.script, world.admin
    stored = client.path("datastores", "workspaceblobstore", "files")
    name = f"{world.own.run}/result.bin"
    for data in (b"first", b"second, longer"):
        assert put_files(script, "workspaceblobstore", {name: data}, overwrite=True)["written"] == [name]
        assert stored_bytes(client, name) == data
    # Another run does not replace it, nor does it with the same words "do not overwrite".
    other = world.other.script
    send(other, POISON)
    body = {"files": [{"path": name, "digest": digest(POISON), "size": len(POISON)}], "overwrite": True}
    assert other.post(stored, body).expect(403).json()["field"] == "files"
    assert other.post(stored, {**body, "overwrite": False}).expect(200).json()["skipped"] == [name]
    assert stored_bytes(client, name) == b"second, longer"
    # All or nothing: what comes before the refused file is not written either.
    more = {"path": "new.bin", "digest": digest(POISON), "size": len(POISON)}
    other.post(stored, {"files": [more, *body["files"]], "overwrite": True}).expect(403)
    assert stored_bytes(client, "new.bin") is None
    # To write what is there already makes it nobody else's.
    same = {"path": "team/data.bin", "digest": send(script, TEAM)[0], "size": len(TEAM)}
    assert script.post(stored, {"files": [same], "overwrite": True}).expect(200).json()["skipped"] == ["team/data.bin"]
    send(script, POISON)
    script.post(stored, {"files": [{**body["files"][0], "path": "team/data.bin"}], "overwrite": True}).expect(403)
    # A user replaces it, and then it is no more the run's.
    put_files(client, "workspaceblobstore", {name: TEAM}, overwrite=True)
    script.post(stored, {"files": [{**body["files"][0]}], "overwrite": True}).expect(403)


def test_a_script_adds_to_a_local_folder_and_replaces_nothing_there(make_server, tmp_path, mark):
    folder = tmp_path / "roots" / "shared"
    folder.mkdir(parents=True)
    (folder / "kept").write_bytes(TEAM)
    server = make_server(config={"datastores": {"roots": [str(tmp_path / "roots")]}}).start().prepare()
    client = server.client()
    client.put(client.path("datastores", "shared"), {"kind": "local", "path": str(folder), "writable": True}).expect(201)
    with live_script(server, mark) as script:
        send(script, POISON)
        files = client.path("datastores", "shared", "files")
        named = {"digest": digest(POISON), "size": len(POISON)}
        script.post(files, {"files": [{"path": "kept", **named}], "overwrite": True}).expect(403)
        script.post(files, {"files": [{"path": "added", **named}], "overwrite": True}).expect(200)
    assert (folder / "kept").read_bytes() == TEAM and (folder / "added").read_bytes() == POISON
    said = [(row["action"], row["detail"]) for row in client.items("/api/v1/audit") if row["object"] == "shared"]
    assert ("datastore.writing", "1 files") in said and ("datastore.write", "1 files") in said


class live_script:
    """A real run that sleeps, and a client with the token of its script; the run is over at the end."""

    def __init__(self, server, mark):
        self.client, self.mark = server.client(), mark

    def __enter__(self):
        self.run = self.client.submit("sleep 600", environment={"variables": {"E2E_MARK": self.mark}})
        token = []

        def found():
            for pid in processes.with_environment("E2E_MARK", self.mark):
                token[:] = [processes.environment(pid).get("AZUREML_RUN_TOKEN", "")]
            return token and token[0]

        wait_for(found, 30, "the process of the run")
        return self.client.with_token(token[0])

    def __exit__(self, *_):
        self.client.cancel(self.run)
        self.client.wait(self.run, "Canceled")


FORGER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from harness.client import Client
from harness.attempt import exit_record
token, run = os.environ["AZUREML_RUN_TOKEN"], os.environ["AZUREML_RUN_ID"]
url = os.environ["AZUREML_SERVICE_ENDPOINT"]
client = Client(socket_path=url[len("unix://"):], token=token)
path = "/api/v1/attempts/%s/1/" % run
for call, body in (("claim", {"node": 0}), ("secrets", {"node": 0, "hidden": []}),
                   ("finish", {"node": 0, "exit": exit_record(0), "logs": {}})):
    print(call, client.post(path + call, body).status, flush=True)
print("own", client.get(client.path("runs", run)).status, flush=True)
sys.exit(7)
"""


def test_a_script_cannot_forge_its_own_end(server, client, tmp_path):
    program = tmp_path / "forge.py"
    program.write_text(FORGER)
    run = client.submit(command=[sys.executable, str(program), str(paths.SUPPORT)])
    done = client.wait(run, "Failed")
    assert client.log(run).decode().split() == "claim 403 secrets 403 finish 403 own 200".split()
    assert "7" in done["error"]["message"]


def test_the_runners_token_is_in_no_process_of_the_user(server, client, mark):
    """What the process has is made of it, and the way back does not exist."""
    run = client.submit("sleep 600", environment={"variables": {"E2E_MARK": mark}})
    wait_for(lambda: processes.with_environment("E2E_MARK", mark), 30, "the process of the run")
    [spool] = [path for path in server.state.glob("work/*/spool/spool.json") if run in path.read_text()]
    token = json.loads(spool.read_text().splitlines()[0])["token"]
    pids = processes.with_environment("E2E_MARK", mark)
    assert {processes.environment(pid)["AZUREML_RUN_TOKEN"] for pid in pids} == {script_token(token)}
    assert not set(processes.holding(token)) & set(pids)
    client.cancel(run)
    client.wait(run, "Canceled")


def test_both_tokens_count_after_a_restart(make_server, mark):
    server = make_server().start().prepare()
    with live_script(server, mark) as script:
        server.kill()
        server.start()
        script = server.client(token=script.token)
        script.get(script.path("runs")).expect(200)
        run = [row["id"] for row in server.client().get(script.path("runs")).json()["items"]][0]
        script.request("PATCH", script.path("runs", run, "tags"), json_body={"after": "yes"}).expect(200)


def test_an_attempt_of_a_release_with_one_token_keeps_what_it_had(holder):
    """0.1 kept one hash for an attempt, and its runners gave their own token to the script."""
    attempt = holder.submit()
    attempt.claim().expect(200)
    holder.server.stop()
    with editing(holder.server.state / "lathe.db") as database:
        database.execute("DELETE FROM script_tokens WHERE run = (SELECT sequence FROM runs WHERE id = ?)", (attempt.run,))
    holder.server.start()
    tags = holder.client.path("runs", attempt.run, "tags")
    for client in (attempt.client, attempt.script):
        client.request("PATCH", tags, json_body={"from": client.token[-4:]}).expect(200)
    attempt.script.post(f"{attempt.path}/notes", {"notes": ["x"]}).expect(403)
    attempt.finish(exit_code=0).expect(200)
