"""A reader that leaves is an error of one write, never the end of the server or of a run."""

import os
import secrets
import socket
import struct
import subprocess
import urllib.parse

import pytest

from harness import paths, processes
from harness.blobs import digest
from harness.wait import wait_for


# Without control groups a runner has something to say in its log while it starts.
NO_CGROUPS = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "no-cgroups"]


@pytest.fixture
def without_stderr(make_server):
    """A server whose standard error is a pipe that nobody reads any more."""
    server = make_server(config={"providers": {"local": {"launcher": NO_CGROUPS}}})
    reader, writer = os.pipe()
    ready, told = os.pipe()
    server.process = subprocess.Popen(
        [str(paths.BINARY), "server", "--state", str(server.state), "--ready-fd", str(told), "--log-level", "debug"],
        pass_fds=[told],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=writer,
        start_new_session=True,
    )
    os.close(writer)
    os.close(told)
    with os.fdopen(ready, "rb") as line:
        assert line.read(1), "the server did not start"
    os.close(reader)
    server.stderr = open(os.devnull, "rb")
    return server.prepare()


@pytest.mark.root
def test_the_server_and_its_runners_outlive_the_reader_of_their_log(without_stderr, meeting_place, mark):
    server, gate = without_stderr, meeting_place / "gate"
    client = server.client()
    variables = {"environment": {"variables": {"E2E_MARK": mark}}}
    run = client.submit(f"echo up; while [ ! -e {gate} ]; do sleep 0.02; done; echo down", **variables)
    wait_for(lambda: client.log(run), 20, "the first line")
    # A gone runner is something that the server logs.
    lost = client.submit("echo up; sleep 600", **variables)
    wait_for(lambda: client.log(lost), 20, "the first line")
    processes.kill(processes.runner_of(server.state, f"{client.run(lost)['sequence']}.1.0"))
    client.wait(lost, "Failed")
    assert server.is_up()
    task = f"{client.run(run)['sequence']}.1.0"
    runner = processes.runner_of(server.state, task)
    server.kill()
    gate.touch()
    wait_for(lambda: (server.state / "work" / task / "spool" / "exit").read_bytes(), 20, "the exit record")
    assert processes.is_alive(runner)
    server.start()
    client = server.client()
    client.wait(run, "Completed")
    assert client.log(run) == b"up\ndown\n"


def test_a_client_that_closes_in_the_middle_of_an_answer_harms_nobody(server, client):
    data = secrets.token_bytes(8 << 20)
    client.request("PUT", f"/api/v1/blobs/{digest(data)}", query={"offset": 0, "size": len(data)}, body=data).expect(200, 201, 204)
    parts = urllib.parse.urlsplit(server.discovery()["url"])
    for _ in range(20):
        with socket.create_connection((parts.hostname, parts.port), 10) as connection:
            head = f"GET /api/v1/blobs/{digest(data)} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {server.token}\r\n\r\n"
            connection.sendall(head.encode())
            assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
            # A reset, not a polite end: the server's next write fails.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert client.get(f"/api/v1/blobs/{digest(data)}").expect(200).body == data
    assert server.is_up()
