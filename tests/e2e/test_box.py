"""The box of a run: a script that does all it can does not get out of it, and nothing of it outlives its run. As root,
where each run has a user of its own, and as an ordinary user."""

import os
import pathlib
import subprocess

import pytest
import yaml

from harness import cgroups, processes
from harness.client import new_id
from harness.server import Server
from harness.somebody import Somebody
from harness.wait import wait_for

PYTHON = "/usr/bin/python3"

# Says what it could do. Every line is "NAME: no" or "NAME: YES, …".
INTRUDER = r"""
import ctypes, os, pathlib, pwd, signal, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
state, work, keys, config = (pathlib.Path(os.environ[name]) for name in ("STATE", "WORK", "KEYS", "CONFIG"))

def attempt(name, deed):
    try:
        got = deed()
    except Exception as refused:
        return print(f"{name}: no ({type(refused).__name__})")
    print(f"{name}: " + ("no" if got is None else f"YES, {got!r}"))

def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno())
    return "done"

def system(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno())
    return "done"

def listed(folder):
    return sorted(os.listdir(folder)) or None

for place in (state, "/proc", "/tmp", "/"):
    attempt(f"umount {place}", lambda: call("umount2", os.fsencode(str(place)), 2))
attempt("mount", lambda: call("mount", b"tmpfs", b"/mnt", b"tmpfs", 0, None))
attempt("namespace of 1", lambda: call("setns", os.open("/proc/1/ns/mnt", os.O_RDONLY), 0))
attempt("user namespace", lambda: call("unshare", 0x10000000))
attempt("mount namespace", lambda: call("unshare", 0x00020000))
attempt("root of 1", lambda: listed(f"/proc/1/root{state}/store"))
attempt("descriptors of 1", lambda: listed("/proc/1/fd"))
attempt("environment of 1", lambda: open("/proc/1/environ").read())
attempt("memory of 1", lambda: open("/proc/1/mem", "rb"))
for who in ("1", os.environ["RUNNER"], os.environ["SERVER"]):
    attempt(f"ptrace {who}", lambda: call("ptrace", 16, int(who), 0, 0))
    if who != "1":
        attempt(f"signal to {who}", lambda: os.kill(int(who), 0) or "sent")
        attempt(f"look at {who}", lambda: listed(f"/proc/{who}"))
attempt("handles", lambda: system(304, -1, b"", 0))
attempt("bpf", lambda: system(321, 0, b"", 0))
attempt("keys", lambda: system(250, 0, -3, 0))
attempt("device files", lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0)) or "made")
for name in ("token", "lathe.db", "config.yaml", "server.json", "lock"):
    attempt(f"read {name}", lambda: (state / name).read_bytes()[:8])
attempt("list the state folder", lambda: [name for name in os.listdir(state) if name not in ("run", "work")] or None)
attempt("the store", lambda: listed(state / "store"))
attempt("write the state folder", lambda: (state / "new").write_text("x"))
for name in ("order.json", "spool.json", "exit", "log.0"):
    attempt(f"spool {name}", lambda: (work / "spool" / name).read_bytes())
attempt("forge the exit", lambda: (work / "spool" / "exit").write_text("{}"))
attempt("make a spool", lambda: (work / "spool").mkdir() or "made")
attempt("other tasks", lambda: [name for name in os.listdir(work.parent) if name != work.name] or None)
attempt("the other run", lambda: open(os.environ["OTHER"]).read())
attempt("keys folder", lambda: listed(keys))
attempt("configuration", lambda: listed(config))
attempt("the server's variables", lambda: [value for value in os.environ.values() if "hush" in value] or None)
attempt("control groups", lambda: open("/sys/fs/cgroup/memory/cgroup.procs", "w"))
attempt("become root", lambda: os.setuid(0) or (None if os.environ["AS"] != "root" else "done"))
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb"):
    attempt(name, lambda: None if int(status[name], 16) == 0 else status[name])
attempt("NoNewPrivs", lambda: None if status["NoNewPrivs"] == "1" else "missing")
attempt("Seccomp", lambda: None if status["Seccomp"] == "2" else "missing")
# What it must be able to do.
assert pwd.getpwuid(os.getuid()).pw_name
for folder in (os.environ["HOME"], "/tmp", "/var/tmp", "/dev/shm", ".", "outputs", os.environ["LATHE_METRICS_DIR"]):
    (pathlib.Path(folder) / "mine").write_text("mine")
assert listed("/proc") and os.getpid() < 100 and os.environ["PATH"]
child = subprocess.Popen(["sleep", "600"])
assert call("ptrace", 16, child.pid, 0, 0) == "done"
child.kill()
# The last deed: everybody that it can reach.
bystander = subprocess.Popen(["sleep", "600"])
os.kill(-1, signal.SIGKILL)
assert bystander.wait() == -9
print("still here as", os.getuid())
"""

