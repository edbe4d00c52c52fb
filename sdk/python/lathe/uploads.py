"""Uploads: the server is asked which blobs it lacks; small ones travel together in packs, large ones alone and
resumably. What a broken connection lost is found out by asking again.
"""

import os
import struct
from typing import Any, Callable, Dict, Iterator, List, Optional

from lathe.client import Client
from lathe.errors import Conflict, LatheError, Unavailable
from lathe.parallel import in_parallel

ASK_AT_ONCE = 10000
LARGE = 64 << 20  # from here on a blob travels alone
PACK_BYTES = 64 << 20
PACK_BLOBS = 5000
PIECE = 1 << 18
TRIES = 20


class BlobSource:
    """Bytes to send, in memory or in a file, known by their digest.

    Example: `BlobSource(digest_of(b"abc"), 3, data=b"abc")`
    """

    def __init__(self, digest: str, size: int, path: str = "", data: Optional[bytes] = None) -> None:
        self.digest, self.size, self.path, self.data = digest, size, path, data

    def pieces(self, offset: int = 0) -> Iterator[bytes]:
        """Exactly `size - offset` bytes; LatheError when the file has become shorter."""
        if self.data is not None:
            yield self.data[offset:]
            return
        left = self.size - offset
        with open(self.path, "rb", buffering=0) as file:
            file.seek(offset)
            while left:
                piece = file.read(min(PIECE, left))
                if not piece:
                    raise LatheError("{} changed while it was being sent".format(self.path), "conflict", "try again")
                left -= len(piece)
                yield piece


def upload_blobs(client, blobs, done=None):
    # type: (Client, List[BlobSource], Optional[Callable[[BlobSource], Any]]) -> int
    """Send what the server lacks; the number of bytes sent. `done` is called for each blob that is there."""
    wanted = {blob.digest: blob for blob in blobs}
    sent, told = 0, set()  # type: int, Any
    for number in range(TRIES):
        missing, partial = ask(client, list(wanted))
        for digest, blob in wanted.items():
            if done and digest not in missing and digest not in told:
                told.add(digest)
                done(blob)
        if not missing:
            return sent
        todo = [wanted[digest] for digest in missing]
        work = packs_of([blob for blob in todo if blob.size < LARGE]) + [[b] for b in todo if b.size >= LARGE]
        try:
            sent += sum(in_parallel(lambda pack: send(client, pack, partial), work))
        except (Unavailable, Conflict):
            # Perhaps another upload brings the same bytes: the next question tells.
            if number + 1 == TRIES:
                raise
    raise LatheError("the server lacks blobs that were sent", "internal", "send them again")


def ask(client: Client, digests: List[str]) -> Any:
    """Which of these the server lacks, and how much it has of those that came in part."""
    missing, partial = set(), {}  # type: Any, Dict[str, int]
    for at in range(0, len(digests), ASK_AT_ONCE):
        answer = client.post(client.path("blobs", "missing"), {"digests": digests[at : at + ASK_AT_ONCE]})
        missing.update(answer["missing"])
        partial.update(answer["partial"])
    return missing, partial


def packs_of(blobs: List[BlobSource]) -> List[List[BlobSource]]:
    packs, size = [], 0  # type: List[List[BlobSource]], int
    for blob in blobs:
        if not packs or size + blob.size > PACK_BYTES or len(packs[-1]) == PACK_BLOBS:
            packs.append([])
            size = 0
        packs[-1].append(blob)
        size += blob.size
    return packs


def send(client: Client, pack: List[BlobSource], partial: Dict[str, int]) -> int:
    if pack[0].size >= LARGE:
        return send_large(client, pack[0], partial.get(pack[0].digest, 0))
    size = sum(blob.size + 40 for blob in pack) + 40
    headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
    client.send("POST", client.path("blobs", "pack"), make_body=lambda: gathered(frames(pack)), headers=headers)
    return sum(blob.size for blob in pack)


def frames(pack: List[BlobSource]) -> Iterator[bytes]:
    """The pack stream (docs/formats/pack.md)."""
    for blob in pack:
        yield bytes.fromhex(blob.digest) + struct.pack("<Q", blob.size)
        for piece in blob.pieces():
            yield piece
    yield bytes(40)


def gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in larger pieces: thousands of small files would be thousands of system calls."""
    held, size = [], 0  # type: List[bytes], int
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= PIECE:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def send_large(client: Client, blob: BlobSource, offset: int) -> int:
    headers = {"Content-Type": "application/octet-stream", "Content-Length": str(blob.size - offset)}
    client.send(
        "PUT",
        client.path("blobs", blob.digest),
        {"offset": offset, "size": blob.size},
        lambda: blob.pieces(offset),
        headers,
        patience=0,  # after trouble the server must be asked how much it has
    )
    return blob.size - offset


def source_of_file(path: str) -> BlobSource:
    """A file as a blob to send; reads it once for its digest."""
    from lathe.snapshot import hash_file

    digest, size = hash_file(os.fsencode(path))
    return BlobSource(digest, size, path=path)
