"""A user without any privilege: the whole way from `lathe up` to `lathe down`."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from harness.builds import definition
from harness.client import Client
from harness.environments import UV, wheel
from harness.paths import BINARY

NOBODY = 65534


@pytest.fixture
def home():
    """A folder of a user who may read the binary and nothing else of ours."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become somebody else")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lathe-nobody-"))
    shutil.copy(BINARY, folder / "lathe")
    os.chmod(folder / "lathe", 0o755)
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def lathe(home):
    environment = {"HOME": str(home), "LATHE_STATE": str(home / "state"), "PATH": os.environ["PATH"]}

    def call(*words):
        done = subprocess.run(
            [home / "lathe", *words], cwd=home, env=environment, user=NOBODY, group=NOBODY, extra_groups=[],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done

    call("up")
    yield call
    call("down")


def test_a_run_reads_its_mounted_data_and_cannot_write_there(lathe, home):
    (home / "data").mkdir()
    (home / "data" / "a.txt").write_text("bytes of the datastore")
    (home / "data" / "b.txt").write_text("more")
    lathe("workspace", "init", "mine")
    lathe("datastore", "upload", str(home / "data"), "--to", "input")
    client = Client(socket_path=home / "state" / "run" / "api.sock", workspace="mine",
                    token=(home / "state" / "token").read_text().strip())  # fmt: skip
    definition = {"kind": "file", "sources": [{"datastore": "workspaceblobstore", "path": "input"}]}
    saved = client.post(client.path("datasets"), {"definition": definition}).expect(200, 201).json()["id"]
    data = {"data": {"dataset": saved, "mode": "mount"}}
    run = client.submit("cat $data/a.txt; touch $data/new; id -u", inputs=data, compute="local")
    done = client.wait(run, "Completed")
    log = client.log(run).decode()
    assert "bytes of the datastore" in log and "Read-only file system" in log and log.endswith(f"{NOBODY}\n"), (log, done)


def test_the_server_is_found_and_stopped_by_its_own_user(lathe, home):
    assert str(home / "state") in lathe("status", "-o", "json").stdout
    lathe("down")
    assert not (home / "state" / "run" / "api.sock").exists()
    lathe("up")


def test_a_run_has_an_environment_of_its_own_that_it_cannot_change(lathe, home):
    wheel(home / "wheels", "own")
    shutil.copy(UV, home / "uv")
    rules = {"cache": f"{home}/cache", "wheelhouse": f"{home}/wheels", "offline": True, "uv": f"{home}/uv"}
    (home / "state" / "config.yaml").write_text(json.dumps({"environments": rules | {"pythons": ["/usr/bin"]}}))
    for path in (home / "wheels", home / "uv", home / "state" / "config.yaml"):
        os.chown(path, NOBODY, NOBODY)
    lathe("down")
    lathe("up")
    (home / "azureml_environment.json").write_text(json.dumps(definition("own==1.0")))
    built = json.loads(lathe("env", "build", "--file", "azureml_environment.json", "-o", "json").stdout)
    assert built["state"] == "ready"
    client = Client(socket_path=home / "state/run/api.sock", token=(home / "state/token").read_text().strip())
    code = "import own, sys; print(own.version); open(sys.prefix + '/written', 'w')"
    run = client.submit(["python", "-c", code], environment={"definition": definition("own==1.0")}, compute="local")
    client.wait(run, "Failed")
    said = client.log(run).decode()
    assert said.startswith("1.0\n") and "Read-only file system" in said
