"""Prepared requests: written down before the clock starts, sent over one kept-alive connection.

For benchmarks in which the server is to be busy, not the client: a request through `http.client` costs more CPU than
the server needs to answer it, and the peers' clients are small C programs.
"""

import json
import secrets
import socket


def prepare_submits(api, command, compute, count):
    """The bytes of `count` submits, each with an id of its own."""
    head = "".join(f"{name}: {value}\r\n" for name, value in ({"Host": "localhost"} | api.headers).items())
    requests = []
    for _ in range(count):
        run = {"id": f"bench_{secrets.token_hex(8)}", "experiment": "bench", "command": command, "compute": compute}
        body = json.dumps(run)
        requests.append(f"POST {api.runs} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    return requests


def send_all(socket_path, requests):
    """Sends each when the one before it has been answered, and leaves at the first refusal."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(socket_path))
        for request in requests:
            connection.sendall(request)
            answer = read_answer(connection)
            if not answer.startswith(b"HTTP/1.1 20"):
                raise SystemExit(f"error: a prepared request was answered {answer[:400]!r}")


def read_answer(connection):
    answer, end = b"", -1
    while end < 0 or len(answer) < end:
        piece = connection.recv(65536)
        if not piece:
            raise SystemExit(f"error: the server closed the connection after {answer[:400]!r}")
        answer += piece
        if end < 0 and (body := answer.find(b"\r\n\r\n")) >= 0:
            end = body + 4 + content_length(answer[:body])
    return answer


def content_length(head):
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise SystemExit(f"error: an answer without a length: {head!r}")
