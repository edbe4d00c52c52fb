"""What one caller can take from the others has a bound: memory, places, requests, and streams whose other end is gone."""

import contextlib
import hashlib
import json
import resource
import select
import socket
import urllib.parse

import pytest

from harness import processes
from harness.attempt import HeldAttempt
from harness.blobs import pack
from harness.client import new_id
from harness.server import Server, holding_config
from harness.wait import wait_for

MOST_MEMORY = 128 << 20


def resident(server):
    with open(f"/proc/{server.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))


def address_of(server):
    parts = urllib.parse.urlsplit(server.discovery()["url"])
    return parts.hostname, parts.port


def request_head(server, method, target, *fields, token=None):
    host = "{}:{}".format(*address_of(server))
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {token or server.token}", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def read_head(connection):
    came = b""
    while b"\r\n\r\n" not in came:
        piece = connection.recv(1024)
        assert piece, came
        came += piece
    return came


@contextlib.contextmanager
def many_descriptors(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count:
        pytest.skip(f"needs {count} open files, the limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def new_token(server, role="contributor", name=None):
    made = server.client().post("/api/v1/tokens", {"name": name or new_id("token"), "role": role}).expect(201).json()
    return made["token"]


# --- memory


@pytest.fixture(scope="module")
def large_tree(server):
    """The digest of a manifest of 26 MiB. Its blobs are not there, which does not matter to who reads the manifest."""
    line = b"f %s 1 " % (b"0" * 64)
    lines = (b"%s%08d-%s\n" % (line, number, b"x" * 24) for number in range(26 * (1 << 20) // (len(line) + 34)))
    manifest = b"lathe-tree 1\n" + b"".join(lines)
    server.client().request("POST", "/api/v1/blobs/pack", body=pack(manifest)).expect(200)
    return hashlib.sha256(manifest).hexdigest()


@pytest.mark.parametrize("fields", [(), ("Accept-Encoding: zstd",)], ids=["plain", "packed"])
def test_slow_readers_of_a_large_tree_cost_no_memory(server, large_tree, fields):
    readers = []
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            connection = stack.enter_context(socket.create_connection(address_of(server), 30))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(request_head(server, "GET", f"/api/v1/trees/{large_tree}", *fields))
            readers.append(connection)
        for connection in readers:
            assert b" 200 " in read_head(connection).split(b"\r\n")[0]
        assert resident(server) <= MOST_MEMORY
        server.client().get("/healthz").expect(200)


def test_slow_bodies_of_one_caller_cost_bounded_memory(server):
    size = 7 << 20
    body = b'{"digests": ["' + b"0" * size
    with contextlib.ExitStack() as stack:
        left = {}
        for _ in range(64):
            connection = stack.enter_context(socket.create_connection(address_of(server), 30))
            head = request_head(server, "POST", "/api/v1/blobs/missing", f"Content-Length: {len(body) + 100}")
            connection.setblocking(False)
            left[connection] = memoryview(head + body)
        # Until nobody takes any more: all that the server wants to have in memory is there.
        while left and (writable := select.select([], list(left), [], 1)[1]):
            for connection in writable:
                with contextlib.suppress(BlockingIOError):
                    left[connection] = left[connection][connection.send(left[connection][: 1 << 20]) :]
                if not left[connection]:
                    del left[connection]
        assert resident(server) <= MOST_MEMORY
        # Others are served meanwhile.
        other = server.tcp_client(token=new_token(server))
        other.post("/api/v1/blobs/missing", {"digests": []}).expect(200)
    server.client().post("/api/v1/blobs/missing", {"digests": []}).expect(200)


# --- places


def test_ten_thousand_idle_connections_keep_no_administrator_out(make_server):
    with many_descriptors(12_000), contextlib.ExitStack() as stack:
        server = make_server().start()
        for number in range(10_000):
            stack.enter_context(socket.create_connection(address_of(server), 30))
            if number % 1000 == 0:
                server.tcp_client().get("/api/v1/workspaces").expect(200)
        server.tcp_client().get("/api/v1/workspaces").expect(200)
        sockets = sum(1 for line in open(f"/proc/{server.pid}/net/tcp") if line.split()[3] == "01")
        assert sockets < 2 * 4200, "both ends of what was accepted, and no more"


# --- requests


def test_a_token_has_a_rate_and_the_administrator_has_none(make_server):
    server = make_server(config={"limits": {"requests_per_second": 0.01, "burst": 5}}).start()
    limited = server.tcp_client(token=new_token(server, "viewer"))
    answers = [limited.get("/api/v1/workspaces") for _ in range(6)]
    assert [answer.status for answer in answers] == [200] * 5 + [429]
    assert answers[5].error() == "rate-limited" and int(answers[5].headers["retry-after"]) > 1
    server.tcp_client(token=new_token(server, "viewer")).get("/api/v1/workspaces").expect(200)
    for _ in range(20):
        server.client().get("/api/v1/workspaces").expect(200)


def test_a_token_has_so_many_runs_that_are_not_over(make_server):
    server = make_server(config={"limits": {"runs_queued": 2}}).start().prepare()
    client = server.client(token=new_token(server, name="alice"))

    def begin(client=client, id=None):
        body = {"id": id or new_id(), "experiment": "e2e", "kind": "interactive"}
        return client.post(client.path("runs"), body)

    first = begin().expect(201).json()["id"]
    begin().expect(201)
    refused = begin().expect(429)
    assert refused.error() == "rate-limited" and "2 runs" in refused.json()["message"]
    begin(id=first).expect(200)  # the same submit again is no new run
    begin(server.client()).expect(201)
    begin(server.client(token=new_token(server, name="bob"))).expect(201)
    client.post(client.path("runs", first, "complete")).expect(200)
    begin().expect(201)


def test_wrong_tokens_are_answered_slowly_and_good_ones_are_not_kept_out(make_server):
    server = make_server(config={"limits": {"failed_logins_per_second": 0.25}}).start()
    fresh = new_token(server, "viewer")
    assert server.tcp_client(token="wrong").get("/api/v1/workspaces").status == 401
    with socket.create_connection(address_of(server), 30) as guesser:
        guesser.sendall(request_head(server, "GET", "/api/v1/workspaces", token="wrong too"))
        server.tcp_client().get("/api/v1/workspaces").expect(200)
        assert not select.select([guesser], [], [], 0)[0], "the second wrong one waits"
        server.tcp_client(token=fresh).get("/api/v1/workspaces").expect(200)
        assert b" 401 " in read_head(guesser)
        server.tcp_client(token=fresh).get("/api/v1/workspaces").expect(200)


# --- streams


@pytest.fixture(scope="module")
def lively(binary, tmp_path_factory):
    """A server whose streams have a quick heartbeat, and whose runners the test plays."""
    folder = tmp_path_factory.mktemp("held")
    with Server(config={**holding_config(folder), "limits": {"heartbeat_seconds": 0.2}}) as server:
        server.held = folder
        yield server
    for pid in processes.with_environment("LATHE_HOLD", str(folder)):
        processes.kill(pid)


def test_a_silent_event_stream_has_a_heartbeat(lively):
    client = lively.client()
    with client.open("GET", client.path("events"), timeout=20) as response:
        assert response.readline() == b": lathe events\n"
        beats = [response.readline() for _ in range(5)]
    assert beats[1] == b":\n" and beats[3] == b":\n"


def test_a_silent_watch_has_a_heartbeat(lively):
    client = lively.client()
    attempt = HeldAttempt(lively, lively.held, client.submit("true"))
    attempt.claim().expect(200)
    with attempt.client.open("GET", f"{attempt.path}/watch", timeout=20) as response:
        assert json.loads(response.readline()) == {"desired": "run"}
        assert [response.readline() for _ in range(3)] == [b"\n"] * 3
        client.cancel(attempt.run)
        line = response.readline()
        while line == b"\n":
            line = response.readline()
        assert json.loads(line)["desired"] == "stop"
    attempt.finish(reason="canceled").expect(200)


def keep_alive_timer(port):
    """Whether the kernel runs a keep-alive timer for connections that a server accepted at this port."""
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    return [row[5].startswith("02") for row in rows if int(row[1].split(":")[1], 16) == port and row[3] == "01"]


def test_the_kernel_asks_a_silent_follower_whether_it_is_there(lively):
    client = lively.client()
    run = client.submit("true")
    HeldAttempt(lively, lively.held, run).claim().expect(200)
    with client.over_tcp().open("GET", client.path("runs", run, "logs"), {"follow": "true"}) as response:
        assert response.status == 200
        wait_for(lambda: any(keep_alive_timer(address_of(lively)[1])), 20, "a keep-alive timer")
    client.cancel(run)
