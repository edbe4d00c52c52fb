"""Environments that the server builds: builds, their logs, the runs that wait for them, locks, and the cache."""

import json
import pathlib

import pytest

from harness.builds import Builds, Gate, definition, site
from harness.client import new_id
from harness.environments import wheel
from harness.wait import wait_for

LOG = "azureml-logs/20_image_build_log.txt"
SCRIPT = """\
import os, sys
import own
print("own", own.version, "prefix", sys.prefix)
import azureml.core
print("sdk", azureml.core.__name__, "variable", os.environ.get("COLOUR"))
try:
    open(os.path.join(sys.prefix, "written"), "w")
    print("written")
except OSError as problem:
    print("refused", problem.errno)
"""


@pytest.fixture(scope="module")
def wheelhouse(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheelhouse")
    for version in ("1.0", "2.0"):
        wheel(folder, "own", version)
    for number in range(12):
        wheel(folder, f"extra{number}", requires=["own"])
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("environments")


@pytest.fixture
def site_server(make_server, cache, wheelhouse):
    def make(**rules):
        return make_server(config=site(cache, wheelhouse, **rules)).start().prepare()

    return make


@pytest.fixture(scope="module")
def server(binary, cache, wheelhouse):
    from harness.server import Server

    with Server(config=site(cache, wheelhouse)) as server:
        yield server


@pytest.fixture
def builds(client):
    return Builds(client)


@pytest.fixture
def tree(server, tmp_path):
    return snapshot(server, tmp_path / "source")


def snapshot(server, folder, **files):
    folder.mkdir()
    (folder / "main.py").write_text(SCRIPT)
    for name, text in files.items():
        (folder / name).write_text(text)
    return server.cli_json("store", "put", folder)["snapshot"]


def submit(client, tree, environment, **fields):
    return client.submit(None, script="main.py", snapshot=tree, environment=environment, **fields)


def register(client, what):
    name = new_id("env")
    client.put(client.path("environments", name), {"definition": what}).expect(201)
    return name


def test_a_build_is_followed_and_what_it_became_is_explained(client, builds):
    name = register(client, definition("own==1.0", "azureml-defaults"))
    before = client.get(client.path("environments", name, "explain")).expect(200).json()
    assert before["lock"] is None and not before["ready"] and "not locked" in before["text"]
    client.get(client.path("environments", name, "lock")).expect(404)
    build = builds.start(name)
    assert (build["environment"], build["version"], build["created_by"]) == (name, "1", "admin")
    log = builds.log(build["id"], follow="true")
    assert "locked 1 packages" in log and log.endswith("ready\n")
    ended = builds.wait(build["id"])
    assert ended["lock"] and ended["log_bytes"] == len(log) and ended["substitutions"] == []
    assert builds.log(build["id"], offset=5) == log[5:] and builds.log(build["id"], offset=10**9) == ""
    after = client.get(client.path("environments", name, "explain")).expect(200).json()
    assert after["lock"] == ended["lock"] and after["ready"] and "3.11" in after["text"]
    lock = client.get(client.path("environments", name, "lock")).expect(200)
    assert json.loads(lock.body)["packages"][0]["name"] == "own"
    assert client.get(f"/api/v1/environment-locks/{ended['lock']}").expect(200).body == lock.body
    client.get(f"/api/v1/environment-locks/{'0' * 64}").expect(404)
    listed = client.get(client.path("environment-builds"), limit=1).expect(200).json()["items"]
    assert [each["id"] for each in listed] == [build["id"]]
    row = next(row for row in client.items("/api/v1/audit") if row["action"] == "environment.lock")
    assert (row["actor"], row["object"], row["detail"]) == ("admin", f"{name}:1", ended["lock"])


def test_a_lock_is_read_in_the_workspaces_that_have_it(client, builds):
    """By a token that is limited to one; and such a token brings no lock that names files which it does not have."""
    name = register(client, definition("own==1.0", "azureml-defaults"))
    lock = builds.wait(builds.start(name)["id"])["lock"]
    client.put("/api/v1/workspaces/island", {}).expect(200, 201)

    def limited(workspace):
        body = {"name": new_id("t"), "role": "contributor", "workspace": workspace}
        return client.with_token(client.post("/api/v1/tokens", body).expect(201).json()["token"])

    limited("default").get(f"/api/v1/environment-locks/{lock}").expect(200)
    for path in ("environment-locks", "blobs"):
        limited("island").get(f"/api/v1/{path}/{lock}").expect(404)


def test_a_run_waits_for_its_environment_and_has_the_log(client, tree):
    run = submit(client, tree, {"definition": definition("own==2.0", "extra0"), "variables": {"COLOUR": "blue"}})
    done = client.wait(run, "Completed")
    assert done["environment"]["lock"] and done["environment"]["build"]
    out = client.log(run).decode()
    assert "own 2.0" in out and "sdk azureml.core" in out and "variable blue" in out
    assert "refused 30" in out, "the environment is read-only for the run"
    assert client.files(run)[LOG]["kind"] == "artifact"
    assert client.log(run, LOG).decode().endswith("ready\n") and client.file(run, LOG).expect(200).body
    moves = client.moves(run)
    assert ("Starting", "Preparing") in moves and ("Preparing", "Queued") in moves


def test_one_that_is_here_costs_no_waiting(client, tree, builds):
    what = definition("own==1.0", "extra1")
    build = builds.make(what)
    environment = {"definition": {"name": "x", **what}}
    run = client.submit_answer(None, script="main.py", snapshot=tree, environment=environment).expect(201).json()
    assert run["status"] == "Queued", "nothing is to be prepared"
    assert run["environment"]["lock"] == build["lock"] and run["environment"]["build"] is None
    client.wait(run["id"], "Completed")
    assert LOG not in client.files(run["id"])
    client.get(client.path("runs", run["id"], "logs"), name=LOG).expect(404)


def test_a_script_without_an_environment_gets_a_python_and_the_sdk(client, server, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "main.py").write_text("import azureml.core, sys; print('plain', sys.prefix)")
    tree = server.cli_json("store", "put", tmp_path / "s")["snapshot"]
    run = submit(client, tree, {})
    client.wait(run, "Completed")
    assert "plain" in client.log(run).decode()


def test_a_command_of_a_named_environment_finds_its_programs(client, builds):
    name = register(client, definition("own==1.0", "extra1"))
    builds.make(name)
    run = client.submit(["python", "-c", "import own; print(own.version)"], environment={"name": name})
    client.wait(run, "Completed")
    assert client.log(run).decode().strip() == "1.0"


def test_a_package_that_cannot_be_had_fails_the_run_with_the_reason(client, tree, builds):
    what = definition("no-such-package-anywhere==9.9")
    run = submit(client, tree, {"definition": what})
    failed = client.wait(run, "Failed")
    assert "no-such-package-anywhere" in failed["error"]["message"] and "hint" in failed["error"]["message"]
    assert "no-such-package-anywhere" in client.log(run, LOG).decode()
    # Asked again it is tried again.
    first, second = (builds.wait(builds.start(what)["id"], "failed") for _ in range(2))
    assert first["id"] != second["id"] and first["error"]["hint"]


@pytest.mark.parametrize(
    "environment, field",
    [
        ({"name": "nobody-registered-this"}, "environment.name"),
        ({"definition": {"python": {"condaDependencies": {"dependencies": [7]}}}}, "environment.definition"),
        ({"definition": {"python": {"userManagedDependencies": True, "interpreterPath": "/no/such/python"}}}, None),
    ],
)
def test_what_can_never_work_is_refused_at_the_submit(client, tree, environment, field):
    answer = client.submit_answer(None, script="main.py", snapshot=tree, environment=environment)
    if field:
        assert answer.expect(400).json()["field"].startswith(field)
    else:
        client.wait(answer.expect(201).json()["id"], "Failed")  # the node says what is missing


def test_a_user_managed_one_is_used_as_it_is(client, server, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "main.py").write_text("import os, sys; print(sys.executable, os.environ['SHAPE'])")
    tree = server.cli_json("store", "put", tmp_path / "s")["snapshot"]
    managed = {"python": {"userManagedDependencies": True, "interpreterPath": "/usr/bin/python3"}}
    run = submit(client, tree, {"definition": {**managed, "environmentVariables": {"SHAPE": "round"}}})
    done = client.wait(run, "Completed")
    assert client.log(run).decode().split() == ["/usr/bin/python3", "round"]
    assert any("/usr/bin/python3" in note for note in done["notes"])
    refused = client.post(client.path("environment-builds"), {"definition": managed}).expect(400)
    assert "nothing to build" in refused.json()["message"]


def test_what_was_replaced_is_told_everywhere(site_server, tmp_path):
    server = site_server(pythons=["/usr/bin"])
    client, tree = server.client(), snapshot(server, tmp_path / "source")
    name = register(client, definition("own==1.0", python="3.6.2"))
    first = client.wait(submit(client, tree, {"name": name}), "Completed")
    second = client.wait(submit(client, tree, {"name": name}), "Completed")
    assert first["environment"]["build"] and not second["environment"]["build"]
    for run in (first, second):
        (replaced,) = run["environment"]["substitutions"]
        assert "3.6.2" in replaced["asked"] and "3.11" in replaced["given"] and replaced["why"]
        assert any("3.6.2" in note and "3.11" in note for note in run["notes"])
    assert "3.6.2" in client.log(first["id"], LOG).decode() and "3.6.2" in server.cli("env", "explain", name).stdout
    assert "3.6.2" in server.cli("run", "show", first["id"]).stdout
    strict = site_server(pythons=["/usr/bin"], strict=True)
    builds = Builds(strict.client())
    refused = builds.wait(builds.start(definition("own==1.0", python="3.6.2"))["id"], "failed")
    assert "3.6" in refused["error"]["message"]


def test_the_same_work_is_one_build_and_cancel_gives_it_up_with_its_last_run(site_server, tmp_path):
    gate = Gate(tmp_path / "gate", "pip compile")
    server = site_server(uv=str(gate.program))
    client, tree = server.client(), snapshot(server, tmp_path / "source")
    environment = {"definition": definition("own==1.0", "extra2")}
    one, two = (submit(client, tree, environment) for _ in range(2))
    gate.wait()
    numbers = wait_for(lambda: (found := {client.run(run)["environment"]["build"] for run in (one, two)} - {None}) and found)
    assert len(numbers) == 1, "one build for both"
    (build,) = numbers
    waiting = client.run(one)["waiting"]
    assert "environment" in waiting["reason"] and "ready" in waiting["would_start_when"]
    assert client.files(one)[LOG]["kind"] == "log"
    builds = Builds(client)
    assert builds.get(build)["state"] == "locking"
    client.cancel(one).expect(200)
    client.wait(one, "Canceled")
    assert builds.get(build)["ended"] is None, "the other run still wants it"
    client.cancel(two).expect(200)
    client.wait(two, "Canceled")
    ended = builds.wait(build, "failed")
    assert ended["error"]["code"] == "cancelled"
    wait_for(lambda: LOG in client.files(two), what="the log of what was given up")
    gate.open()
    client.wait(submit(client, tree, environment), "Completed")


def test_a_build_that_a_person_asked_for_goes_on_without_runs_and_is_canceled_by_name(site_server, tmp_path):
    gate = Gate(tmp_path / "gate", "pip compile")
    server = site_server(uv=str(gate.program))
    client, tree = server.client(), snapshot(server, tmp_path / "source")
    builds = Builds(client)
    what = definition("own==1.0", "extra3")
    build = builds.start(what)["id"]
    gate.wait()
    assert builds.start(what)["id"] == build, "asked for twice"
    run = submit(client, tree, {"definition": what})
    wait_for(lambda: client.run(run)["environment"]["build"] == build)
    client.cancel(run).expect(200)
    client.wait(run, "Canceled")
    assert builds.get(build)["ended"] is None
    path = client.path("environment-builds", str(build), "cancel")
    viewer = client.post("/api/v1/tokens", {"name": new_id("viewer"), "role": "viewer"}).expect(201).json()["token"]
    client.with_token(viewer).post(path).expect(403)
    client.post(path).expect(200)
    assert "admin" in builds.wait(build, "failed")["error"]["message"]
    assert client.post(path).expect(200).json()["state"] == "failed"
    gate.open()
    builds.make(what)


def test_only_contributors_build_and_only_operators_collect(client):
    tokens = {
        role: client.post("/api/v1/tokens", {"name": new_id(role), "role": role}).expect(201).json()["token"]
        for role in ("viewer", "contributor", "operator")
    }
    body = {"definition": definition("own==1.0")}
    client.with_token(tokens["viewer"]).post(client.path("environment-builds"), body).expect(403)
    build = client.with_token(tokens["contributor"]).post(client.path("environment-builds"), body).expect(202).json()
    assert Builds(client.with_token(tokens["viewer"])).wait(build["id"])["created_by"].startswith("contributor")
    gc = "/api/v1/environment-cache/gc"
    client.with_token(tokens["contributor"]).post(gc, {"dry_run": True}).expect(403)
    client.with_token(tokens["operator"]).post(gc, {"dry_run": True}).expect(200)


def test_the_states_of_a_build_come_by_the_events(client, builds):
    build = builds.make(definition("own==2.0", "extra4"))
    seen = []
    with client.open("GET", client.path("events"), {"after": 0}, timeout=30) as stream:
        while "ready" not in seen:
            line = stream.readline()
            event = json.loads(line[6:]) if line.startswith(b"data: ") else {}
            if event.get("build") == build["id"]:
                assert event["kind"] == "environment-build" and "run_id" not in event
                seen.append(event["reason"])
    assert seen == ["waiting", "locking", "building", "ready"]


def test_a_lock_goes_to_another_server(make_server, server, client, builds, wheelhouse, tmp_path):
    name = register(client, definition("own"))
    build = builds.make(name)
    exported = server.cli("env", "lock", "export", name).stdout
    file = tmp_path / "own.lock"
    file.write_text(exported)
    # There the newest one would be another.
    newer = tmp_path / "newer"
    for each in wheelhouse.iterdir():
        newer.mkdir(exist_ok=True)
        (newer / each.name).write_bytes(each.read_bytes())
    wheel(newer, "own", "3.0")
    other = make_server(config=site(tmp_path / "cache", newer)).start().prepare()
    there = other.client()
    there.put(there.path("environments", name), {"definition": definition("own")}).expect(201)
    assert other.cli_json("env", "lock", "import", name, file)["lock"] == build["lock"]
    lock_path, kind = there.path("environments", name, "lock"), {"Content-Type": "application/json"}
    older = json.loads(exported)
    text = exported.replace(older["sdk"]["sha256"], "0" * 64).replace(f'"{older["sdk"]["version"]}"', '"0.0.1"')
    taken = there.request("PUT", lock_path, body=text.encode(), headers=kind).expect(200).json()
    assert taken["lock"] == build["lock"], "the SDK of this server instead of one that it never had"
    assert Builds(there).make(name)["lock"] == build["lock"]
    fresh = Builds(there).make(name, refresh=True)
    assert fresh["lock"] != build["lock"], "3.0 now"
    assert there.get(there.path("environments", name, "explain")).json()["lock"] == fresh["lock"]
    refused = there.request("PUT", lock_path, body=exported.replace(",", ", ", 1).encode(), headers=kind)
    assert "canonical" in refused.expect(400).json()["message"], "its digest would not be the name of what it says"


def test_a_damaged_one_is_built_again_when_asked(client, builds, tree):
    what = definition("own==1.0", "extra5")
    build = builds.make(what)
    cache = client.get("/api/v1/environment-cache").expect(200).json()
    (entry,) = (item for item in cache["items"] if item["lock"] == build["lock"])
    assert entry["bytes"] > 0
    folder = pathlib.Path(cache["folder"]) / "realised" / build["lock"]
    (module,) = folder.glob("lib/python*/site-packages/extra5.py")
    module.unlink()
    again = builds.make(what)
    assert "damaged" in builds.log(again["id"]) and module.exists()
    client.wait(submit(client, tree, {"definition": what}), "Completed")


def test_the_runner_builds_one_that_went_away(make_server, tmp_path, wheelhouse, meeting_place):
    cache = tmp_path / "cache"
    server = make_server(config=site(cache, wheelhouse)).start().prepare()
    client, tree = server.client(), snapshot(server, tmp_path / "source")
    client.put(client.path("computes", "one"), {"vm_size": "machine", "max_nodes": 1}).expect(200, 201)
    what = definition("own==1.0", "extra6")
    build = Builds(client).make(what)
    gate = meeting_place / "gate"
    first = client.submit(["sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.02; done"], compute="one")
    client.wait(first, "Running")
    run = submit(client, tree, {"definition": what}, compute="one")
    assert client.status(run) == "Queued"
    gc = "/api/v1/environment-cache/gc"  # its files may still be compiled
    collect = lambda: client.post(gc, {"unused_days": 0}).expect(200).json()  # noqa: E731
    wait_for(lambda: collect()["removed"] == [build["lock"]], what="its removal")
    gate.touch()
    done = client.wait(run, "Completed")
    assert any("built on node 0" in note for note in done["notes"])
    assert "logs/environment_build_0.txt" in client.files(run)
    assert "own 1.0" in client.log(run).decode()


def test_old_builds_go_and_those_of_runs_stay(site_server, tmp_path):
    server = site_server()
    client, builds = server.client(), Builds(server.client())
    what, other = definition("own==1.0", "extra8"), definition("own==2.0", "extra8")
    run = submit(client, snapshot(server, tmp_path / "source"), {"definition": what})
    first = wait_for(lambda: client.run(run)["environment"]["build"], what="the run's build")
    client.wait(run, "Completed")
    kept = builds.make(other)["id"]
    made = [builds.make(what)["id"] for _ in range(22)]
    listed = [item["id"] for item in client.items(client.path("environment-builds"))]
    assert listed == [*reversed(made[2:]), kept, first]
    client.get(client.path("environment-builds", str(made[0]))).expect(404)
    assert client.log(run, LOG).decode().endswith("ready\n"), "its log is a file of the run"


def test_one_in_use_is_not_collected(client, server, builds, tmp_path, meeting_place):
    what = definition("own==2.0", "extra7")
    build = builds.make(what)
    (tmp_path / "s").mkdir()
    gate = meeting_place / "gate"
    waits = f"while not os.path.exists({str(gate)!r}): time.sleep(0.02)"
    (tmp_path / "s" / "main.py").write_text(f"import own, os, time\n{waits}\nimport extra7\n")
    tree = server.cli_json("store", "put", tmp_path / "s")["snapshot"]
    run = submit(client, tree, {"definition": what})
    client.wait(run, "Running")
    items = lambda: client.get("/api/v1/environment-cache").json()["items"]  # noqa: E731
    held = wait_for(lambda: [item for item in items() if item["in_use"]])
    assert build["lock"] in [item["lock"] for item in held]
    collected = server.cli_json("env", "gc", "--unused-days", "0")
    assert build["lock"] not in collected["removed"]
    gate.touch()
    client.wait(run, "Completed")


def test_files_of_the_source_folder_are_installed(client, server, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    wheel(source / "wheels", "brought", "5.0")
    (source / "requirements.txt").write_text("own==1.0\n")
    (source / "main.py").write_text("import brought, own; print(brought.version, own.version)")
    tree = server.cli_json("store", "put", source)["snapshot"]
    what = definition("-r requirements.txt", "./wheels/brought-5.0-py3-none-any.whl")
    run = submit(client, tree, {"definition": what})
    client.wait(run, "Completed")
    assert client.log(run).decode().split() == ["5.0", "1.0"]


def test_the_command_line_tells_what_there_is(client, server, builds, tmp_path):
    name = register(client, definition("own==1.0", "extra8"))
    shown = server.cli_json("env", "build", f"{name}:1")
    assert shown["state"] == "ready"
    assert name in server.cli("env", "list").stdout and "AzureML-" in server.cli("env", "list").stdout
    assert json.loads(server.cli("env", "show", name).stdout)["definition"] == definition("own==1.0", "extra8")
    assert "3.11" in server.cli("env", "explain", name).stdout
    assert "extra8" in server.cli("env", "lock", "show", name).stdout
    assert str(shown["id"]) in server.cli("env", "builds").stdout
    assert "dry run" in server.cli("env", "gc", "--dry-run").stdout
    file = tmp_path / "azureml_environment.json"
    file.write_text(json.dumps(definition("nothing-like-this")))
    failed = server.cli("env", "build", "--file", file, check=False)
    assert failed.returncode != 0 and "nothing-like-this" in failed.stderr and "hint:" in failed.stderr
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "main.py").write_text("import extra8, own; print('with', own.version)")
    done = server.cli("run", "submit", "--source", tmp_path / "s", "--script", "main.py", "--environment", name, "-f")
    assert "with 1.0" in done.stdout
