"""Environments when something goes wrong: kills at every step, damage, a full disk, an index that is away, two servers."""

import pathlib
import shutil
import subprocess
import tempfile
import threading

import pytest

from harness import environments, processes
from harness.attempt import HeldAttempt
from harness.builds import Builds, Gate, definition, site
from harness.client import new_id
from harness.environments import Index, sdist, wheel
from harness.pages import editing
from harness.server import holding_config, isolated_config
from harness.wait import wait_for

TOOLS = "E2E_TOOLS"  # a variable by which a server and the tools that it runs are found
PASSWORD = "s3cret-word"
SCRIPT = "import own; print('own', own.version)\n"


@pytest.fixture
def mark():
    return new_id("tools")


@pytest.fixture(scope="module")
def wheelhouse(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheelhouse")
    wheel(folder, "own", "1.0", files={f"own_data/{number}.txt": "x" * number for number in range(200)})
    return folder


@pytest.fixture
def index(tmp_path):
    index = Index(tmp_path / "index")
    index.add("own", "1.0")
    yield index
    index.close()


def snapshot(server, folder, script=SCRIPT):
    folder.mkdir(exist_ok=True)
    (folder / "main.py").write_text(script)
    return server.cli_json("store", "put", folder)["snapshot"]


def submit(client, tree, *packages):
    return client.submit(None, script="main.py", snapshot=tree, environment={"definition": definition(*packages)})


def no_leftovers(cache):
    """Nothing half made lies where environments are looked for."""
    return [path.name for path in (cache / "realised").iterdir() if not (path / "bin" / "python").exists()] == []


def kill_and_go_on(server, client, run, let_go, cache, mark=None):
    """Kills the server and its tools with it; the next one goes on with the same build, and the run completes."""
    build = wait_for(lambda: client.run(run)["environment"]["build"], what="the run's build")
    server.kill()
    if mark:
        wait_for(lambda: not processes.with_environment(TOOLS, mark), 20, "the end of the tools")
    let_go()
    server.start()
    done = server.client().wait(run, "Completed", deadline=120)
    assert done["environment"]["build"] == build
    log = server.client().log(run, "azureml-logs/20_image_build_log.txt").decode()
    assert "started again" in log and log.endswith("ready\n")
    assert no_leftovers(cache)
    return done


# The words of uv where a kill meets it: resolving, making the folder, installing.
@pytest.mark.parametrize("words", ["pip compile", "venv", "pip install"])
def test_a_kill_of_the_server_while_it_builds(make_server, tmp_path, wheelhouse, words, mark):
    cache, gate = tmp_path / "cache", Gate(tmp_path / "gate", words)
    server = make_server(config=site(cache, wheelhouse, uv=str(gate.program)), environment={TOOLS: mark})
    client = server.start().prepare().client()
    run = submit(client, snapshot(server, tmp_path / "source"), "own==1.0")
    gate.wait()
    kill_and_go_on(server, client, run, gate.open, cache, mark)


def test_a_kill_of_the_server_while_it_downloads(make_server, tmp_path, index, mark):
    index.stall = threading.Event()
    cache = tmp_path / "cache"
    rules = site(cache, index=index.url)
    server = make_server(config=rules, environment={TOOLS: mark})
    client = server.start().prepare().client()
    run = submit(client, snapshot(server, tmp_path / "source"), "own==1.0")
    wait_for(lambda: any(path.startswith("/files/") for path in index.requests), 30, "a download")
    kill_and_go_on(server, client, run, index.stall.set, cache, mark)


def test_a_kill_of_the_server_while_a_source_package_is_built(make_server, tmp_path, monkeypatch, mark):
    reached, opened = tmp_path / "reached", tmp_path / "opened"
    waits = f"import os, time\nopen({str(reached)!r}, 'w')\n"
    waits += f"while not os.path.exists({str(opened)!r}): time.sleep(0.02)\n"
    monkeypatch.setattr(environments, "BACKEND", waits + environments.BACKEND)
    sdist(tmp_path / "wheelhouse", "own", "1.0")
    cache = tmp_path / "cache"
    server = make_server(config=site(cache, tmp_path / "wheelhouse"), environment={TOOLS: mark})
    client = server.start().prepare().client()
    run = submit(client, snapshot(server, tmp_path / "source"), "own==1.0")
    wait_for(reached.exists, 60, "the build of the package")
    kill_and_go_on(server, client, run, opened.touch, cache, mark)


def test_a_stop_leaves_the_build_to_the_next_server(make_server, tmp_path, wheelhouse):
    gate = Gate(tmp_path / "gate", "pip compile")
    server = make_server(config=site(tmp_path / "cache", wheelhouse, uv=str(gate.program)))
    builds = Builds(server.start().prepare().client())
    build = builds.start(definition("own==1.0"))["id"]
    gate.wait()
    assert server.stop(20) == 0, "a stop does not wait for builds"
    gate.open()
    server.start()
    assert Builds(server.client()).wait(build)["lock"]


def test_a_build_whose_run_was_canceled_meanwhile_is_not_gone_on_with(make_server, tmp_path, wheelhouse):
    gate = Gate(tmp_path / "gate", "pip compile")
    server = make_server(config=site(tmp_path / "cache", wheelhouse, uv=str(gate.program)))
    client = server.start().prepare().client()
    run = submit(client, snapshot(server, tmp_path / "source"), "own==1.0")
    gate.wait()
    build = wait_for(lambda: client.run(run)["environment"]["build"])
    client.cancel(run).expect(200)
    server.kill()
    server.start()
    ended = Builds(server.client()).wait(build, "failed")
    assert ended["error"]["code"] == "cancelled"


def test_a_build_whose_log_cannot_be_kept_ends_and_its_run_goes_on(make_server, tmp_path, wheelhouse):
    gate = Gate(tmp_path / "gate", "pip install")
    server = make_server(config=site(tmp_path / "cache", wheelhouse, uv=str(gate.program)))
    client = server.start().prepare().client()
    run = submit(client, snapshot(server, tmp_path / "source"), "own==1.0")
    gate.wait()
    build = client.run(run)["environment"]["build"]
    incoming = server.state / "store" / "tmp"
    incoming.rename(incoming.with_name("away"))  # nothing can be put into the store
    gate.open()
    ended = Builds(client).wait(build)
    incoming.with_name("away").rename(incoming)
    assert ended["lock"]
    client.wait(run, "Completed", deadline=60)


def test_a_preparation_that_ends_by_a_strange_exception_fails_its_run_and_nobody_else(make_server, tmp_path, wheelhouse):
    gate = Gate(tmp_path / "gate", "pip compile")
    server = make_server(config=site(tmp_path / "cache", wheelhouse, uv=str(gate.program)))
    client = server.start().prepare().client()
    tree = snapshot(server, tmp_path / "source")
    run = submit(client, tree, "own==1.0")
    gate.wait()
    server.kill()
    with editing(server.state / "lathe.db") as database:
        damaged = database.execute("UPDATE run_environments SET lock = zeroblob(32), substitutions_json = '{}'")
        assert damaged.rowcount == 1
    gate.open()
    client = server.start().client()
    failed = client.wait(run, "Failed", deadline=60)
    assert failed["error"]["message"]
    client.wait(submit(client, tree, "own==1.0"), "Completed", deadline=60)


def test_damage_is_found_and_repaired(make_server, tmp_path, wheelhouse):
    cache = tmp_path / "cache"
    server = make_server(config=site(cache, wheelhouse)).start().prepare()
    client, builds = server.client(), Builds(server.client())
    tree = snapshot(server, tmp_path / "source")
    first = builds.make(definition("own==1.0"))
    prefix = cache / "realised" / first["lock"]
    (module,) = prefix.glob("lib/python*/site-packages/own.py")
    # Through a link of its own: the package cache shares the bytes, and must not give them out again.
    module.chmod(0o644)
    module.write_text("broken")
    again = builds.make(definition("own==1.0"))
    assert again["lock"] == first["lock"] and "damaged" in builds.log(again["id"])
    client.wait(submit(client, tree, "own==1.0"), "Completed")
    # Without its marker it is no environment at all: the run builds it.
    (prefix / "lathe-environment.json").unlink()
    run = submit(client, tree, "own==1.0")
    assert client.wait(run, "Completed")["environment"]["build"]


@pytest.fixture
def small_disk():
    """A folder on a tmpfs of 24 MiB."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lathe-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)
    folder.rmdir()


@pytest.mark.root
def test_a_full_disk_of_the_cache_is_told_and_room_helps(small_disk, make_server, tmp_path):
    house = tmp_path / "wheelhouse"
    for name in ("own", "large"):
        wheel(house, name, "1.0", files={f"{name}_data.txt": "0123456789" * 200_000} if name == "large" else None)
    server = make_server(config=site(small_disk, house)).start().prepare()
    client, builds = server.client(), Builds(server.client())
    ballast = small_disk / "ballast"
    size = shutil.disk_usage(small_disk).free - (3 << 20)
    with ballast.open("wb") as file:
        file.write(bytes(size))
    failed = builds.wait(builds.start(definition("large==1.0"))["id"], "failed")
    assert failed["error"]["code"] == "no-space" and failed["error"]["hint"], failed["error"]
    assert not list((small_disk / "realised").glob("*")) if (small_disk / "realised").exists() else True
    client.get("/healthz").expect(200)
    ballast.unlink()
    assert builds.make(definition("large==1.0"))["state"] == "ready"


def test_an_index_that_is_away(make_server, tmp_path, index):
    cache = tmp_path / "cache"
    server = make_server(config=site(cache, index=index.url)).start().prepare()
    client, builds = server.client(), Builds(server.client())
    tree = snapshot(server, tmp_path / "source")
    index.add("beside", "1.0")
    builds.make(definition("own==1.0", "beside==1.0"))
    build = builds.make(definition("own==1.0"))
    index.close()
    client.wait(submit(client, tree, "own==1.0"), "Completed")
    # Also when it is gone but another one has its packages: the lock says which, and the cache has them.
    shutil.rmtree(cache / "realised" / build["lock"])
    client.wait(submit(client, tree, "own==1.0"), "Completed")
    failed = builds.wait(builds.start(definition("own==1.0", "other"))["id"], "failed")
    assert failed["error"]["code"] in ("unavailable", "upstream") and failed["error"]["hint"], failed["error"]
    assert "127.0.0.1" in failed["error"]["message"] or "index" in failed["error"]["message"]


def test_two_servers_share_one_folder_and_build_once(make_server, tmp_path, wheelhouse):
    cache, gate = tmp_path / "cache", Gate(tmp_path / "gate", "venv")
    servers = [make_server(config=site(cache, wheelhouse, uv=str(gate.program))).start().prepare() for _ in range(2)]
    clients = [server.client() for server in servers]
    runs = [submit(client, snapshot(server, tmp_path / "source"), "own==1.0") for server, client in zip(servers, clients)]
    gate.wait()
    gate.open()
    locks = {client.wait(run, "Completed", deadline=120)["environment"]["lock"] for client, run in zip(clients, runs)}
    assert len(locks) == 1 and len(list((cache / "realised").iterdir())) == 1
    logs = [client.log(run, "azureml-logs/20_image_build_log.txt").decode() for client, run in zip(clients, runs)]
    assert sum("the environment is ready" in log for log in logs) == 1, "one of them made it, the other waited"


@pytest.fixture
def private_index(index):
    index.credential = ("me", PASSWORD)
    return index


def tell_password(client):
    client.put(client.path("secrets", "pip-index-127.0.0.1"), {"value": f"me:{PASSWORD}"}).expect(204)


def is_written_nowhere(*folders):
    return subprocess.run(["grep", "-rlF", PASSWORD, *folders], capture_output=True, text=True).stdout == ""


def test_the_password_of_an_index_is_a_secret_and_stays_one(make_server, tmp_path, private_index):
    cache = tmp_path / "cache"
    server = make_server(config=site(cache, index=private_index.url)).start().prepare()
    client, builds = server.client(), Builds(server.client())
    builds.wait(builds.start(definition("own==1.0"))["id"], "failed")
    tell_password(client)
    build = builds.make(definition("own==1.0"))
    assert PASSWORD not in builds.log(build["id"])
    assert PASSWORD.encode() not in client.get(f"/api/v1/environment-locks/{build['lock']}").expect(200).body
    assert is_written_nowhere(cache, server.state)


@pytest.mark.root
def test_a_runner_that_builds_knows_the_password_and_keeps_it_nowhere(make_server, tmp_path, private_index, meeting_place):
    cache, gate = tmp_path / "cache", meeting_place / "gate"
    server = make_server()
    server.write_config(site(cache, index=private_index.url) | isolated_config(server.state, with_network=True))
    client = server.start().prepare().client()
    tell_password(client)
    client.put(client.path("computes", "one"), {"vm_size": "machine", "max_nodes": 1}).expect(200, 201)
    build = Builds(client).make(definition("own==1.0"))
    tree = snapshot(server, tmp_path / "source")
    first = client.submit(["sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.02; done"], compute="one")
    client.wait(first, "Running")
    environment = {"definition": definition("own==1.0")}
    run = client.submit(None, script="main.py", snapshot=tree, environment=environment, compute="one")
    assert client.status(run) == "Queued"
    marks = server.state / "builds"
    wait_for(lambda: not list(marks.glob("compile.*")), 60, "the cache to be tidy")
    for folder in ("realised", "uv"):  # the node has nothing of it
        shutil.rmtree(cache / folder)
    private_index.requests.clear()
    gate.touch()
    done = client.wait(run, "Completed", deadline=120)
    assert done["environment"]["lock"] == build["lock"] and any("built on node 0" in note for note in done["notes"])
    assert any(path.startswith("/files/") for path in private_index.requests)
    log = client.file(run, "logs/environment_build_0.txt").expect(200).body
    assert b"the environment is ready" in log and PASSWORD.encode() not in log
    assert is_written_nowhere(cache, server.state)


def test_only_the_attempt_itself_gets_the_password(make_server, tmp_path, private_index):
    held = tmp_path / "held"
    held.mkdir()
    server = make_server(config=site(tmp_path / "cache", index=private_index.url) | holding_config(held))
    client = server.start().prepare().client()
    try:
        tell_password(client)
        tree = snapshot(server, tmp_path / "source")
        attempt = HeldAttempt(server, held, submit(client, tree, "own==1.0"), 1)
        answer = attempt.client.get(f"{attempt.path}/index-credentials").expect(200)
        name = "pip-index-127.0.0.1"
        assert answer.json() == {"credentials": [{"name": name, "user": "me", "password": PASSWORD}]}
        assert answer.headers["cache-control"] == "no-store"
        assert any(row["action"] == "secret.get" and row["object"] == name for row in client.items("/api/v1/audit"))
        client.get(f"{attempt.path}/index-credentials").expect(403)
        other = HeldAttempt(server, held, client.submit("true"), 1)
        other.client.get(f"{attempt.path}/index-credentials").expect(403)
        other.client.get(f"{other.path}/index-credentials").expect(404)
    finally:
        for pid in processes.with_environment("LATHE_HOLD", str(held)):
            processes.kill(pid)
