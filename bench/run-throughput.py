#!/usr/bin/env python3
"""run-throughput: 2,000 runs of `true`, from the first submit until all are Completed.

limit: two bare spawns per run (a runner and its program), as many at once; peer: `sbatch` on a local Slurm, all jobs
submitted and done. Slurm gets fewer jobs and is compared by its rate.
"""

import subprocess
import threading
import time

from support.prepared import prepare_submits, send_all
from support.rows import at_least, median, say
from support.server import running_server, wait_until
from support.slurm import running_slurm

RUNS = 2000
SLURM_JOBS = 400
AT_ONCE = 16
CONNECTIONS = 8
ROUNDS = 3
LIMIT_SECONDS = 300


def measure_limit():
    """Runs a second when each costs two spawns and nothing else."""
    begin = time.perf_counter()
    subprocess.run(
        ["xargs", "-P", str(AT_ONCE), "-n", "1", "/bin/true"], input=b"1\n" * (2 * RUNS), check=True, timeout=LIMIT_SECONDS
    )
    return RUNS / (time.perf_counter() - begin)


def unfinished(api):
    gauges = dict(line.rsplit(" ", 1) for line in api.text("/metrics").splitlines() if not line.startswith("#"))
    return float(gauges["lathe_runs_queued"]) + float(gauges["lathe_attempts_live"])


def count_completed(api):
    count, cursor = 0, ""
    while cursor is not None:
        page = api.call("GET", f"{api.runs}?status=Completed&limit=500{cursor and '&cursor=' + cursor}")
        count, cursor = count + len(page["items"]), page["next"]
    return count


def measure_ours(server):
    api = server.api()
    before = count_completed(api)
    shares = [prepare_submits(api, ["/bin/true"], "pool", RUNS // CONNECTIONS) for _ in range(CONNECTIONS)]
    begin = time.perf_counter()
    clients = [threading.Thread(target=send_all, args=(api.connection.path, share)) for share in shares]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    wait_until(lambda: unfinished(api) == 0, LIMIT_SECONDS, "all runs are over", pause=0.03)
    rate = RUNS / (time.perf_counter() - begin)
    done = count_completed(api) - before
    if done != RUNS:
        raise SystemExit(f"error: {done} of {RUNS} runs are Completed")
    return rate


def measure_slurm():
    with running_slurm(nodes=8, slots=AT_ONCE // 8) as slurm:
        begin = time.perf_counter()
        command = ["sbatch", "--quiet", "-o", "/dev/null", "--wrap", "true"]
        # As many submitters as our connections; sbatch itself takes one job at a time.
        line = ["xargs", "-P", str(CONNECTIONS), "-I", "{}", *command]
        subprocess.run(line, input=b"1\n" * SLURM_JOBS, check=True, env=slurm.environment, timeout=LIMIT_SECONDS)
        wait_until(lambda: not slurm.text("squeue", "-h"), LIMIT_SECONDS, "all Slurm jobs are over", pause=0.1)
        return SLURM_JOBS / (time.perf_counter() - begin)


def compare(name, config, goal):
    """Against the limit, in turns; the rate."""
    limits, ours = [], []
    with running_server(config) as server:
        server.add_compute("pool", AT_ONCE)
        for _ in range(ROUNDS):
            limits.append(measure_limit())
            ours.append(measure_ours(server))
            say(f"{name}: limit {limits[-1]:.0f}/s, lathe {ours[-1]:.0f}/s")
    limit, rate = median(limits), median(ours)
    at_least(name, f"{rate:.0f}/s", f"two spawns: {limit:.0f}/s", rate / limit, goal)
    return rate


def main():
    rate = compare("run-throughput", None, 0.37)
    compare("run-throughput, box: off", {"providers": {"local": {"box": "off"}}}, 0.5)
    slurm = measure_slurm()
    at_least("run-throughput vs sbatch", f"{rate:.0f}/s", f"sbatch: {slurm:.0f}/s", rate / slurm, 1)


main()
