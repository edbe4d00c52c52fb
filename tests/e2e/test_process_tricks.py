"""Scripts that play tricks with processes: a fork bomb, thousands of children, ptrace, kill(-1), a process that nothing can
kill. The others do not notice, and when the run is over nothing of it is left."""

import contextlib
import os
import pathlib
import shutil

import pytest

from harness import processes
from harness.checker import check_machine, check_processes
from harness.client import TERMINAL
from harness.paths import PYTHON
from harness.wait import wait_for

PIDS, FREEZER = pathlib.Path("/sys/fs/cgroup/pids"), pathlib.Path("/sys/fs/cgroup/freezer")
# Of one run by the site's rules, and of the whole test: more than that one, and less than what would harm the machine.
RUN_PROCESSES, MOST_PROCESSES = 400, int(os.environ.get("LATHE_BOMB", 2000))


def marked(mark, **variables):
    return {"variables": {"E2E_MARK": mark, **variables}}


@contextlib.contextmanager
def bounded(server, most):
    """A limit around the server and all its runs: a bomb that nobody stops harms the test alone."""
    if os.geteuid() != 0 or not os.access(PIDS / "cgroup.procs", os.W_OK):
        pytest.skip("needs the pids controller")
    group = PIDS / f"lathe-bomb-{os.getpid()}"
    group.mkdir()
    (group / "pids.max").write_text(str(most))
    for pid in (server.pid, *processes.children(server.pid)):
        (group / "cgroup.procs").write_text(str(pid))
    try:
        yield group
    finally:
        end_group(group)


