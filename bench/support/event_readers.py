"""Many event streams in one process that does nothing but note when how many bytes had come on each of them.

All streams follow the same workspace from the same moment, without chunks (HTTP/1.0), so that all get the same bytes: only
the first is read; of the others the kernel throws the bytes away (MSG_TRUNC) and tells their number.
"""

import bisect
import datetime
import json
import pickle
import select
import socket
import time
import urllib.parse

GREETING = b": lathe events\n\n"
PIECE = 1 << 20


def open_stream(address, target, token):
    connection = socket.create_connection(address, 30)
    host = f"{address[0]}:{address[1]}"
    connection.sendall(f"GET {target} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    came = b""
    while not came.endswith(GREETING):
        piece = connection.recv(4096)
        if not piece:
            raise SystemExit(f"error: a stream was answered {came!r}")
        came += piece
    connection.setblocking(False)
    return connection


def read_streams(url, target, token, count, ready, stop, result):
    """Runs until `stop` is readable; writes what it noted to `result`. `ready` is closed when all streams are open."""
    parts = urllib.parse.urlsplit(url)
    address = parts.hostname, parts.port
    streams = [open_stream(address, target, token) for _ in range(count)]
    numbers = {stream.fileno(): number for number, stream in enumerate(streams)}
    poll = select.epoll()
    for stream in streams:
        poll.register(stream, select.EPOLLIN)
    poll.register(stop, select.EPOLLIN)
    ready.close()
    totals, notes, text, waste = [0] * count, [[] for _ in range(count)], bytearray(), bytearray(PIECE)
    stopping = False
    while not stopping:
        for descriptor, _ in poll.poll():
            if descriptor == stop.fileno():
                stopping = True
                continue
            number = numbers[descriptor]
            if number == 0:
                piece = streams[0].recv(PIECE)
                text += piece
                got = len(piece)
            else:
                got = streams[number].recv_into(waste, PIECE, socket.MSG_TRUNC)
            if got == 0:
                raise SystemExit(f"error: the server ended stream {number}")
            totals[number] += got
            notes[number].append((time.time(), totals[number]))
    pickle.dump((bytes(text), notes), result)
    result.flush()


def event_ends(text):
    """(when it was decided, by the server's clock, and where it ends in the stream) of each event."""
    begin = 0
    while (end := text.find(b"\n\n", begin)) >= 0:
        for line in text[begin:end].split(b"\n"):
            if line.startswith(b"data: "):
                yield parse_time(json.loads(line[6:])["at"]), end + 2
        begin = end + 2


def parse_time(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def spread_times(text, notes, every=1):
    """How long each event took until the last stream had it; every `every`-th event."""
    found = []
    for number, (at, end) in enumerate(event_ends(text)):
        if number % every:
            continue
        last = 0.0
        for noted in notes:
            place = bisect.bisect_left(noted, end, key=lambda note: note[1])
            if place == len(noted):
                raise SystemExit("error: a stream did not get all events")
            last = max(last, noted[place][0])
        found.append(last - at)
    return found
