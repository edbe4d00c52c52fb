"""Runs inside of container images: the image as it is, one from a Dockerfile, and with packages that Lathe adds."""

import pathlib
import shutil
import tempfile

import pytest

from harness import cgroups, environments, images, processes
from harness.builds import Builds, definition, site
from harness.client import new_id
from harness.environments import wheel
from harness.wait import wait_for

pytestmark = pytest.mark.skipif(images.why_not() is not None, reason=f"no images here: {images.why_not()}")

LOG = "azureml-logs/20_image_build_log.txt"
SCRIPT = """\
import os, signal, sys
import azureml.core
from azureml.core import Run
print("python", sys.executable, "folder", os.getcwd() == os.path.dirname(os.path.abspath(__file__)), "user", os.getuid())
print("system", open("/etc/lathe-image").read().strip() if os.path.exists("/etc/lathe-image") else "plain")
print("colour", os.environ.get("COLOUR"), "argument", os.environ.get("ARGUMENT"))
memory = os.statvfs("/dev/shm")
print("shared memory", memory.f_frsize * memory.f_blocks >> 20, "MiB")
run = Run.get_context()
run.log("answer", 42)
os.makedirs("outputs", exist_ok=True)
open("outputs/made.txt", "w").write("in an image")
if "own" in sys.argv:
    import own
    print("own", own.version, sys.prefix)
if "wait" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: (print("asked to end", flush=True), sys.exit(3)))
    print("waiting", flush=True)
    signal.pause()
if "eat" in sys.argv:
    hoard = []
    while True:
        hoard.append(bytearray(1 << 24))
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return images.base_image(tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def server(binary, tmp_path_factory):
    from harness.server import Server

    wheelhouse = tmp_path_factory.mktemp("wheelhouse")
    wheel(wheelhouse, "own", "1.0")
    with Server(config=site(tmp_path_factory.mktemp("environments"), wheelhouse)) as server:
        yield server


@pytest.fixture
def tree(server, tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "main.py").write_text(SCRIPT)
    return server.cli_json("store", "put", tmp_path / "source")["snapshot"]


def of_image(name, interpreter="python3"):
    """The image's own Python and packages."""
    managed = {"userManagedDependencies": True, "interpreterPath": interpreter}
    return {"python": managed, "docker": {"enabled": True, "baseImage": name}, "environmentVariables": {"COLOUR": "green"}}


def with_arguments(name, *arguments, shm_size=None):
    what = of_image(name)
    what["docker"] |= {"arguments": list(arguments), "shmSize": shm_size}
    return what


def from_dockerfile(text, **python):
    return {"python": python or {"userManagedDependencies": True, "interpreterPath": "python3"}, "docker": {"baseDockerfile": text}}


def submit(client, tree, environment, *arguments, **fields):
    return client.submit(None, script="main.py", arguments=list(arguments), snapshot=tree, environment={"definition": environment}, **fields)


@pytest.mark.parametrize("interpreter", ["python3", "python", "/usr/bin/python3"])
def test_a_run_lives_in_the_image_with_its_folder_and_the_sdk(client, tree, image, interpreter):
    run = submit(client, tree, of_image(image, interpreter))
    client.wait(run, "Completed", deadline=120)
    out = client.log(run).decode()
    assert "folder True user 2000000" in out and "colour green" in out and "system plain" in out
    assert client.file(run, "outputs/made.txt").expect(200).body == b"in an image"
    assert client.get(client.path("runs", run, "metrics")).expect(200).json()
    assert images.containers() == []
    wait_for(lambda: not cgroups.of_runs([run]), 10, "its control groups are gone")


