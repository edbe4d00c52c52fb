"""Liar: a web server that answers as each path says: truthfully, or in one of the ways in which servers lie."""

import contextlib
import gzip
import hashlib
import socket
import threading

BODY = bytes(range(256)) * 4096  # 1 MiB


def etag_of(body):
    return f'"{hashlib.sha256(body).hexdigest()[:16]}"'


class Liar:
    """Handlers get a Call and write raw bytes. Use as a context manager."""

    def __init__(self, handlers, tls=None):
        self.handlers, self.requests, self.lock, self.tls = handlers, [], threading.Lock(), tls
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.threads = []

    def __enter__(self):
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *unused):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, contextlib.suppress(OSError):
            connection.settimeout(30)
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(65536)
                if not piece:
                    return
                head += piece
            lines = head.decode("latin-1").split("\r\n")
            method, target, _ = lines[0].split(" ", 2)
            headers = {
                key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines[1:] if line)
            }
            call = Call(connection, method, target, headers)
            with self.lock:
                call.number = sum(seen.target == target for seen in self.requests)
                self.requests.append(call)
            path = "/" + target.split("://", 1)[1].partition("/")[2] if "://" in target else target
            self.handlers[path.partition("?")[0]](call)

    def seen(self, path):
        with self.lock:
            return [call for call in self.requests if call.target == path]


class Call:
    def __init__(self, connection, method, target, headers):
        self.connection, self.method, self.target, self.headers = connection, method, target, headers
        self.number = 0

    def send(self, *pieces):
        for piece in pieces:
            self.connection.sendall(piece if isinstance(piece, bytes) else piece.encode())

    def head(self, status, **headers):
        lines = [f"HTTP/1.1 {status}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join(lines) + "\r\n\r\n")


def honest(body, etag=True):
    """ETag, If-None-Match, Range with If-Range."""

    def handle(call):
        tag = etag_of(body)
        extra = {"ETag": tag} if etag else {}
        if etag and call.headers.get("if-none-match") == tag:
            return call.head("304 Not Modified", **extra)
        wanted = call.headers.get("range")
        if wanted and call.headers.get("if-range") == tag:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            call.head(
                "206 Partial Content",
                Content_Length=len(body) - start,
                Content_Range=f"bytes {start}-{len(body) - 1}/{len(body)}",
                **extra,
            )
            return call.send(body[start:])
        call.head("200 OK", Content_Length=len(body), **extra)
        call.send(body)

    return handle


def status(line):
    def handle(call):
        call.head(line, Content_Length=4)
        call.send("oops")

    return handle


def truncated(body, cut, then=None):
    """Announces all of it, sends a part and closes; with `then`, only the first time."""

    def handle(call):
        if then and call.number > 0:
            return then(call)
        call.head("200 OK", Content_Length=len(body), ETag=etag_of(body))
        call.send(body[:cut])

    return handle


def longer(body):
    def handle(call):
        call.send(
            f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
            + b"more" * 100
        )

    return handle


def redirect(target):
    def handle(call):
        call.head("302 Found", Location=target, Content_Length=0)

    return handle


def lying_encoding(body):
    def handle(call):
        call.head("200 OK", Content_Encoding="gzip", Content_Length=len(body))
        call.send(body)

    return handle


def encoded(body):
    packed = gzip.compress(body)

    def handle(call):
        call.head("200 OK", Content_Encoding="gzip", Content_Length=len(packed))
        call.send(packed)

    return handle


def changing(*bodies):
    """Another content, with another ETag, each time somebody asks for all of it."""

    def handle(call):
        honest(bodies[min(call.number, len(bodies) - 1)])(call)

    return handle


def held(body, cut, go):
    """A part at once, the rest when the event is set."""

    def handle(call):
        call.head("200 OK", Content_Length=len(body), ETag=etag_of(body))
        call.send(body[:cut])
        go.wait(30)
        call.send(body[cut:])

    return handle
