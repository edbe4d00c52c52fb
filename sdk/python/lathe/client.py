"""Client: the REST API of a server. Every call of ours may be repeated (the client makes ids), so trouble on the way is
answered by trying again for `patience` seconds. Safe to use from several threads: each has its own connection."""

import contextlib
import http.client
import json
import os
import random
import ssl
import threading
import time
import urllib.parse
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional

from lathe.connection import connect_to
from lathe.errors import Unavailable, error_of_answer
from lathe.server import POINTING, Server

TIMEOUT = 60.0  # seconds without a byte
TROUBLE = (OSError, http.client.HTTPException)

Answer = NamedTuple("Answer", [("status", int), ("headers", Dict[str, str]), ("body", bytes)])
Query = Dict[str, Any]
Headers = Dict[str, str]
# Made anew for each try: bytes, or an iterable of bytes.
MakeBody = Callable[[], Any]


class Client:
    """Speaks with one server. Example: `Client(find_server()).get("/api/v1/server")["version"]`"""

    def __init__(self, server: Server, patience: float = 60.0) -> None:
        self.server, self.patience = server, patience
        self._local = threading.local()

    @staticmethod
    def path(*parts: str) -> str:
        """An address under /api/v1. Example: `Client.path("workspaces", "default", "runs")`"""
        return "/api/v1/" + "/".join(urllib.parse.quote(part, safe="") for part in parts)

    # --- JSON in, JSON out

    def get(self, path: str, **query: Any) -> Any:
        return self.call("GET", path, query)

    def post(self, path: str, value: Any = None, **query: Any) -> Any:
        return self.call("POST", path, query, value)

    def put(self, path: str, value: Any = None, **query: Any) -> Any:
        return self.call("PUT", path, query, value)

    def patch(self, path: str, value: Any = None, **query: Any) -> Any:
        return self.call("PATCH", path, query, value)

    def delete(self, path: str, **query: Any) -> Any:
        return self.call("DELETE", path, query)

    def call(self, method: str, path: str, query: Optional[Dict[str, Any]] = None, value: Any = None) -> Any:
        """The decoded answer, None when it is empty."""
        body = None if value is None else json.dumps(value).encode("utf-8")
        headers = {"Content-Type": "application/json"} if body is not None else {}
        answer = self.send(method, path, query, None if body is None else lambda: body, headers)
        return json.loads(answer.body.decode("utf-8")) if answer.body else None

    def items(self, path: str, **query: Any) -> Iterator[Dict[str, Any]]:
        """All items of a list, fetched page by page as they are asked for."""
        cursor = None
        while True:
            page = self.get(path, cursor=cursor, **query)
            for item in page["items"]:
                yield item
            cursor = page.get("next")
            if cursor is None:
                return

    # --- bytes

    def send(self, method, path, query=None, make_body=None, headers=None, patience=None, refused=None):
        # type: (str, str, Optional[Query], Optional[MakeBody], Optional[Headers], Optional[float], Any) -> Answer
        """The whole answer; raises LatheError for a refusal, unless its status is in `refused`."""

        def exchange():
            # type: () -> Answer
            response = self._begin(method, path, query, make_body, headers)
            answer = Answer(response.status, lower(response.getheaders()), response.read())
            if response.will_close or (make_body and response.status >= 400):
                self.disconnect()  # perhaps not all of the body was read
            if answer.status >= 400 and answer.status not in (refused or ()):
                raise error_of_answer(answer.status, answer.body, method + " " + path)
            return answer

        return self.retry(exchange, patience)

    @contextlib.contextmanager
    def stream(self, method, path, query=None, headers=None, timeout=TIMEOUT):
        # type: (str, str, Optional[Query], Optional[Headers], float) -> Iterator[http.client.HTTPResponse]
        """An answer read piece by piece on a connection of its own; not tried again: its reader knows where it stands."""
        place = self.server.locate()
        connection = connect_to(place.address, timeout)
        try:
            connection.request(method, target(path, query), headers=with_token(headers, place.token))
            response = connection.getresponse()
            if response.status >= 400:
                raise error_of_answer(response.status, response.read(), method + " " + path)
            yield response
        finally:
            connection.close()

    def retry(self, exchange: Callable[[], Any], patience: Optional[float] = None) -> Any:
        """exchange(), again after trouble on the way, for `patience` seconds."""
        end = time.monotonic() + (self.patience if patience is None else patience)
        pause = 0.05
        while True:
            try:
                return exchange()
            except Unavailable:
                self.disconnect()
                if time.monotonic() + pause > end:
                    raise
            except ssl.SSLCertVerificationError if hasattr(ssl, "SSLCertVerificationError") else ssl.CertificateError:
                raise
            except TROUBLE as problem:
                self.disconnect()
                if time.monotonic() + pause > end:
                    raise no_answer(self.server, problem)
            time.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 2, 2.0)

    def disconnect(self) -> None:
        """Close this thread's connection; the next call opens another one."""
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()

    def _begin(self, method, path, query, make_body, headers):
        # type: (str, str, Optional[Query], Optional[MakeBody], Optional[Headers]) -> http.client.HTTPResponse
        place = self.server.locate()
        connection = getattr(self._local, "connection", None)
        # A forked child must not speak on its parent's connection.
        mine = (place.address, os.getpid())
        if connection is None or self._local.mine != mine:
            self.disconnect()
            connection = self._local.connection = connect_to(place.address, TIMEOUT)
            self._local.mine = mine
        sent = with_token(headers, place.token)
        body = make_body() if make_body else (b"" if method in ("POST", "PUT", "PATCH") else None)
        try:
            connection.request(method, target(path, query), body=body, headers=sent)
        except (BrokenPipeError, ConnectionResetError):
            if not make_body:
                raise
            # A server that refuses does not read all of a large body; why it refused can still be read.
        return connection.getresponse()


def target(path: str, query: Optional[Dict[str, Any]]) -> str:
    """The path with its query; None is left out, booleans are written as JSON writes them."""
    given = {key: json.dumps(v) if isinstance(v, bool) else v for key, v in (query or {}).items() if v is not None}
    return path + ("?" + urllib.parse.urlencode(given, doseq=True) if given else "")


def with_token(headers: Optional[Dict[str, str]], token: str) -> Dict[str, str]:
    sent = {"Authorization": "Bearer " + token}
    sent.update(headers or {})
    return sent


def lower(headers: Any) -> Dict[str, str]:
    return {name.lower(): value for name, value in headers}


def no_answer(server: Server, problem: Exception) -> Unavailable:
    where = server.url() or server.state
    return Unavailable("the server at {} does not answer: {}".format(where, problem), "unavailable", POINTING)
