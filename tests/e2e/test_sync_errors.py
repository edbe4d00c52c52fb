"""A disk that refuses a sync. The kernel tells of it once and then calls the lost pages clean: whoever syncs the same file
again is told that all is well. So the server ends, and what it finds afterwards is written to new files."""

import contextlib
import http.client
import os
import shutil
import signal
import subprocess

import pytest

from harness import processes
from harness.blobs import digest
from harness.checker import check_blobs, check_database
from harness.client import new_id
from harness.wait import wait_for

pytestmark = [pytest.mark.root, pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")]

MESSAGE = "the disk refused to keep what was written to the store; the server ends"


@contextlib.contextmanager
def refused_syncs(pid, calls="fsync,syncfs"):
    """The disk of the store: the database syncs with fdatasync."""
    broken = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", os.devnull, "-p", str(pid), "-e", f"trace={calls}", "-e", f"inject={calls}:error=EIO"],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(lambda: f"TracerPid:\t{broken.pid}" in open(f"/proc/{pid}/status").read(), 20, "strace")
        yield
    finally:
        broken.kill()
        broken.wait()


def said(server):
    log = server.state / "server.log"
    return server.said() + (log.read_text() if log.exists() else "")


def blob_of(server, data):
    name = digest(data)
    return server.state / "store" / "blobs" / name[:2] / name[2:]


def task_folder(server, client, run):
    shown = client.run(run)
    return server.state / "work" / f"{shown['sequence']}.{shown['attempt']}.0"


def test_a_log_that_the_disk_refused_is_written_to_another_file(make_server, tmp_path):
    server, gate = make_server().start().prepare(), tmp_path / "gate"
    client, line = server.client(), new_id("line")
    run = client.submit(f"echo {line}; while [ ! -e {gate} ]; do sleep 0.02; done")
    log = line.encode() + b"\n"
    wait_for(lambda: client.log(run) == log, 30, "the output")
    refused = (task_folder(server, client, run) / "spool" / "log.0").stat().st_ino
    with refused_syncs(server.pid):
        gate.touch()
        assert server.process.wait(20) not in (0, -signal.SIGKILL)
    assert MESSAGE in said(server)
    assert not blob_of(server, log).exists()
    server.start()
    client.wait(run, "Completed")
    assert client.log(run) == log
    assert blob_of(server, log).stat().st_ino != refused, "its second sync would have succeeded without its bytes"
    server.stop()
    check_database(server.state)
    check_blobs(server.state)
    assert not processes.runners_of(server.state)


@pytest.mark.parametrize("kind", ["whole", "partial"])
def test_an_upload_that_the_disk_refused_is_not_acknowledged(make_server, kind):
    server = make_server().start().prepare()
    client, data = server.client(), os.urandom(300_000)
    first = data if kind == "whole" else data[:100_000]

    def put(piece, offset):
        return client.request("PUT", f"/api/v1/blobs/{digest(data)}", query={"offset": offset, "size": len(data)}, body=piece)

    with refused_syncs(server.pid):
        try:
            assert put(first, 0).status >= 500
        except (OSError, http.client.HTTPException):
            pass  # it ended before it could say so
        assert server.process.wait(20) not in (0, -signal.SIGKILL)
    partial = server.state / "store" / "partial" / digest(data)
    refused = partial.stat().st_ino if partial.exists() else None
    server.start()
    client = server.client()
    here = client.post("/api/v1/blobs/missing", {"digests": [digest(data)]}).expect(200).json()
    assert here["missing"] == [digest(data)]
    offset = here["partial"].get(digest(data), 0)
    put(data[offset:], offset).expect(200, 201)
    assert blob_of(server, data).read_bytes() == data
    assert blob_of(server, data).stat().st_ino != refused