def test_a_dockerfile_is_built_once_and_is_part_of_the_lock(client, tree, image):
    what = from_dockerfile(f"FROM {image}\nRUN echo made-here > /etc/lathe-image\n")
    one = submit(client, tree, what)
    client.wait(one, "Completed", deadline=120)
    assert "system made-here" in client.log(one).decode()
    assert "building the image" in client.log(one, LOG).decode()
    two = submit(client, tree, what)
    done = client.wait(two, "Completed")
    assert LOG not in client.files(two), "it was there"
    lock = client.get(f"/api/v1/environment-locks/{done['environment']['lock']}").expect(200).json()
    assert lock["image"]["id"] and "made-here" in lock["image"]["dockerfile"]


def test_packages_are_added_to_an_image_with_its_own_python(client, tree, image):
    what = definition("own==1.0", docker={"enabled": True, "baseImage": image})
    run = submit(client, tree, what, "own")
    client.wait(run, "Completed", deadline=120)
    assert "own 1.0" in client.log(run).decode()


def test_cancel_reaches_the_script_and_nothing_is_left(client, tree, image):
    run = submit(client, tree, of_image(image), "wait")
    wait_for(lambda: b"waiting" in client.log(run), 60, "the script waits")
    assert images.containers(), "it runs in a container"
    client.cancel(run)
    client.wait(run, "Canceled")
    assert "asked to end" in client.log(run).decode()
    assert images.containers() == []


def test_a_killed_runner_takes_its_container_with_it(client, server, tree, image):
    run = submit(client, tree, of_image(image), "wait")
    wait_for(lambda: b"waiting" in client.log(run), 60, "the script waits")
    found = client.run(run)
    processes.kill(processes.runner_of(server.state, f"{found['sequence']}.{found['attempt']}.0"))
    failed = client.wait(run, "Failed")
    assert failed["error"]["code"] == "node-lost"
    wait_for(lambda: images.containers() == [], 30, "the container is gone")
    wait_for(lambda: not cgroups.of_runs([run]), 10, "its control groups are gone")


def test_a_killed_server_takes_a_build_inside_of_an_image_with_it(make_server, tmp_path, image, monkeypatch):
    cache, reached, mark = tmp_path / "cache", tmp_path / "cache" / "reached", new_id("tools")
    waits = f"import signal\nopen({str(reached)!r}, 'w')\nsignal.pause()\n"
    monkeypatch.setattr(environments, "BACKEND", waits + environments.BACKEND)
    environments.sdist(tmp_path / "wheelhouse", "own", "1.0")
    server = make_server(config=site(cache, tmp_path / "wheelhouse"), environment={"E2E_TOOLS": mark})
    builds = Builds(server.start().prepare().client())
    builds.start(definition("own==1.0", docker={"enabled": True, "baseImage": image}))
    wait_for(reached.exists, 60, "the build of the package")
    assert images.containers()
    server.kill()
    wait_for(lambda: images.containers() == [], 30, "the container is gone")
    wait_for(lambda: not processes.with_environment("E2E_TOOLS", mark), 20, "the end of the tools")


