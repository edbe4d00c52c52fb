#!/usr/bin/env python3
"""metric-ingest: how many metrics a second a training script can log until all of them are with the server.

Ours: `run.log` inside a run, from the first call until the last value can be read back from the server. The peer: a
stock MLflow server with its SQLite store, `mlflow.log_metric` (on the server when it returns), and beside it
`MlflowClient.log_batch` with as many metrics as it takes at once. Both count what the server has at the end, outside
of the clock. Rounds take turns, and so do the two within them.
"""

import json
import pathlib
import secrets
import sys

from support.mlflow_peer import running_mlflow
from support.rows import at_least, at_most, median, row, say
from support.server import running_server, wait_until
from support.turns import in_turn

SDK = pathlib.Path(__file__).parents[1] / "sdk/python"
CALLS = 100_000
PEER_CALLS = 1_000
PEER_BATCHES, BATCH = 20, 1_000
ROUNDS = 3
SCRIPT_SECONDS = 2  # what CALLS calls may cost a script

# The journal of a process arrives in order: when its last record can be read, all of it can.
OURS = """
import json, sys, time
sys.path.insert(0, SDK)
from azureml.core import Run
run, clock, took = Run.get_context(), time.perf_counter, []
begin = last = clock()
for step in range(CALLS):
    run.log("loss", 1 / (step + 1), step=step)
    now = clock()
    took.append(now - last)
    last = now
run.log("end", 1)
called = clock() - begin
while "end" not in run.get_metrics("end"): time.sleep(0.005)
readable = clock() - begin
took.sort()
counted = len(run.get_metrics("loss")["loss"])
shown = {"calls": called, "readable": readable, "counted": counted}
shown.update(median=took[CALLS // 2], p99=took[CALLS * 99 // 100], longest=took[-1])
print(json.dumps(shown))
"""

PEER = """
import json, sys, time
import mlflow
from mlflow.entities import Metric
calls, batches, batch = map(int, sys.argv[1:])
mlflow.set_experiment("bench")
client, clock, took = mlflow.MlflowClient(), time.perf_counter, []
def count(run): return len(client.get_metric_history(run.info.run_id, "loss"))
with mlflow.start_run() as run:
    for step in range(50): mlflow.log_metric("first", 1, step=step)  # every worker has opened its database
    begin = last = clock()
    for step in range(calls):
        mlflow.log_metric("loss", 1 / (step + 1), step=step)
        now = clock()
        took.append(now - last)
        last = now
    called = clock() - begin
    counted = count(run)
with mlflow.start_run() as run:
    begin = clock()
    for number in range(batches):
        steps, now = range(number * batch, number * batch + batch), int(time.time() * 1000)
        client.log_batch(run.info.run_id, [Metric("loss", 1 / (step + 1), now, step) for step in steps])
    batched = clock() - begin
    counted_batched = count(run)
took.sort()
shown = {"calls": called, "batches": batched, "counted": counted, "counted_batched": counted_batched}
shown.update(median=took[calls // 2], p99=took[calls * 99 // 100], longest=took[-1])
print(json.dumps(shown))
"""


def check(name, counted, wanted):
    if counted != wanted:
        raise SystemExit(f"error: {name} has {counted} of {wanted} metrics")


def measure_ours(server):
    api = server.api()
    script = f"SDK, CALLS = {str(SDK)!r}, {CALLS}\n{OURS}"
    body = {"id": f"ingest_{secrets.token_hex(6)}", "experiment": "bench", "command": [sys.executable, "-c", script]}
    run = api.call("POST", api.runs, body)["id"]
    ended = ("Completed", "Failed", "Canceled")
    wait_until(lambda: api.call("GET", f"{api.runs}/{run}")["status"] in ended, 300, "the run has ended", pause=0.5)
    said = api.text(f"{api.runs}/{run}/logs")
    api.close()
    try:
        found = json.loads(said.strip().splitlines()[-1])
    except (ValueError, IndexError):
        raise SystemExit(f"error: the run said: {said[-1500:]}") from None
    check("lathe", found["counted"], CALLS)
    say(f"lathe: {CALLS:,} calls in {found['calls']:.2f} s, readable after {found['readable']:.2f} s")
    return found


def measure_peer(mlflow):
    found = mlflow.script(PEER, PEER_CALLS, PEER_BATCHES, BATCH)
    check("mlflow", found["counted"], PEER_CALLS)
    check("mlflow (log_batch)", found["counted_batched"], PEER_BATCHES * BATCH)
    say(f"mlflow: {PEER_CALLS:,} calls in {found['calls']:.2f} s, {PEER_BATCHES} batches in {found['batches']:.2f} s")
    return found


def main():
    with running_server() as server, running_mlflow() as mlflow:
        server.api().call("PUT", "/api/v1/workspaces/default", {})
        ours, peers = [], []
        steps = [lambda: ours.append(measure_ours(server)), lambda: peers.append(measure_peer(mlflow))]
        for number in range(ROUNDS):
            for step in in_turn(steps, number):
                step()

    def ours_of(field):
        return median([found[field] for found in ours])

    def peer_of(field):
        return median([found[field] for found in peers])

    rate = CALLS / ours_of("readable")
    called, batched = PEER_CALLS / peer_of("calls"), PEER_BATCHES * BATCH / peer_of("batches")
    shown = f"{rate:,.0f} /s"
    at_least("metric-ingest", shown, f"mlflow log_metric: {called:,.0f} /s", rate / called, 100)
    row("metric-ingest vs batches", shown, f"mlflow log_batch: {batched:,.0f} /s", rate / batched, "reported", True)
    spent = ours_of("calls")
    limit = f"{SCRIPT_SECONDS} s for {CALLS:,} calls"
    at_most("metric-ingest in the script", f"{spent:.2f} s", limit, spent / SCRIPT_SECONDS, 1)
    for field in ("median", "p99"):
        mine, other = ours_of(field), peer_of(field)
        texts = (f"{mine * 1e6:,.1f} µs", f"mlflow: {other * 1e6:,.0f} µs")
        row(f"metric-ingest one call, {field}", *texts, mine / other, "reported", True)


main()
