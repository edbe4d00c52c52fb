"""Bytes on the wire that are not proper HTTP: answered with 4xx or closed, never a crash, a hang or a second request."""

import contextlib
import os
import re
import socket
import time
import urllib.parse

import pytest

from harness.cases import check_each
from harness.wait import wait_for


@pytest.fixture
def address(server):
    parts = urllib.parse.urlsplit(server.discovery()["url"])
    return parts.hostname, parts.port


@pytest.fixture(autouse=True)
def server_stays_well(server):
    pid = server.pid
    yield
    server.client().get("/healthz").expect(200)
    assert server.pid == pid and server.is_up()


def with_port(address, data):
    return data.replace(b"@PORT@", str(address[1]).encode())


def talk(address, data, timeout=10, half_close=True):
    """Sends bytes and returns all that comes back until the server closes or says nothing for a while."""
    answer, data = b"", with_port(address, data)
    with socket.create_connection(address, timeout) as connection:
        with contextlib.suppress(OSError):  # the server may close at once
            connection.sendall(data)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            while piece := connection.recv(65536):
                answer += piece
    return answer


def statuses(answer):
    return [int(status) for status in re.findall(rb"HTTP/1\.\d (\d{3}) ", answer)]


HOST = b"Host: 127.0.0.1:@PORT@\r\n"  # the port is put in by talk()
GET = b"GET /healthz HTTP/1.1\r\n" + HOST
POST = b"POST /api/v1/workspaces/default/runs HTTP/1.1\r\n" + HOST

REFUSED = {
    "no request": b"\r\n\r\n\r\n",
    "garbage": b"\x00\x01\x02\xff\xfe" * 100,
    "a TLS hello": bytes.fromhex("160301020001000001fc0303") + bytes(500),
    "HTTP/0.9": b"GET /healthz\r\n\r\n",
    "HTTP/9.9": b"GET /healthz HTTP/9.9\r\n" + HOST + b"\r\n",
    "no version": b"GET /healthz HTTP\r\n" + HOST + b"\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": GET + b"Host: evil.example\r\n\r\n",
    "NUL in the target": b"GET /heal\x00thz HTTP/1.1\r\n" + HOST + b"\r\n",
    "blank in the target": b"GET /heal thz HTTP/1.1\r\n" + HOST + b"\r\n",
    "control byte in a header": GET + b"X-A: a\x00b\r\n\r\n",
    "bare CR in a header": GET + b"X-A: a\rX-B: b\r\n\r\n",
    "blank before the colon": GET + b"X-A : b\r\n\r\n",
    "folded header": GET + b"X-A: a\r\n  b\r\nX-B : c\r\n\r\n",
    "header without a colon": GET + b"nonsense\r\n\r\n",
    "empty header name": GET + b": value\r\n\r\n",
    "1 MiB target": b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "1 MiB header": GET + b"X-A: " + b"a" * (1 << 20) + b"\r\n\r\n",
    "100,000 headers": GET + b"".join(b"X-%d: a\r\n" % i for i in range(100_000)) + b"\r\n",
    "100 headers": GET + b"".join(b"X-%d: a\r\n" % i for i in range(100)) + b"\r\n",
    "length and chunked": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "a list of lengths": POST + b"Content-Length: 5, 6\r\n\r\nhello!",
    "negative length": POST + b"Content-Length: -1\r\n\r\n",
    "length with a sign": POST + b"Content-Length: +5\r\n\r\nhello",
    "hexadecimal length": POST + b"Content-Length: 0x5\r\n\r\nhello",
    "length over 2^64": POST + b"Content-Length: 99999999999999999999999\r\n\r\n",
    "unknown coding": POST + b"Transfer-Encoding: gzip\r\n\r\n",
    "chunked twice": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunked not last": POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "obscured chunked": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "chunk size is no number": POST + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n",
    "chunk size overflows": POST + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx\r\n0\r\n\r\n",
    "negative chunk size": POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n",
    "chunk without its end": POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n",
    "long chunk extension": POST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"a" * (1 << 20) + b"\r\nx\r\n0\r\n\r\n",
    "absolute form of another host": b"GET http://evil.example/healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "authority form": b"CONNECT 127.0.0.1:22 HTTP/1.1\r\n" + HOST + b"\r\n",
    "long method": b"A" * 10_000 + b" / HTTP/1.1\r\n" + HOST + b"\r\n",
}


def test_a_broken_request_is_refused_or_the_connection_is_closed(server, address):
    def check(kind):
        begun = time.monotonic()
        answer = talk(address, REFUSED[kind])
        assert all(400 <= status < 500 or status in (501, 505) for status in statuses(answer)), answer[:300]
        assert len(statuses(answer)) <= 1, "one broken request is not two requests"
        assert time.monotonic() - begun < 9
        server.client().get("/healthz").expect(200)

    check_each(REFUSED, check)


def test_requests_after_a_broken_one_are_not_served(address):
    """The way in which one request is smuggled behind another."""
    answer = talk(
        address,
        POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    )
    assert 200 not in statuses(answer)


def test_pipelined_requests_are_answered_in_order(address):
    answer = talk(address, (GET + b"\r\n") * 50 + GET + b"Connection: close\r\n\r\n", half_close=False)
    assert statuses(answer) == [200] * 51


def test_a_million_chunks_of_one_byte_cost_no_stack(server, address):
    head = (
        POST
        + b"Authorization: Bearer "
        + server.token.encode()
        + b"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    answer = talk(address, head + b"1\r\nx\r\n" * 1_000_000 + b"0\r\n\r\n", timeout=60)
    assert statuses(answer) in ([400], [413], [])


def test_a_request_byte_by_byte_is_understood(address):
    with socket.create_connection(address, 10) as connection:
        for byte in with_port(address, GET + b"Connection: close\r\n\r\n"):
            connection.sendall(bytes([byte]))
        answer = b""
        while piece := connection.recv(4096):
            answer += piece
    assert statuses(answer) == [200]


def test_many_idle_connections_do_not_bar_others(server, address):
    idle = []
    try:
        for _ in range(500):
            connection = socket.create_connection(address, 10)
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
            idle.append(connection)
        begun = time.monotonic()
        server.tcp_client().get("/healthz").expect(200)
        assert time.monotonic() - begun < 5
    finally:
        for connection in idle:
            connection.close()


def test_a_client_that_leaves_in_the_middle_costs_nothing(server, address):
    before = len(list((server.state / "store" / "tmp").glob("*"))) if (server.state / "store" / "tmp").exists() else 0
    head = (
        b"POST /api/v1/blobs/pack HTTP/1.1\r\n"
        + HOST
        + b"Authorization: Bearer "
        + server.token.encode()
        + b"\r\nContent-Length: 1000000\r\n\r\n"
    )
    for _ in range(30):
        with socket.create_connection(address, 10) as connection:
            connection.sendall(with_port(address, head) + bytes(10_000))
    server.client().get("/healthz").expect(200)
    wait_for(
        lambda: len(list((server.state / "store" / "tmp").glob("*"))) <= before, 20, "the removal of what was left half sent"
    )


def test_descriptors_do_not_leak(server, address):
    folder = f"/proc/{server.pid}/fd"
    for _ in range(20):
        talk(address, GET + b"Connection: close\r\n\r\n")
    before = len(os.listdir(folder))
    for _ in range(200):
        talk(address, REFUSED["garbage"])
    wait_for(lambda: len(os.listdir(folder)) <= before + 5, 20, "closed descriptors")