KINDS = [pytest.param("root", marks=pytest.mark.root), pytest.param("somebody", marks=pytest.mark.root)]
SECRET = {"AWS_SECRET_ACCESS_KEY": "hush-aws", "DATABASE_URL": "postgres://hush"}


@pytest.fixture(scope="module", params=KINDS)
def site(request, binary):
    made = Server(environment=SECRET) if request.param == "root" else Somebody(environment=SECRET)
    if request.param == "root":
        made.config_folder = made.state.parent / "config" / "lathe"
        made.environment["XDG_CONFIG_HOME"] = str(made.config_folder.parent)
    with made:
        made.kind = request.param
        yield made


def task_folder(site, client, run):
    found = wait_for(lambda: client.run(run) if client.run(run)["attempt"] else None, 20, "an attempt")
    return site.state / "work" / f"{found['sequence']}.{found['attempt']}.0"


def guardian_of(folder):
    """Process 1 of the run's box; the runner looks the same, but leads a session."""
    found = (pid for pid in processes.with_argument(folder) if processes.name(pid) == "lathe-guardian")
    return next(found, None)


def runner_of(folder):
    found = (pid for pid in processes.with_argument(folder) if processes.name(pid) != "lathe-guardian")
    return next((pid for pid in found if processes.is_alive(pid) and b"--work" in processes.arguments(pid)), None)


def submit(client, command, mark, **fields):
    return client.submit(command, environment={"variables": {"E2E_MARK": mark}}, **fields)


def test_a_script_does_not_get_out_of_its_box(site, mark):
    client = site.client()
    config = site.config_folder
    config.mkdir(parents=True, exist_ok=True)
    (config / "note").write_text("hush")
    client.put(client.path("secrets", "one"), {"value": "hush"})
    other = submit(client, "echo hush > told; echo ready; sleep 600", mark)
    wait_for(lambda: b"ready" in client.log(other), 30, "the other run")
    other_folder = task_folder(site, client, other)
    assert (other_folder / "run" / "told").read_text() == "hush\n"
    variables = {
        "E2E_MARK": mark, "STATE": str(site.state), "KEYS": str(site.key_folder), "CONFIG": str(config), "AS": site.kind,
        "OTHER": str(other_folder / "run" / "told"), "RUNNER": str(runner_of(other_folder)),
        "SERVER": str(server_pid(site)),
    }  # fmt: skip
    sequence = client.run(other)["sequence"] + 1
    variables["WORK"] = str(site.state / "work" / f"{sequence}.1.0")
    run = client.submit([PYTHON, "-c", INTRUDER], environment={"variables": variables})
    done = client.wait(run, "Completed", "Failed", deadline=60)
    said = client.log(run).decode()
    assert done["status"] == "Completed" and done["sequence"] == sequence, said
    got_in = [line for line in said.splitlines() if ": YES" in line]
    assert not got_in, got_in
    user = int(said.split("still here as ")[1])
    assert user == 65534 if site.kind == "somebody" else user >= 2_000_000_000
    assert client.run(other)["status"] == "Running"
    assert client.file(run, "outputs/mine").expect(200).body == b"mine"
    client.cancel(other)
    client.wait(other, "Canceled")


def server_pid(site):
    return yaml.safe_load((site.state / "server.json").read_text())["pid"]


FORKED = (
    "setsid sh -c 'sleep 600 & sleep 600' </dev/null >/dev/null 2>&1 & "
    "echo ready; while :; do echo more; sleep 0.05; done"
)


@pytest.mark.parametrize("victims", ["runner guardian", "guardian runner", "guardian", "runner", "both at once"])
def test_no_process_outlives_its_run_whoever_is_killed(site, mark, victims):
    client = site.client()
    run = submit(client, FORKED, mark)
    wait_for(lambda: b"ready" in client.log(run), 30, "the run")
    wait_for(lambda: len(processes.with_environment("E2E_MARK", mark)) >= 4, 10, "its processes")
    folder = task_folder(site, client, run)
    pids = {"runner": runner_of(folder), "guardian": guardian_of(folder)}
    assert all(pids.values()), pids
    if victims == "both at once":
        subprocess.run(["kill", "-9", *map(str, pids.values())], check=True)
    else:
        for name in victims.split():
            processes.kill(pids[name])
    client.wait(run, "Failed", deadline=60)
    assert not processes.with_environment("E2E_MARK", mark), "alive after the run's end"
    wait_for(lambda: not cgroups.of_runs([run]), 20, "the end of its control groups")


