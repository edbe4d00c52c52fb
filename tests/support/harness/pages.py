"""Changes of a stopped server's database behind its back.

Every page has a checksum in its last 16 bytes (docs/formats/database.md), which Python's sqlite3 neither looks at nor writes."""

import contextlib
import sqlite3

PAGE, TRAILER, MARK = 4096, 16, b"lathepg1"
FACTOR, ALL = 0x9E3779B97F4A7C15, (1 << 64) - 1


def mix(state, word):
    product = (state ^ word) * FACTOR & ALL
    return (product << 31 | product >> 33) & ALL


def page_hash(content, number):
    lanes = [1, 2, 3, 4]
    for at in range(0, len(content), 8):
        lane = at // 8 % 4
        lanes[lane] = mix(lanes[lane], int.from_bytes(content[at : at + 8], "little"))
    found = number
    for lane in lanes:
        found = mix(found, lane)
    found = (found ^ found >> 33) * FACTOR & ALL
    return found ^ found >> 29


def is_whole(page, number):
    return page[-TRAILER:] == MARK + page_hash(page[:-TRAILER], number).to_bytes(8, "little")


def seal(file, known=b""):
    """Gives each page its checksum that differs from the same one in `known`, the file as it was when it had them."""
    with file.open("r+b") as database:
        for number, at in enumerate(range(0, file.stat().st_size, PAGE), 1):
            database.seek(at)
            page = database.read(PAGE)
            if page == known[at : at + PAGE]:
                continue
            content = page[:-TRAILER]
            database.seek(at)
            database.write(content + MARK + page_hash(content, number).to_bytes(8, "little"))


@contextlib.contextmanager
def editing(file):
    """A connection whose changes the server will take for its own."""
    known = file.read_bytes()
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
        yield database
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    seal(file, known)
