"""Jumps of the wall clock, and a monotonic clock that was moved, change no run, no order and no time-out."""

import ctypes
import mmap
import os
import struct
import subprocess
import textwrap

import pytest

from harness.blobs import digest
from harness.wait import wait_for

DAY = 86400

# Adds the offset (seconds, in a shared file) to the wall clock of every process that loads it.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile long long *offset;
__attribute__((constructor)) static void open_offset(void) {
  const char *name = getenv("E2E_CLOCK");
  int fd = name ? open(name, O_RDONLY) : -1;
  if (fd < 0) return;
  void *page = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (page != MAP_FAILED) offset = page;
  close(fd);
}
static long long shift(void) { return offset ? *offset : 0; }
int clock_gettime(clockid_t clock, struct timespec *out) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, out);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += shift();
  return result;
}
int gettimeofday(struct timeval *out, void *zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
"""


class Clock:
    """The offset of the wall clock that a server sees."""

    def __init__(self, folder):
        (folder / "shim.c").write_text(textwrap.dedent(SHIM))
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", folder / "shim.so", folder / "shim.c", "-ldl"], check=True)
        self.file = folder / "offset"
        self.file.write_bytes(bytes(4096))
        self.environment = {"LD_PRELOAD": str(folder / "shim.so"), "E2E_CLOCK": str(self.file)}

    def set(self, seconds):
        with self.file.open("r+b") as file, mmap.mmap(file.fileno(), 4096) as page:
            page[: ctypes.sizeof(ctypes.c_longlong)] = struct.pack("<q", seconds)


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path)


def test_the_shim_moves_the_servers_clock(clock, make_server):
    """Proves that the other tests of this file test something."""
    server = make_server(environment=clock.environment).start().prepare()
    clock.set(400 * DAY)
    client = server.client()
    before = client.run(client.submit("true"))["created"]
    clock.set(0)
    after = client.run(client.submit("true"))["created"]
    assert before > after


@pytest.mark.parametrize("jump", [1, -1, 3600, -3600, 365 * DAY, -365 * DAY], ids=lambda jump: f"{jump:+d}s")
def test_a_jump_of_the_wall_clock_ends_and_restarts_nothing(clock, make_server, meeting_place, jump):
    server, gate = make_server(environment=clock.environment).start().prepare(), meeting_place / "gate"
    client = server.client()
    run = client.submit(f"echo before; while [ ! -e {gate} ]; do sleep 0.02; done; echo after", max_run_duration_seconds=600)
    wait_for(lambda: client.log(run) == b"before\n", 30, "the first output")
    clock.set(jump)
    second = client.submit("echo between")
    client.wait(second, "Completed")
    assert client.status(run) == "Running"
    gate.touch()
    done = client.wait(run, "Completed")
    assert len(done["attempts"]) == 1 and client.log(run) == b"before\nafter\n"
    listed = [item["id"] for item in client.items(client.path("runs"))]
    assert listed == [second, run], "newest first means by submission, not by the clock"
    numbers = [event["id"] for event in client.events(run)]
    assert numbers == sorted(numbers)


def test_a_jump_does_not_stretch_or_shorten_a_time_limit(clock, make_server):
    server = make_server(environment=clock.environment).start().prepare()
    client = server.client()
    run = client.submit("echo ready; sleep 600", max_run_duration_seconds=2, grace_seconds=0)
    wait_for(lambda: client.log(run), 30, "the first output")
    clock.set(-365 * DAY)
    assert client.wait(run, "Failed", deadline=20)["attempts"][0]["reason"] == "timed-out"


@pytest.mark.parametrize("jump", [2 * DAY, -2 * DAY], ids=["forward", "back"])
def test_a_collection_after_a_jump_takes_nothing_that_was_just_uploaded(clock, make_server, jump):
    """Leases are counted, not read off the wall clock: neither old blobs nor those stamped after the jump are lost."""
    server = make_server(environment=clock.environment, config={"store": {"lease_hours": 1}}).start().prepare()
    client, large, small = server.client(), os.urandom(300_000), os.urandom(1000)

    def put(data, offset, size):
        name = digest(large if size == len(large) else data)
        return client.request("PUT", f"/api/v1/blobs/{name}", query={"offset": offset, "size": size}, body=data)

    put(small, 0, len(small)).expect(200, 201)
    put(large[:100_000], 0, len(large)).expect(202)
    for moment in ("before a restart", "after it"):
        clock.set(jump)
        late = os.urandom(1000)
        put(late, 0, len(late)).expect(200, 201)
        report = client.post("/api/v1/store/gc").expect(200).json()
        assert report["removed_blobs"] == 0 and report["removed_partials"] == 0, (moment, report)
        if moment == "before a restart":
            server.restart()
            client = server.client()
    wanted = [digest(small), digest(late), digest(large)]
    here = client.post("/api/v1/blobs/missing", {"digests": wanted}).expect(200).json()
    assert here["missing"] == [digest(large)] and here["partial"] == {digest(large): 100_000}
    put(large[100_000:], 100_000, len(large)).expect(200, 201)


@pytest.mark.root
def test_a_server_whose_boot_clock_was_moved_keeps_its_runs(make_server, meeting_place):
    """As after a suspend: the next server sees a monotonic and a boot clock ten days ahead."""
    server, gate = make_server().start().prepare(), meeting_place / "gate"
    client = server.client()
    run = client.submit(f"echo before; while [ ! -e {gate} ]; do sleep 0.02; done; echo after")
    wait_for(lambda: client.log(run) == b"before\n", 30, "the first output")
    server.kill()
    server.prefix = ["unshare", "--time", "--fork", "--kill-child", "--boottime", str(10 * DAY), "--monotonic", str(10 * DAY)]
    server.start()
    assert client.status(run) == "Running"
    gate.touch()
    assert len(client.wait(run, "Completed")["attempts"]) == 1
    assert client.log(run) == b"before\nafter\n"
