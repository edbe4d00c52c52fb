"""Blobs and pack streams, as the contract describes them."""

import hashlib
import struct


def digest(data):
    return hashlib.sha256(data).hexdigest()


def pack(*blobs, names=None, end=True):
    """A pack stream; `names` overrides digests to make a wrong one."""
    names = names or [digest(blob) for blob in blobs]
    frames = [bytes.fromhex(name) + struct.pack("<Q", len(blob)) + blob for name, blob in zip(names, blobs)]
    return b"".join(frames) + (bytes(40) if end else b"")


def unpack(stream):
    """{digest: bytes} of a pack stream; fails when its end is missing."""
    found, position = {}, 0
    while True:
        name, size = stream[position : position + 32], struct.unpack_from("<Q", stream, position + 32)[0]
        position += 40
        if name == bytes(32):
            assert position == len(stream), "bytes after the end frame"
            return found
        found[name.hex()] = stream[position : position + size]
        position += size
