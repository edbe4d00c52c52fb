"""Runs at a steady rate from one process: each is begun and ended by its client, over a few kept-alive connections, with
requests made of bytes, so that the client costs as little as it can."""

import json
import secrets
import socket
import threading
import time

CONNECTIONS = 8


class Wire:
    def __init__(self, path, token):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(path))
        self.head = f"Host: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: "
        self.rest = b""

    def post(self, path, body):
        self.socket.sendall(f"POST {path} HTTP/1.1\r\n{self.head}{len(body)}\r\n\r\n{body}".encode())
        while (end := self.rest.find(b"\r\n\r\n")) < 0:
            self.rest += self.socket.recv(65536)
        head = self.rest[:end].lower()
        length = int(head[head.index(b"content-length:") + 15 :].split(b"\r\n", 1)[0])
        while len(self.rest) < end + 4 + length:
            self.rest += self.socket.recv(65536)
        if not head.startswith(b"http/1.1 20"):
            raise SystemExit(f"error: POST {path} was answered {self.rest[:400]!r}")
        self.rest = self.rest[end + 4 + length :]


def drive(wire, per_second, until, latencies):
    runs = "/api/v1/workspaces/default/runs"
    due = time.monotonic()
    while due < until:
        time.sleep(max(0, due - time.monotonic()))
        due += 1 / per_second
        run = f"bench_{secrets.token_hex(8)}"
        begin = time.perf_counter()
        wire.post(runs, json.dumps({"id": run, "experiment": "bench", "kind": "interactive"}))
        latencies.append(time.perf_counter() - begin)
        wire.post(f"{runs}/{run}/complete", "")


def run_load(server, per_second, seconds):
    """The time of each submit, and how many runs a second there were in truth."""
    token = (server.state / "token").read_text().strip()
    latencies, until, begin = [], time.monotonic() + seconds, time.monotonic()
    threads = [
        threading.Thread(
            target=drive,
            args=(Wire(server.state / "run" / "api.sock", token), per_second / CONNECTIONS, until, latencies),
        )
        for _ in range(CONNECTIONS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return latencies, len(latencies) / (time.monotonic() - begin)
