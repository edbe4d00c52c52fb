#!/usr/bin/env python3
"""upload: 1 GiB in 5,000 files made files of a run, by a client on the server's machine.

Ours: `run.upload_folder` (everything durable when it returns). The peer: `mlflow.log_artifacts` to a stock MLflow server
that serves artifacts itself. `cp -r` + `sync` stands beside as the limit. The source is in the page cache for all; both
sides are asked afterwards how many files they have. Each comes first in one round.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

from support.folder import bench_folder
from support.mlflow_peer import running_mlflow
from support.rows import at_least, median, row, say
from support.server import running_server
from support.turns import in_turn

SDK = pathlib.Path(__file__).parents[1] / "sdk/python"
FILES, FOLDERS = 5_000, 50
BYTES = 1 << 30
ROUNDS = 3

OURS = """
import json, sys, time
from azureml.core import Experiment, Workspace
run = Experiment(Workspace.create("bench", exist_ok=True), "bench").start_logging(snapshot_directory=None)
begin = time.perf_counter()
run.upload_folder("data", sys.argv[1])
took = time.perf_counter() - begin
counted = len([name for name in run.get_file_names() if name.startswith("data/")])
run.complete()
print(json.dumps({"took": took, "counted": counted}))
"""

PEER = """
import json, sys, time
import mlflow
mlflow.set_experiment("bench")
client = mlflow.MlflowClient()
def count(run, path):
    found = client.list_artifacts(run, path)
    return sum(count(run, entry.path) if entry.is_dir else 1 for entry in found)
with mlflow.start_run() as run:
    begin = time.perf_counter()
    mlflow.log_artifacts(sys.argv[1], "data")
    took = time.perf_counter() - begin
    counted = count(run.info.run_id, "data")
print(json.dumps({"took": took, "counted": counted}))
"""


def make_source(root, number):
    """Bytes that do not compress and that no other round has: every round sends all of them."""
    block = os.urandom(1 << 20)
    size = BYTES // FILES
    for file in range(FILES):
        folder = root / f"part{file % FOLDERS:02}"
        folder.mkdir(parents=True, exist_ok=True)
        start = (file * 4099) % (len(block) - size)
        head = (number * FILES + file).to_bytes(8, "little")
        (folder / f"file{file:04}.bin").write_bytes(head + block[start : start + size - 8])


def settle():
    """What earlier steps left to be written is not the next one's cost."""
    os.sync()


def copy_once(source, target):
    settle()
    begin = time.perf_counter()
    subprocess.run(["sh", "-c", 'cp -r "$0" "$1" && sync', str(source), str(target)], check=True)
    return time.perf_counter() - begin


def check(name, found):
    if found["counted"] != FILES:
        raise SystemExit(f"error: {name} has {found['counted']} of {FILES} files")
    return found["took"]


def upload_ours(server, source):
    settle()
    environment = os.environ | {"PYTHONPATH": str(SDK), "LATHE_STATE": str(server.state)}
    environment["XDG_STATE_HOME"] = str(server.state.parent / "user")
    command = [sys.executable, "-c", OURS, str(source)]
    done = subprocess.run(command, cwd=server.state.parent, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: the upload ended with {done.returncode}: {done.stderr[-1500:]}")
    return check("lathe", json.loads(done.stdout.strip().splitlines()[-1]))


def upload_peer(mlflow, source):
    settle()
    return check("mlflow", mlflow.script(PEER, source))


def main():
    copies, ours, peers = [], [], []
    with bench_folder() as folder, running_server() as server, running_mlflow() as mlflow:
        for number in range(ROUNDS):
            source = folder / f"source{number}"
            make_source(source, number)
            steps = [
                lambda: copies.append(copy_once(source, folder / f"copy{number}")),
                lambda: ours.append(upload_ours(server, source)),
                lambda: peers.append(upload_peer(mlflow, source)),
            ]
            for step in in_turn(steps, number):
                step()
            say(f"cp + sync {copies[-1]:.2f} s, lathe {ours[-1]:.2f} s, mlflow {peers[-1]:.2f} s")
    mine, other, limit = median(ours), median(peers), median(copies)
    at_least("upload", f"{mine:.2f} s", f"mlflow log_artifacts: {other:.2f} s", other / mine, 5)
    row("upload vs the limit", f"{mine:.2f} s", f"cp + sync: {limit:.2f} s", limit / mine, "reported", True)


main()