def end_group(group):
    """Everybody in it but the server's own processes ends; the group goes."""

    def found():
        left = [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
        for pid in left:
            if processes.is_lathe(pid):
                with contextlib.suppress(OSError):
                    (PIDS / "cgroup.procs").write_text(str(pid))
            else:
                processes.kill(pid)
        return left

    wait_for(lambda: not found(), 60, "an empty group")
    group.rmdir()


BOMB = """
import os, time
print("ready", flush=True)
while True:
    try: os.fork()
    except OSError: time.sleep(0.5)
"""


@pytest.mark.root
def test_a_fork_bomb_harms_only_itself_and_ends_with_its_run(make_server, mark):
    server = make_server(config={"providers": {"local": {"processes": RUN_PROCESSES}}}).start().prepare()
    client = server.client()
    client.wait(client.submit("true"), "Completed")  # whatever starts runners is there
    with bounded(server, MOST_PROCESSES) as group:
        bomb = client.submit([PYTHON, "-c", BOMB], environment=marked(mark), grace_seconds=0)
        looks = []
        wait_for(lambda: is_full(group, looks), 60, "a bomb that cannot grow any more", every=0.3)
        assert looks[-1] < MOST_PROCESSES, "nothing but the test has stopped it"
        other = client.submit("echo undisturbed")
        client.wait(other, "Completed", deadline=60)
        assert client.log(other) == b"undisturbed\n"
        client.cancel(bomb).expect(200, 202)
        client.wait(bomb, "Canceled", deadline=90)
        assert not processes.with_environment("E2E_MARK", mark)
        check_machine(server, [bomb, other])


def is_full(group, looks):
    """It has come to a limit, its own or that of the test: the number does not grow any more between two looks."""
    looks.append(int((group / "pids.current").read_text()))
    return len(looks) > 1 and looks[-1] > 100 and looks[-1] <= looks[-2]


# Perl, because its fork is cheap: 5,000 children, each of which leaves an orphan in a session of its own.
CHILDREN = """
use POSIX;
for my $round (1..50) {
  my @some;
  for (1..100) {
    my $child = fork; die "fork: $!" unless defined $child;
    if (!$child) { if (!fork) { POSIX::setsid(); POSIX::_exit(0) } POSIX::_exit(0) }
    push @some, $child;
  }
  waitpid $_, 0 for @some;
}
print "made 10000\\n";
"""


@pytest.mark.skipif(not shutil.which("perl"), reason="needs perl")
def test_ten_thousand_children_and_their_orphans_leave_nothing(server, client, mark):
    run = client.submit(["/usr/bin/env", "perl", "-e", CHILDREN], environment=marked(mark))
    client.wait(run, "Completed", deadline=120)
    assert client.log(run) == b"made 10000\n"
    check_processes(server.state, mark)
    check_machine(server, [run])


# Tries to get hold of every process that it sees and that is not its own.
TRACER = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
own, seized = os.getsid(0), []
for name in filter(str.isdigit, os.listdir("/proc")):
    pid = int(name)
    try: line = open(f"/proc/{pid}/cmdline", "rb").read()
    except OSError: continue
    if pid == os.getpid() or os.environ["STATE"].encode() not in line: continue
    if libc.ptrace(PTRACE_SEIZE, pid, None, None) == 0:
        seized.append(pid)
        libc.ptrace(PTRACE_DETACH, pid, None, None)
print("seized", len(seized), flush=True)
"""


def test_a_script_cannot_trace_the_server_or_a_runner(server, client, mark):
    run = client.submit([PYTHON, "-c", TRACER], environment=marked(mark, STATE=str(server.state)))
    client.wait(run, *TERMINAL)
    assert client.log(run) == b"seized 0\n"


# kill(-1) reaches everybody whom the caller may reach: never where that would be the machine of the tests.
KILL_ALL = """
import os, signal
if os.readlink("/proc/self/ns/pid") == os.environ["OUTSIDE"]:
    print("no process namespace", flush=True)
else:
    print("kills", flush=True)
    os.kill(-1, signal.SIGKILL)
    print("lives", flush=True)
"""


def test_a_script_that_kills_everybody_reaches_only_its_own(mark, make_server):
    server = make_server().start().prepare()
    client = server.client()
    other = client.submit("echo begun; sleep 600", environment=marked(mark), grace_seconds=0)
    wait_for(lambda: client.log(other), 30, "the other run")
    pid = server.pid
    variables = marked(mark, OUTSIDE=os.readlink("/proc/self/ns/pid"))
    run = client.submit([PYTHON, "-c", KILL_ALL], environment=variables)
    done = client.wait(run, *TERMINAL)
    assert client.log(run) != b"no process namespace\n", "the run has no process namespace: kill(-1) would reach everybody"
    assert client.log(run).startswith(b"kills\n"), client.log(run)
    assert len(done["attempts"]) == 1 and done["attempts"][0]["reason"] != "node-lost", done["attempts"]
    assert server.is_up() and server.pid == pid and client.status(other) == "Running"
    client.cancel(other).expect(200, 202)
    client.wait(other, "Canceled")


@contextlib.contextmanager
def frozen(pids):
    """Processes that not even SIGKILL ends, until they thaw."""
    group = FREEZER / f"lathe-frozen-{os.getpid()}"
    group.mkdir()
    try:
        for pid in pids:
            (group / "cgroup.procs").write_text(str(pid))
        (group / "freezer.state").write_text("FROZEN")
        wait_for(lambda: (group / "freezer.state").read_text().strip() == "FROZEN", 10, "frozen processes")
        yield
    finally:
        (group / "freezer.state").write_text("THAWED")
        wait_for(lambda: not (group / "cgroup.procs").read_text(), 60, "the end of what was frozen")
        group.rmdir()


@pytest.mark.root
@pytest.mark.skipif(not os.access(FREEZER / "cgroup.procs", os.W_OK), reason="needs the freezer")
@pytest.mark.skipif("LATHE_LONG" not in os.environ, reason="takes a minute; LATHE_LONG=1, as ./test.sh --all sets it")
def test_a_process_that_cannot_be_killed_keeps_its_node_and_is_told(make_server, mark):
    server = make_server().start()
    client = server.client()
    client.put("/api/v1/workspaces/default", {}).expect(200, 201)
    client.put(client.path("computes", "one"), {"vm_size": "machine", "max_nodes": 1}).expect(201)
    run = client.submit("echo begun; sleep 600", compute="one", environment=marked(mark), grace_seconds=0)
    wait_for(lambda: client.log(run), 30, "the run")
    with frozen(processes.with_environment("E2E_MARK", mark)):
        client.cancel(run).expect(200, 202)
        second = client.submit("echo second", compute="one")
        wait_for(lambda: is_told(server, client, run) or client.run(second)["ended"], 150, "a word about it", every=0.2)
        assert client.run(second)["ended"] is None, "its node was given away"
    client.wait(run, "Canceled", deadline=60)
    client.wait(second, "Completed", deadline=60)


def is_told(server, client, run):
    """By the run, and by the compute target as the command line shows it."""
    said = " ".join(client.run(run)["notes"]) + str(client.run(run)["error"])
    shown = server.cli("compute", "show", "one", check=False).stdout
    return ("kill" in said or "hang" in said) and ("kill" in shown or "hang" in shown)