def test_runs_share_neither_processes_nor_temporary_files_nor_memory(site, mark):
    client = site.client()
    script = f"touch /tmp/here /var/tmp/here /dev/shm/here; ls /tmp /var/tmp /dev/shm; ls /proc | grep -c '^[0-9]'; echo {mark}"
    runs = [submit(client, script, mark) for _ in range(2)]
    for run in runs:
        client.wait(run, "Completed")
        said = client.log(run).decode().split()
        assert said.count("here") == 3 and int(said[-2]) < 10, said
    assert not pathlib.Path("/tmp/here").exists() and not pathlib.Path("/dev/shm/here").exists()


def test_mpi_runs_side_by_side(site, mark):
    client = site.client()
    command = "mpirun --oversubscribe -n 2 sh -c 'echo rank $OMPI_COMM_WORLD_RANK'"
    runs = [submit(client, command, mark) for _ in range(4)]
    for run in runs:
        done = client.wait(run, "Completed", "Failed", deadline=90)
        said = client.log(run).decode()
        assert done["status"] == "Completed" and sorted(said.splitlines())[:2] == ["rank 0", "rank 1"], said


BOMB = """
import os, signal, sys
count = 0
try:
    while True:
        if os.fork() == 0: signal.pause()
        count += 1
except OSError as error:
    print("stopped at", count, error.errno)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_fork_bomb_is_stopped_and_cleared_away(binary, mark, kind):
    rules = {"providers": {"local": {"processes": 100}}}
    with Server(config=rules) if kind == "root" else Somebody(rules=yaml.safe_dump(rules)) as site:
        client = site.client()
        run = submit(client, [PYTHON, "-c", BOMB], mark)
        client.wait(run, "Completed", deadline=60)
        said = client.log(run).decode().split()
        assert said[:2] == ["stopped", "at"] and 90 <= int(said[2]) <= 100 and said[3] == "11", said
        assert not processes.with_environment("E2E_MARK", mark)


FREEZER = pathlib.Path("/sys/fs/cgroup/freezer")


@pytest.mark.root
@pytest.mark.parametrize("end", ["cancel", "kill"])
def test_a_process_that_cannot_be_killed_keeps_its_runner_and_the_run_says_so(make_server, mark, end):
    if not (FREEZER / "cgroup.procs").exists():
        pytest.skip("only frozen processes of older control groups do not die")
    server = make_server()
    server.start().prepare()
    client = server.client()
    run = submit(client, "mkdir -p outputs; echo kept > outputs/kept; echo ready; sleep 600", mark, grace_seconds=1)
    wait_for(lambda: b"ready" in client.log(run), 30, "the run")
    folder = task_folder(server, client, run)
    group = FREEZER / new_id("lathe-test")
    group.mkdir()
    try:
        for pid in processes.with_environment("E2E_MARK", mark):
            (group / "cgroup.procs").write_text(str(pid))
        (group / "freezer.state").write_text("FROZEN")
        if end == "cancel":
            client.cancel(run).expect(200, 202)
        else:
            processes.kill(runner_of(folder))
        done = client.wait(run, "Canceled", "Failed", deadline=90)
        assert "hang in the kernel" in str(done), done
        assert client.file(run, "outputs/kept").expect(200).body == b"kept\n"
        # Whoever looks after it stays, and so does its folder.
        assert processes.with_argument(folder) and (folder / "spool" / "spool.json").exists()
        assert processes.with_environment("E2E_MARK", mark)
    finally:
        (group / "freezer.state").write_text("THAWED")
        wait_for(lambda: not processes.with_environment("E2E_MARK", mark), 30, "the end of the frozen")
        wait_for(lambda: not processes.with_argument(folder), 30, "the end of the runner")
        wait_for(lambda: cgroups.are_removed([group]), 10, "the end of the group")
    assert not (folder / "spool" / "spool.json").exists()


def test_without_a_box_a_control_group_ends_the_processes(make_server, mark):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    server = make_server(config={"providers": {"local": {"box": "off"}}})
    server.start().prepare()
    client = server.client()
    run = submit(client, FORKED, mark)
    wait_for(lambda: b"ready" in client.log(run), 30, "the run")
    wait_for(lambda: len(processes.with_environment("E2E_MARK", mark)) >= 4, 10, "its processes")
    folder = task_folder(server, client, run)
    subprocess.run(["kill", "-9", str(runner_of(folder)), str(guardian_of(folder))], check=True)
    client.wait(run, "Failed", deadline=60)
    assert not processes.with_environment("E2E_MARK", mark)
    wait_for(lambda: not cgroups.of_runs([run]), 20, "the end of its control groups")
