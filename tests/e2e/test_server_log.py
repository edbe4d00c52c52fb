"""The server's own log: SIGHUP opens it anew, and nobody has to read it."""

import os
import signal
import subprocess

import pytest

from harness import paths, processes
from harness.wait import wait_for


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def test_a_hangup_opens_the_log_anew_and_stops_nothing(make_server):
    server = make_server()
    log = server.state.parent / "own.log"
    server.options = ["--log-file", str(log)]
    server.start().prepare()
    run = server.client().submit("sleep 600")
    server.client().wait(run, "Running")
    moved = log.with_name("moved.log")
    os.rename(log, moved)
    os.kill(server.pid, signal.SIGHUP)
    wait_for(lambda: any("opened anew" in line for line in lines(log)), 20, "the new file")
    assert server.is_up() and server.client().status(run) == "Running"
    assert any("listening" in line for line in lines(moved)) and not any("opened anew" in line for line in lines(moved))
    server.client().cancel(run)
    server.client().wait(run, "Canceled")
    server.stop()
    assert any("stopping" in line for line in lines(log)) and log.stat().st_mode & 0o777 == 0o600


def test_a_log_file_that_cannot_be_written_stops_the_start(make_server):
    server = make_server(options=["--log-file", "/proc/no/such/file"])
    with pytest.raises(Exception, match="no/such/file"):
        server.start()


def test_a_log_that_nobody_reads_stops_nobody(make_server):
    """Standard error is a pipe with a reader that does not read: every request writes a line until it is full."""
    server = make_server()
    reader, writer = os.pipe()
    ready, told = os.pipe()
    server.process = subprocess.Popen(
        [str(paths.BINARY), "server", "--state", str(server.state), "--ready-fd", str(told), "--log-level", "debug"],
        pass_fds=[told],
        env=server.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=writer,
        start_new_session=True,
    )
    os.close(told)
    with os.fdopen(ready, "rb") as line:
        assert line.read(1), "the server did not start"
    server.stderr = open(os.devnull, "rb")
    os.set_blocking(writer, False)  # ours, of the same pipe: full before the first request
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    client = server.prepare().client()
    run = client.submit("true")  # a claim is a line of debugging
    client.wait(run, "Completed")
    client.get("/healthz").expect(200)
    os.close(reader)
    os.close(writer)
    server.stop()
    assert not processes.with_argument(str(server.state))