def test_the_memory_limit_holds_in_an_image(client, server, tree, image):
    memory = client.get("/api/v1/server").expect(200).json()["machine"]["memory_bytes"]
    tiny = {"vm_size": "machine", "max_nodes": max(2, min(1000, memory // (192 << 20)))}
    client.put(client.path("computes", "tiny"), tiny).expect(200, 201)
    run = submit(client, tree, of_image(image), "eat", compute="tiny")
    failed = client.wait(run, "Failed", deadline=120)
    assert failed["error"]["code"] == "out-of-memory", failed["error"]


@pytest.mark.parametrize(
    "environment, words",
    [
        (of_image("localhost/nobody/has-this:1"), "localhost/nobody/has-this:1"),
        (from_dockerfile("FROM scratch\nRUN false\n"), "Dockerfile"),
        (definition("own", python="3.6", docker={"enabled": True, "baseImage": images.BASE}), "replaced: python 3.6"),
    ],
)
def test_what_cannot_be_had_is_said(client, tree, image, environment, words):
    run = submit(client, tree, environment)
    client.wait(run, "Completed", "Failed", deadline=120)
    assert words in client.log(run, LOG).decode()


def test_arguments_reach_the_engine(client, tree, image):
    run = submit(client, tree, with_arguments(image, "-e", "ARGUMENT=yes", shm_size="80m"))
    done = client.wait(run, "Completed", deadline=120)
    out = client.log(run).decode()
    assert "argument yes" in out and "shared memory 80 MiB" in out
    lock = client.get(f"/api/v1/environment-locks/{done['environment']['lock']}").expect(200).json()
    assert lock["image"]["arguments"][-1] == "--shm-size=80m"
    assert images.containers() == []


def test_arguments_that_reach_the_machine_need_a_word_of_the_site(make_server, client, tree, image, tmp_path):
    (tmp_path / "given.txt").write_text("given by an argument\n")
    mounted = with_arguments(image, f"-v {tmp_path}/given.txt:/etc/lathe-image:ro")
    builds = Builds(client)
    for what in (mounted, with_arguments(image, "--privileged"), with_arguments(image, "--device=/dev/null")):
        failed = builds.wait(builds.start(what)["id"], "failed")
        assert failed["error"]["code"] == "forbidden" and "engine_host_arguments" in failed["error"]["hint"]
    server = make_server(config=site(tmp_path / "cache", tmp_path, engine_host_arguments=True)).start().prepare()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "main.py").write_text(SCRIPT)
    snapshot = server.cli_json("store", "put", tmp_path / "own")["snapshot"]
    run = submit(server.client(), snapshot, mounted)
    server.client().wait(run, "Completed", deadline=120)
    assert "system given by an argument" in server.client().log(run).decode()


def test_arguments_that_would_break_a_run_are_refused(client, tree, image):
    for argument in ("--name=mine", "-d", "--rm", "--user=nobody", "another-image"):
        what = {"definition": with_arguments(image, argument)}
        answer = client.post(client.path("environment-builds"), what).expect(400).json()
        assert answer["field"].endswith("docker.arguments") and answer["hint"]
    what = {"definition": with_arguments(image, shm_size="much")}
    assert client.post(client.path("environment-builds"), what).expect(400).json()["field"].endswith("docker.shmSize")


def test_a_site_may_forbid_arguments(make_server, tmp_path, image):
    server = make_server(config=site(tmp_path / "cache", tmp_path, engine_arguments=False)).start().prepare()
    builds = Builds(server.client())
    failed = builds.wait(builds.start(with_arguments(image, "--cpus=1"))["id"], "failed")
    assert failed["error"]["code"] == "forbidden" and "engine_arguments" in failed["error"]["hint"]
    builds.make(of_image(image))


def test_paths_with_colons_and_commas_are_seen_inside(make_server, image):
    with tempfile.TemporaryDirectory(prefix="lathe-a:b,c-") as folder:
        wheelhouse = pathlib.Path(folder, "wheels")
        wheel(wheelhouse, "own", "1.0")
        state, cache = pathlib.Path(folder, "state"), tempfile.mkdtemp(prefix="lathe-plain-")
        server = make_server(state=state, config=site(cache, wheelhouse)).start().prepare()
        client = server.client()
        source = pathlib.Path(folder, "source")
        source.mkdir()
        (source / "main.py").write_text(SCRIPT)
        tree = server.cli_json("store", "put", source)["snapshot"]
        for what, arguments in ((of_image(image), []), (definition("own==1.0", docker={"enabled": True, "baseImage": image}), ["own"])):
            run = submit(client, tree, what, *arguments)
            client.wait(run, "Completed", deadline=120)
            assert client.file(run, "outputs/made.txt").expect(200).body == b"in an image"
        server.close()
        shutil.rmtree(cache)


def test_a_site_without_an_engine_says_so(make_server, tmp_path, image):
    server = make_server(config=site(tmp_path / "cache", tmp_path, engine="none")).start().prepare()
    build = Builds(server.client()).start(of_image(image))
    failed = Builds(server.client()).wait(build["id"], "failed")
    assert "podman or docker" in failed["error"]["message"] and failed["error"]["hint"]
