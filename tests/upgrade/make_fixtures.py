"""make_fixtures.py VERSION BINARY: what a release leaves on disk, as fixtures that every later version must read.

    state.tar.xz   a state folder after a clean stop, and its keys: runs, tags, metrics, a dataset, a model, a secret
    spools.tar.xz  a state folder after a kill, with node tasks that were left at different stages
    shown.json     what the release showed of the first
    stages.json    {stage: {run, status, log, files}}: how each of the second must end

Their tokens and keys were made for this and open nothing. Needs strace; run it with the Python of the end-to-end tests."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import uuid

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

from harness import processes  # noqa: E402
from harness.client import make_submit  # noqa: E402
from harness.contents import contents  # noqa: E402
from harness.deeds import add_artifact, log_metrics, register_dataset, set_tag  # noqa: E402
from harness.load import BODY, JOURNAL, WHOLE_LOG  # noqa: E402
from harness.server import Server  # noqa: E402
from harness.wait import wait_for  # noqa: E402

# A runner that dies at its N-th send where a file says so, and adopters that never come: the stages stay as they are.
LAUNCHER = """#!/bin/sh
folder=$1
shift
[ "$5" = --adopt ] && { echo >> "$folder/$(basename "$6").adopted"; exec sleep 600; }
[ -e "$folder/$LATHE_RUN.never" ] && exec sleep 600
if [ -e "$folder/$LATHE_RUN.kill" ]; then
  exec strace -D -f -qq -o /dev/null -e trace=sendto,sendmsg -e "inject=sendto,sendmsg:signal=SIGKILL:when=$(cat "$folder/$LATHE_RUN.kill")" "$@"
fi
exec "$@"
"""
EARLY = f"mkdir -p outputs; echo early > outputs/early; {JOURNAL}; echo early"


def pack(folder, target):
    """Small: no reserve, no socket, no log of the server, no empty folders of the store."""
    left_out = ["reserve", "api.sock", "server.log", "server.json", "state-cache"]
    words = ["tar", "--sort=name", "--mtime=2026-01-01", "--owner=0", "--group=0", "--numeric-owner"]
    subprocess.run([*words, *(f"--exclude={name}" for name in left_out), "-cJf", target, "-C", folder, "."], check=True)


def make_state(folder, binary, target):
    with Server(folder / "state", binary=binary) as server:
        client = server.client()
        runs = [client.submit(BODY, tags={"kind": "good"}), client.submit(f"{BODY}; exit 3"), client.submit("sleep 600", grace_seconds=0)]
        client.cancel(runs[2]).expect(200, 202)
        for run in runs:
            client.wait(run)
            for deed in (set_tag, log_metrics, add_artifact, register_dataset):
                deed(client, run)
        for _ in range(2):
            model = {"id": str(uuid.uuid4()), "name": "model", "run": runs[0], "path": "outputs/id", "tags": {"stage": "test"}}
            client.post(client.path("models"), model).expect(201)
        client.put(client.path("secrets", "kept"), {"value": "worth nothing"}).expect(204)
        server.restart()
        (target / "shown.json").write_text(json.dumps(contents(server.client()), indent=1, sort_keys=True) + "\n")
        server.stop()
        pack(folder, target / "state.tar.xz")


class Stages:
    """Runs that are left at a stage each. `place` is where the launcher and the test meet."""

    def __init__(self, server, place):
        self.server, self.client, self.place, self.found = server, server.client(), place, {}

    def submit(self, line, stage, **expected):
        body = make_submit(line, grace_seconds=0)
        if stage == "unclaimed":
            (self.place / f"{body['id']}.never").touch()
        if "kill" in expected:
            (self.place / f"{body['id']}.kill").write_text(str(expected.pop("kill")))
        run = self.client.post(self.client.path("runs"), body).expect(201).json()
        self.found[stage] = {"run": body["id"], **expected}
        return body["id"], f"{run['sequence']}.1.0"

    def make(self):
        gate, kept = self.place / "gate", {"outputs/early": "early\n"}
        waits = f"{EARLY}; while [ ! -e {gate} ]; do sleep 0.02; done; echo over"
        running, task = self.submit(f"{EARLY}; sleep 600", "running", status="Failed", reason="node-lost", log="early\n", files=kept)
        ended, _ = self.submit(waits, "ended", status="Completed", reason="exited", log="early\nover\n", files=kept)
        failed, _ = self.submit(f"{waits}; exit 3", "failed", status="Failed", reason="exited", log="early\nover\n", files=kept)
        self.submit("echo late", "unclaimed", status="Completed", reason="exited", log="late\n", files={})
        _, half = self.submit(BODY, "half delivered", kill=4, status="Completed", reason="exited", log=WHOLE_LOG.decode(), files={})
        for run in (running, ended, failed):
            wait_for(lambda: b"early" in self.client.log(run), 30, "the first line")
        wait_for((self.place / f"{half}.adopted").exists, 30, "a runner that died while it delivered")
        self.server.kill()
        gate.touch()
        processes.kill(processes.runner_of(self.server.state, task))
        records = [self.server.state / "work" / f"{number}.1.0/spool/exit" for number in (2, 3)]
        wait_for(lambda: all(b'"reason"' in record.read_bytes() for record in records), 30, "exit records")
        for pid in processes.with_argument(self.server.state):
            processes.kill(pid)
        wait_for(lambda: not processes.with_argument(self.server.state), 20, "the end of all processes")


def make_spools(folder, binary, target):
    place = folder.parent / "meet"
    place.mkdir()
    (place / "launcher").write_text(LAUNCHER)
    (place / "launcher").chmod(0o755)
    config = {"providers": {"local": {"launcher": [str(place / "launcher"), str(place)]}}}
    server = Server(folder / "state", binary=binary, config=config)
    stages = Stages(server.start().prepare(), place)
    stages.make()
    (server.state / "config.yaml").unlink()
    (target / "stages.json").write_text(json.dumps(stages.found, indent=1, sort_keys=True) + "\n")
    pack(folder, target / "spools.tar.xz")


def main():
    version, binary = sys.argv[1:]
    target = FOLDER / "fixtures" / version
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="lathe-fixture-") as folder:
        for name, make in (("state", make_state), ("spools", make_spools)):
            (pathlib.Path(folder) / name / "it").mkdir(parents=True)
            make(pathlib.Path(folder) / name / "it", binary, target)
    print(*(f"{file.stat().st_size:8} {file.name}" for file in sorted(target.iterdir())), sep="\n")


if __name__ == "__main__":
    main()
