"""What a killed runner left is adopted, at every moment and for every user: the log's segments may be blobs of the store by
then, read-only for an ordinary user, and not to be written by root either."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from harness.client import Client
from harness.paths import BINARY
from harness.wait import wait_for

NOBODY = 65534
LINES = 2000
SCRIPT = f"seq 1 {LINES}; ln -s /etc/passwd outputs/link; echo kept > outputs/kept"
# Kills the runner at its N-th message to the server; what adopts it lives. N is in a file.
LAUNCHER = """#!/bin/sh
case " $* " in *" --adopt "*) exec "$@";; esac
exec strace -qq -o /dev/null -e trace=sendto,sendmsg -e inject=sendto,sendmsg:signal=SIGKILL:when=$(cat {folder}/n) "$@"
"""

pytestmark = [pytest.mark.root, pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")]


@pytest.fixture(params=[NOBODY, 0], ids=["nobody", "root"])
def home(request):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lathe-adopt-"))
    shutil.copy(BINARY, folder / "lathe")
    (folder / "launcher").write_text(LAUNCHER.format(folder=folder))
    for name in ("lathe", "launcher"):
        os.chmod(folder / name, 0o755)
    (folder / "state").mkdir(mode=0o700)
    rules = {"providers": {"local": {"launcher": [str(folder / "launcher")]}}, "logs": {"segment_mb": 0.0625}}
    (folder / "state" / "config.yaml").write_text(json.dumps(rules))
    for path in (folder, folder / "state", folder / "state" / "config.yaml"):
        os.chown(path, request.param, request.param)
    environment = {"HOME": str(folder), "LATHE_STATE": str(folder / "state"), "PATH": os.environ["PATH"]}

    def call(*words):
        done = subprocess.run(
            [folder / "lathe", *words], cwd=folder, env=environment, user=request.param, group=request.param, extra_groups=[],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"

    call("up")
    yield folder
    call("down")
    shutil.rmtree(folder, ignore_errors=True)


def test_a_runner_killed_at_any_message_costs_nothing(home):
    client = Client(socket_path=home / "state" / "run" / "api.sock", token=(home / "state" / "token").read_text().strip())
    expected = "".join(f"{i}\n" for i in range(1, LINES + 1))
    completed = 0
    # The first message is the claim; a few may follow before the script is started.
    for number in range(2, 12):
        (home / "n").write_text(str(number))
        run = client.submit(SCRIPT, compute="local")
        done = client.wait(run, "Completed", "Failed")
        log = client.log(run).decode()
        if done["status"] == "Failed":
            assert done["error"]["code"] == "node-lost" and log == "", f"killed at message {number}: {done['error']}, {log[-300:]}"
            continue
        completed += 1
        own = log[len(expected) :]
        assert log.startswith(expected), number
        assert own.count("\n") == 1 and own.startswith("[lathe: not kept: outputs/link"), (number, own)
        assert client.file(run, "outputs/kept").expect(200).body == b"kept\n"
        assert len(done["attempts"]) == 1
    assert completed >= 6, "most of these messages come after the end of the script"
    assert client.post("/api/v1/store/verify").expect(200).json()["damaged"] == []
    assert list((home / "state" / "store" / "damaged").iterdir()) == []
    wait_for(lambda: not [p for p in (home / "state" / "live").iterdir()], 20, "live logs to go")
