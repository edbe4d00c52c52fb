"""Faults of a running process: system calls that are slow or fail (strace), and limits that are too low."""

import contextlib
import os
import pathlib
import resource
import shutil
import subprocess

import pytest

from .wait import wait_for

needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
PIDS = pathlib.Path("/sys/fs/cgroup/pids")
needs_pids_cgroup = pytest.mark.skipif(not os.access(PIDS, os.W_OK), reason="no pids cgroup (v1) that can be written")


@contextlib.contextmanager
def injected(pid, calls, fault, file=None):
    """While this lasts, the system calls of a process and its threads have the fault, e.g. `delay_enter=400000` (in µs);
    with a file, only those on that file."""
    only = ["-P", str(file)] if file else []
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", os.devnull, *only, "-p", str(pid), "-e", f"trace={calls}", "-e", f"inject={calls}:{fault}"],
        stderr=subprocess.DEVNULL,
    )
    try:
        tasks = pathlib.Path(f"/proc/{pid}/task")
        wanted = f"TracerPid:\t{tracer.pid}"
        wait_for(lambda: all(wanted in (task / "status").read_text() for task in tasks.iterdir()), 20, "strace")
        yield
    finally:
        tracer.terminate()
        tracer.wait()


@contextlib.contextmanager
def no_more_descriptors(pid):
    """The process has as many descriptors open as it may."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    # The lowest free number is the next that would be given.
    used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    lowest_free = next(number for number in range(len(used) + 1) if number not in used)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest_free, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


class PidsGroup:
    """A control group that limits how many processes and threads there may be in it."""

    def __init__(self, name):
        self.folder = PIDS / name

    def __enter__(self):
        self.folder.mkdir()
        return self

    def add(self, pid):
        (self.folder / "cgroup.procs").write_text(str(pid))

    def limit(self, more):
        """`more` processes than there are now; None: as many as they like."""
        current = int((self.folder / "pids.current").read_text())
        (self.folder / "pids.max").write_text("max" if more is None else str(current + more))

    def __exit__(self, *_):
        self.limit(None)
        for pid in (self.folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (PIDS / "cgroup.procs").write_text(pid)
        wait_for(lambda: not (self.folder / "cgroup.procs").read_text(), 20, "the end of its processes")
        self.folder.rmdir()
