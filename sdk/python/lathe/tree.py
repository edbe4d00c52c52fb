"""Tree manifests (docs/formats/tree.md): the one text form of a folder's files and links."""

import hashlib
from typing import Dict, List, NamedTuple

from lathe.errors import LatheError

MAGIC = b"lathe-tree 1\n"
MOST_HOPS = 40  # the kernel's own limit for one path

# `digest` is empty and `target` set for a symbolic link.
TreeEntry = NamedTuple(
    "TreeEntry", [("path", bytes), ("digest", str), ("size", int), ("executable", bool), ("target", bytes)]
)


def file_entry(path: str, digest: str, size: int, executable: bool = False) -> TreeEntry:
    return TreeEntry(path.encode("utf-8", "surrogateescape"), digest, size, executable, b"")


def encode_tree(entries: List[TreeEntry]) -> bytes:
    """The manifest's bytes. Example: `encode_tree([file_entry("a.txt", digest, 3)])`"""
    lines = [MAGIC]
    for entry in sorted(entries, key=lambda entry: entry.path):
        check_path(entry.path)
        if entry.target:
            lines.append(b"l " + escape(entry.path) + b"\t" + escape(entry.target) + b"\n")
        else:
            kind = b"x" if entry.executable else b"f"
            lines.append(b"%s %s %d %s\n" % (kind, entry.digest.encode(), entry.size, escape(entry.path)))
    return b"".join(lines)


def decode_tree(manifest: bytes) -> List[TreeEntry]:
    """The entries of a manifest, in order."""
    if not manifest.startswith(MAGIC):
        raise LatheError("this is not a manifest of a tree of version 1", "corrupt")
    entries = []
    for line in manifest[len(MAGIC) :].split(b"\n")[:-1]:
        kind, rest = line[:1], line[2:]
        if kind == b"l":
            path, _, destination = rest.partition(b"\t")
            entries.append(TreeEntry(unescape(path), "", 0, False, unescape(destination)))
            continue
        parts = rest.split(b" ", 2)
        if kind not in (b"f", b"x") or len(parts) != 3:
            raise LatheError("a manifest has a line that nobody can read", "corrupt")
        entries.append(TreeEntry(unescape(parts[2]), parts[0].decode(), int(parts[1]), kind == b"x", b""))
    for entry in entries:
        check_path(entry.path)
    return entries


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def escape(text: bytes) -> bytes:
    return text.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n")


def unescape(text: bytes) -> bytes:
    if b"\\" not in text:
        return text
    known = {b"\\\\": b"\\", b"\\t": b"\t", b"\\n": b"\n"}
    out, at = [], 0
    while at < len(text):
        step = 2 if text[at : at + 1] == b"\\" else 1
        piece = text[at : at + step]
        out.append(known.get(piece, piece))
        at += step
    return b"".join(out)


def check_path(path: bytes) -> None:
    """Refuse a path that is not safe to create below a folder."""
    good = 0 < len(path) <= 4096 and b"\0" not in path
    good = good and all(0 < len(part) <= 255 and part not in (b".", b"..") for part in path.split(b"/"))
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        good = False
    if not good:
        shown = path.decode("utf-8", "replace")
        raise LatheError("{!r} cannot be the path of a file".format(shown), "invalid", "rename it", "path")


def check_links(entries: List[TreeEntry]) -> None:
    """Refuse links that leave the folder, however they are followed."""
    links = {entry.path: entry.target for entry in entries if entry.target}
    for path, destination in sorted(links.items()):
        if leaves(links, path, destination):
            raise LatheError(
                "the symbolic link '{}' points outside the folder, to '{}'".format(
                    path.decode("utf-8", "replace"), destination.decode("utf-8", "replace")
                ),
                "invalid",
                "make it a relative link to something inside, or list it in the ignore file",
                "path",
            )


def leaves(links: Dict[bytes, bytes], path: bytes, destination: bytes) -> bool:
    """Whether following the link ever steps above the root."""
    if destination.startswith(b"/"):
        return True
    here = path.split(b"/")[:-1]
    pending = destination.split(b"/")[::-1]
    hops = 0
    while pending and hops < MOST_HOPS:
        part = pending.pop()
        if part in (b"", b"."):
            continue
        if part == b"..":
            if not here:
                return True
            here.pop()
            continue
        link = links.get(b"/".join(here + [part]))
        if link is None:
            here.append(part)
        elif link.startswith(b"/"):
            return True
        else:
            hops += 1
            pending.extend(link.split(b"/")[::-1])
    return False
