"""Finds processes through /proc: by an environment variable or by their arguments. Looks only at processes that were
started after the tests: everybody else's are none of their business."""

import contextlib
import os
import pathlib
import signal

from . import paths


def _read(pid, name):
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _start_of(pid):
    """Start time in clock ticks since boot; 0 when the process is gone."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[19]) if fields else 0


_OLDEST = _start_of(os.getpid())


def pids():
    """Processes that are younger than this one."""
    found = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [pid for pid in found if pid != os.getpid() and _start_of(pid) >= _OLDEST]


def with_environment(name, value):
    """Live processes that have NAME=value in their environment."""
    wanted = f"{name}={value}".encode()
    return [pid for pid in pids() if wanted in _read(pid, "environ").split(b"\0") and is_alive(pid)]


def with_argument(text):
    wanted = os.fsencode(str(text))
    return [pid for pid in pids() if any(wanted in arg for arg in arguments(pid))]


def arguments(pid):
    return _read(pid, "cmdline").rstrip(b"\0").split(b"\0")


def name(pid):
    return _read(pid, "comm").decode(errors="replace").strip()


def environment(pid):
    pairs = (entry.partition(b"=") for entry in _read(pid, "environ").split(b"\0") if entry)
    return {os.fsdecode(key): os.fsdecode(value) for key, _, value in pairs}


def holding(secret):
    """Processes with this text in their environment. Only their ids: what else they hold is not for a report."""
    return [pid for pid in pids() if os.fsencode(secret) in _read(pid, "environ")]


def showing(secret):
    """Processes with this text in their arguments."""
    return [pid for pid in pids() if os.fsencode(secret) in _read(pid, "cmdline")]


def is_alive(pid):
    """A zombie is not alive."""
    status = _read(pid, "stat")
    return bool(status) and status.rpartition(b")")[2].split()[0] not in (b"Z", b"X")


def parent(pid):
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def children(pid):
    """Live direct children."""
    return [child for child in pids() if parent(child) == pid and is_alive(child)]


def is_lathe(pid):
    """Whether it is a process of our own program, under whatever name, and not one that a run has started."""
    try:
        program = os.stat(f"/proc/{pid}/exe")
    except OSError:
        return False
    return any(os.path.samestat(program, os.stat(known)) for known in paths.PROGRAMS if known.exists())


def helpers_of(runner):
    """Processes of our own below a runner, found by their relation to it: what guards the run and ends its processes."""
    found, look = [], [runner]
    while look:
        below = [child for child in children(look.pop()) if is_lathe(child)]
        found, look = found + below, look + below
    return found


def fork_servers_of(server):
    """Children of our own that a server starts its runners from: those that have no task."""
    words = ((child, arguments(child)) for child in children(server) if is_lathe(child))
    return [child for child, given in words if b"--work" not in given and b"--adopt" not in given]


def adopters_of(state):
    return [pid for pid in with_argument(state) if b"--adopt" in arguments(pid) and is_alive(pid)]


def runners_of(state):
    """`lathe runner` processes whose work folder lies in this state folder."""
    return [pid for pid in with_argument(state) if b"runner" in arguments(pid)]


def runner_of(state, task):
    """The runner of one task ("RUN.ATTEMPT.NODE"): not a helper below it that looks the same, and not an adopter."""
    folder = f"{state}/work/{task}"
    found = {pid for pid in with_argument(folder) if b"--work" in arguments(pid) and is_lathe(pid) and is_alive(pid)}
    return next((pid for pid in found if parent(pid) not in found), None)


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


@contextlib.contextmanager
def ended(mark):
    """Whatever the outcome, no process of runs with this mark outlives the block."""
    try:
        yield
    finally:
        for pid in with_environment("E2E_MARK", mark):
            kill(pid)
