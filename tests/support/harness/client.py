"""Client: the REST API over TCP or the Unix socket. Records which operations were answered with success."""

import contextlib
import http.client
import json
import secrets
import socket
import urllib.parse

from . import contract
from .wait import wait_for

TERMINAL = ("Completed", "Failed", "Canceled")
LOG = "azureml-logs/70_driver_log.txt"
# operationId → set of statuses, of this whole test session.
SEEN = {}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.socket_path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.socket_path))


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def expect(self, *statuses):
        assert self.status in statuses, f"expected {statuses}, got {self.status}: {self.body[:600]!r}"
        return self

    def error(self):
        """The error code; checks the one shape of errors."""
        error = self.json()
        assert set(error) <= {"code", "message", "hint", "field"}, error
        assert error["code"] and error["message"], error
        return error["code"]


class Client:
    """A connection per request: simple, and right across restarts of the server."""

    def __init__(self, url=None, socket_path=None, token=None, workspace="default", timeout=30, tls=None):
        self.url, self.socket_path, self.token, self.workspace = url, socket_path, token, workspace
        self.timeout, self.tls = timeout, tls

    def with_token(self, token):
        return Client(self.url, self.socket_path, token, self.workspace, self.timeout, self.tls)

    def over_tcp(self):
        return Client(self.url, None, self.token, self.workspace, self.timeout, self.tls)

    def connect(self, timeout=None):
        timeout = timeout or self.timeout
        if self.socket_path:
            return UnixConnection(self.socket_path, timeout)
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    @contextlib.contextmanager
    def open(self, method, path, query=None, body=None, headers=None, timeout=None):
        """The response as a stream; for followers."""
        target = path + ("?" + urllib.parse.urlencode(query, doseq=True) if query else "")
        sent = dict(headers or {})
        if self.token is not None:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        connection = self.connect(timeout)
        try:
            connection.request(method, target, body=body, headers=sent)
            response = connection.getresponse()
            operation = contract.operation_of(method, urllib.parse.unquote(path))
            if operation:
                SEEN.setdefault(operation.id, set()).add(response.status)
            yield response
        finally:
            connection.close()

    def request(self, method, path, query=None, json_body=None, body=None, headers=None, timeout=None):
        sent = dict(headers or {})
        if json_body is not None:
            body = json.dumps(json_body).encode()
            sent.setdefault("Content-Type", "application/json")
        elif body is not None:
            sent.setdefault("Content-Type", "application/octet-stream")
        with self.open(method, path, query, body, sent, timeout) as response:
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def get(self, path, **query):
        return self.request("GET", path, query={k: v for k, v in query.items() if v is not None})

    def post(self, path, value=None, **options):
        return self.request("POST", path, json_body=value, **options)

    def put(self, path, value=None, **options):
        return self.request("PUT", path, json_body=value, **options)

    def delete(self, path):
        return self.request("DELETE", path)

    # --- the workspace's part of the API

    def path(self, *parts):
        return "/".join(["/api/v1/workspaces", self.workspace, *(urllib.parse.quote(part, safe="") for part in parts)])

    def submit_answer(self, command=None, **fields):
        return self.post(self.path("runs"), make_submit(command, **fields))

    def submit(self, command=None, **fields):
        return self.submit_answer(command, **fields).expect(201, 200).json()["id"]

    def run(self, run):
        return self.get(self.path("runs", run)).expect(200).json()

    def status(self, run):
        return self.run(run)["status"]

    def wait(self, run, *states, deadline=60):
        states = states or TERMINAL
        found = {}

        def reached():
            found.update(self.run(run))
            return found["status"] in states or found["status"] in TERMINAL

        wait_for(reached, deadline, f"run {run} in {states}")
        assert found["status"] in states, f"run {run} is {found['status']}, not {states}: {found.get('error')}"
        return found

    def cancel(self, run):
        return self.post(self.path("runs", run, "cancel"))

    def log(self, run, name=None, offset=0, **query):
        answer = self.get(self.path("runs", run, "logs"), name=name, offset=offset, **query)
        return answer.expect(200).body

    def follow(self, run, offset=0, name=None, timeout=60):
        """Yields pieces of the log as they come, to the end of the run."""
        query = {"offset": offset, "follow": "true"} | ({"name": name} if name else {})
        with self.open("GET", self.path("runs", run, "logs"), query, timeout=timeout) as response:
            assert response.status == 200, response.read()
            while piece := response.read1(65536):
                yield piece

    def items(self, path, **query):
        """All items of a list, page by page."""
        cursor = None
        while True:
            page = self.get(path, cursor=cursor, **query).expect(200).json()
            yield from page["items"]
            cursor = page.get("next")
            if cursor is None:
                return

    def events(self, run):
        return list(self.items(self.path("runs", run, "events")))

    def moves(self, run):
        return [(event["from"], event["to"]) for event in self.events(run) if event["kind"] == "state"]

    def files(self, run):
        return {file["path"]: file for file in self.items(self.path("runs", run, "files"))}

    def file(self, run, path, headers=None):
        return self.request("GET", self.path("runs", run, "files", "content"), query={"path": path}, headers=headers)


def new_id(prefix="run"):
    return f"{prefix}_{secrets.token_hex(8)}"


def make_submit(command=None, **fields):
    """A RunSubmit; a string command is a shell line."""
    if isinstance(command, str):
        command = ["/bin/sh", "-c", command]
    submit = {"id": new_id(), "experiment": "e2e-tests", "compute": "pool", "grace_seconds": 2}
    if command is not None:
        submit["command"] = command
    return submit | fields
