"""Downloads: bytes come into a file beside the target, are checked, and only then take its name. A broken
connection goes on where it stopped; a broken download leaves nothing.
"""

import hashlib
import os
import uuid
from typing import Any, Dict, Optional

from lathe.client import Client
from lathe.errors import LatheError, Unavailable

PIECE = 1 << 18
SMALL = 4 << 20  # up to here a file comes in one piece, on a connection that is kept


def download(client, path, query, target, digest=None, executable=False, size=None):
    # type: (Client, str, Optional[Dict[str, Any]], str, Optional[str], bool, Optional[int]) -> int
    """Fetch an address of the API into the file `target`; its size. Example: `download(client, url, {}, "a.bin")`"""
    folder = os.path.dirname(os.path.abspath(target))
    os.makedirs(folder, exist_ok=True)
    draft = os.path.join(folder, ".lathe-" + uuid.uuid4().hex)
    try:
        with open(draft, "wb") as file:
            found = (fetch_small if size is not None and size <= SMALL else fetch)(client, path, query, file)
        if digest is not None and found.hexdigest() != digest:
            raise LatheError("{} did not arrive as it was sent".format(target), "corrupt", "try again")
        if executable:
            os.chmod(draft, os.stat(draft).st_mode | 0o111)
        os.replace(draft, target)
        return os.path.getsize(target)
    except BaseException:
        if os.path.exists(draft):
            os.remove(draft)
        raise


def download_blob(client, digest, target, executable=False, size=None, tree=None):
    # type: (Client, str, str, bool, Optional[int], Optional[str]) -> int
    """Fetch a blob into a file; `tree` is the tree that it was found in, which a token of one workspace has to
    say. Example: `download_blob(client, entry.digest, "a.bin", size=entry.size, tree=digest)`"""
    query = {"tree": tree} if tree else None
    return download(client, client.path("blobs", digest), query, target, digest, executable, size)


def read_all(client: Client, path: str, query: Optional[Dict[str, Any]] = None) -> bytes:
    """A small file as bytes."""
    return bytes(client.send("GET", path, query).body)


def fetch_small(client: Client, path: str, query: Optional[Dict[str, Any]], file: Any) -> Any:
    """Write the bytes, which came in one answer, into `file`; their hash."""
    data = read_all(client, path, query)
    file.write(data)
    return hashlib.sha256(data)


def fetch(client: Client, path: str, query: Optional[Dict[str, Any]], file: Any) -> Any:
    """Write the bytes into `file`, in as many connections as it takes; their hash."""
    found, state = hashlib.sha256(), {"at": 0}

    def attempt():
        # type: () -> None
        headers = {"Range": "bytes={}-".format(state["at"])} if state["at"] else {}
        with client.stream("GET", path, query, headers) as response:
            if state["at"] and response.status != 206:
                raise LatheError("the server does not go on where a download stopped", "internal")
            left = int(response.headers.get("Content-Length", "-1"))
            while left:
                piece = response.read(PIECE if left < 0 else min(PIECE, left))
                if not piece:
                    break
                file.write(piece)
                found.update(piece)
                state["at"] += len(piece)
                left -= len(piece) if left > 0 else 0
            if left > 0:
                raise Unavailable("the connection broke", "unavailable")

    client.retry(attempt)
    return found
