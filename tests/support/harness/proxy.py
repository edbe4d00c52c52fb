"""Proxies between clients and the server. TcpProxy passes bytes late, or breaks off; RepeatingProxy understands HTTP, sends
every request that changes something several times, and keeps copies for later."""

import contextlib
import http.client
import queue
import random
import socket
import threading
import time


class Listener:
    """Accepts on loopback, or where `address` says, and serves each connection in a thread of its own."""

    def __init__(self, address="127.0.0.1"):
        self.listener = socket.create_server((address, 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://{address}:{self.port}"

    def __enter__(self):
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._guarded, args=(connection,), daemon=True).start()

    def _guarded(self, connection):
        with connection, contextlib.suppress(OSError, http.client.HTTPException):
            self.serve(connection)


class TcpProxy(Listener):
    """`delay(chance)` gives the seconds that each piece waits; `cut(chance)` after how many bytes a connection ends, if so."""

    def __init__(self, target, address="127.0.0.1", delay=lambda chance: 0, cut=lambda chance: None, seed=0):
        super().__init__(address)
        self.target, self.delay, self.cut, self.chance = target, delay, cut, random.Random(seed)
        self.passed = self.broken = 0

    def serve(self, connection):
        with socket.create_connection(self.target, 30) as server:
            back = threading.Thread(target=self._pump, args=(server, connection), daemon=True)
            back.start()
            self._pump(connection, server)
            back.join(60)

    def _pump(self, source, sink):
        left = self.cut(self.chance)
        with contextlib.suppress(OSError):
            while piece := source.recv(16384):
                time.sleep(self.delay(self.chance))  # the fault itself, not a wait
                if left is not None and len(piece) > left:
                    self.broken += 1
                    sink.sendall(piece[:left])
                    break
                left = None if left is None else left - len(piece)
                sink.sendall(piece)
                self.passed += len(piece)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class RepeatingProxy(Listener):
    """Every request that changes something reaches the server up to four times, some of them at the same time; the client
    gets one of the answers. A share of them comes once more much later, when others have followed. `answers` are all of
    (method, path, statuses)."""

    CHANGING = ("POST", "PUT", "PATCH", "DELETE")

    def __init__(self, socket_path, connect, seed=0):
        super().__init__()
        self.socket_path, self.connect, self.chance = socket_path, connect, random.Random(seed)
        self.lock, self.answers, self.late = threading.Lock(), [], queue.Queue()

    def serve(self, connection):
        request = read_request(connection)
        if request is None:
            return
        method, target, headers, body = request
        if method not in self.CHANGING:
            status, reason, found, content = self.ask(method, target, headers, body)
            return reply(connection, status, reason, found, content)
        with self.lock:
            times, at_once = self.chance.randint(1, 3), self.chance.random() < 0.5
            keep = self.chance.random() < 0.3
        answers = self.repeat(times, at_once, method, target, headers, body)
        with self.lock:
            self.answers.append((method, target, [answer[0] for answer in answers]))
            chosen = self.chance.choice(answers)
        if keep:
            self.late.put(request)
        reply(connection, *chosen)

    def repeat(self, times, at_once, *request):
        answers = []

        def ask():
            answers.append(self.ask(*request))

        threads = [threading.Thread(target=ask) for _ in range(times)]
        for thread in threads:
            thread.start()
            if not at_once:
                thread.join()
        for thread in threads:
            thread.join()
        assert answers, "no answer to any of them"
        return answers

    def send_late(self):
        """The copies that were kept, in another order. How many, and the statuses."""
        found = []
        while not self.late.empty():
            found.append(self.late.get())
        self.chance.shuffle(found)
        return [(method, target, self.ask(method, target, headers, body)[0]) for method, target, headers, body in found]

    def ask(self, method, target, headers, body):
        connection = self.connect()
        try:
            connection.request(method, target, body=body or None, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.reason, answer.getheaders(), answer.read()
        finally:
            connection.close()


def read_request(connection):
    """(method, target, headers, body) of one request with a length; None at the end."""
    connection.settimeout(30)
    with connection.makefile("rb") as stream:
        first = stream.readline().decode("latin-1").split()
        if len(first) != 3:
            return None
        parsed = http.client.parse_headers(stream)
        body = stream.read(int(parsed.get("Content-Length", 0)))
    headers = {name: value for name, value in parsed.items() if name.lower() not in ("connection", "host", "content-length")}
    return first[0], first[1], headers, body


def reply(connection, status, reason, headers, content):
    kept = [(name, value) for name, value in headers if name.lower() not in ("transfer-encoding", "content-length", "connection")]
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in kept)]
    lines += [f"Content-Length: {len(content)}", "Connection: close", "", ""]
    connection.sendall("\r\n".join(lines).encode("latin-1") + content)
