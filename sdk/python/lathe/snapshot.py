"""Snapshots of a source folder: the same files, the same manifest and the same digest as `lathe store put` makes."""

import hashlib
import os
import stat
from typing import Dict, Iterator, List, Tuple

from lathe.errors import LatheError
from lathe.ignore import IgnoreFile, IgnoreRules
from lathe.parallel import in_parallel
from lathe.tree import TreeEntry, check_links, check_path, digest_of, encode_tree
from lathe.uploads import BlobSource

HINT = "list it in the ignore file, or remove it"
PIECE = 1 << 20


class Snapshot:
    """A folder as it was: its manifest, the manifest's digest, and where the bytes of each blob are.

    Example:

        snapshot = take_snapshot("./src")
        upload_blobs(client, snapshot.blobs())
        print(snapshot.digest, len(snapshot.entries))
    """

    def __init__(self, entries: List[TreeEntry], files: Dict[str, BlobSource]) -> None:
        self.entries = entries
        self.manifest = encode_tree(entries)
        self.digest = digest_of(self.manifest)
        self._files = files

    def blobs(self) -> List[BlobSource]:
        """Everything that a server needs: each file's bytes once, and the manifest."""
        return list(self._files.values()) + [BlobSource(self.digest, len(self.manifest), data=self.manifest)]


def take_snapshot(folder: str) -> Snapshot:
    """Read a folder, leaving out what `.amlignore` (else `.gitignore`) excludes."""
    root = os.fsencode(os.path.abspath(folder))
    if not os.path.isdir(root):
        raise LatheError("there is no folder {}".format(folder), "invalid", "source_directory names a folder")
    name = b".amlignore" if os.path.lexists(os.path.join(root, b".amlignore")) else b".gitignore"
    found = list(walk(root, b"", name, IgnoreRules()))
    plain = [(path, info) for path, info in found if not stat.S_ISLNK(info.st_mode)]
    hashed = in_parallel(lambda item: hash_file(os.path.join(root, item[0])), plain)
    entries, files = [], {}  # type: List[TreeEntry], Dict[str, BlobSource]
    for (path, info), (digest, size) in zip(plain, hashed):
        entries.append(TreeEntry(path, digest, size, bool(info.st_mode & stat.S_IXUSR), b""))
        files[digest] = BlobSource(digest, size, path=os.fsdecode(os.path.join(root, path)))
    for path, info in found:
        if stat.S_ISLNK(info.st_mode):
            entries.append(TreeEntry(path, "", 0, False, os.readlink(os.path.join(root, path))))
    check_links(entries)
    return Snapshot(entries, files)


def walk(root: bytes, folder: bytes, ignore_name: bytes, rules: IgnoreRules) -> Iterator[Tuple[bytes, os.stat_result]]:
    """What belongs to the snapshot, without an order. Entries that vanish meanwhile are left out."""
    pending = [(folder, rules)]
    while pending:
        folder, rules = pending.pop()
        here = os.path.join(root, folder)
        rules = with_file(rules, folder, os.path.join(here, ignore_name))
        for name in names_in(here, folder):
            path = folder + b"/" + name if folder else name
            try:
                info = os.lstat(os.path.join(root, path))
            except OSError:
                continue
            if rules.ignores(path, stat.S_ISDIR(info.st_mode)):
                continue
            if stat.S_ISDIR(info.st_mode):
                pending.append((path, rules))
                continue
            check_path(path)
            if not stat.S_ISREG(info.st_mode) and not stat.S_ISLNK(info.st_mode):
                raise refusal(path, "is neither a file, a folder nor a symbolic link")
            yield path, info


def names_in(here: bytes, folder: bytes) -> List[bytes]:
    try:
        return [name for name in os.listdir(here) if name != b".git"]
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise refusal(folder, "cannot be listed: {}".format(problem.strerror))


def with_file(rules: IgnoreRules, folder: bytes, file: bytes) -> IgnoreRules:
    try:
        info = os.lstat(file)
    except OSError:
        return rules
    if stat.S_ISLNK(info.st_mode):
        raise refusal(file, "is a symbolic link; an ignore file must be a plain file")
    if not stat.S_ISREG(info.st_mode):
        return rules  # git ignores a folder of that name, too
    with open(file, "rb") as text:
        return rules.below(folder, IgnoreFile(text.read()))


def hash_file(path: bytes) -> Tuple[str, int]:
    """The digest and size of a file's bytes, both of one reading."""
    digest, size = hashlib.sha256(), 0
    try:
        with open(path, "rb", buffering=0) as file:
            while True:
                piece = file.read(PIECE)
                if not piece:
                    return digest.hexdigest(), size
                digest.update(piece)
                size += len(piece)
    except OSError as problem:
        raise refusal(path, "cannot be read: {}".format(problem.strerror))


def refusal(path: bytes, why: str) -> LatheError:
    return LatheError("'{}' {}".format(path.decode("utf-8", "replace"), why), "invalid", HINT, "path")
