"""Api: one kept-alive connection over the Unix socket, as an SDK would use it."""

import http.client
import json
import secrets
import socket


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Api:
    runs = "/api/v1/workspaces/default/runs"

    def __init__(self, socket_path, token, timeout=300):
        self.connection = UnixConnection(socket_path, timeout)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def exchange(self, method, path, body=None):
        self.connection.request(method, path, body=body, headers=self.headers)
        response = self.connection.getresponse()
        text = response.read()
        if response.status >= 400:
            raise SystemExit(f"error: {method} {path} was answered {response.status}: {text[:400]!r}")
        return text

    def call(self, method, path, value=None):
        text = self.exchange(method, path, None if value is None else json.dumps(value))
        return json.loads(text) if text else None

    def text(self, path):
        return self.exchange("GET", path).decode()

    def submit(self, command, compute="local"):
        run = {"id": f"bench_{secrets.token_hex(8)}", "experiment": "bench", "command": command, "compute": compute}
        return self.call("POST", self.runs, run)["id"]

    def stream(self, path):
        """The open response, for followers; the connection then serves nothing else."""
        self.connection.request("GET", path, headers=self.headers)
        response = self.connection.getresponse()
        if response.status != 200:
            raise SystemExit(f"error: GET {path} was answered {response.status}: {response.read()[:400]!r}")
        return response

    def close(self):
        self.connection.close()
