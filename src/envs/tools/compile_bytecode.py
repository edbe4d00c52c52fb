"""Compiles the Python files of an environment into a pool and links the results into it.

usage: compile_bytecode.py SITE_PACKAGES POOL

Files of equal content (the digest in RECORD) and equal time are compiled once for all environments of one pool: the names of
files in byte code do not matter, because the importer corrects them. Runs with the environment's own interpreter.
"""

import base64
import csv
import importlib.util
import os
import py_compile
import sys
import tempfile


def sources(site):
    """(path, digest) of each installed Python file."""
    for folder in sorted(os.listdir(site)):
        record = os.path.join(site, folder, "RECORD")
        if not folder.endswith(".dist-info") or not os.path.exists(record):
            continue
        with open(record, newline="", encoding="utf-8") as file:
            for row in csv.reader(file):
                if len(row) > 1 and row[0].endswith(".py") and row[1].startswith("sha256=") and not row[0].startswith(".."):
                    yield os.path.join(site, row[0]), row[1][len("sha256=") :]


def compiled(path, digest, pool):
    """The pool's byte code of a file, made when it is not there; None for a file that does not compile."""
    status = os.stat(path)
    name = base64.urlsafe_b64decode(digest + "=" * (-len(digest) % 4)).hex()
    place = os.path.join(pool, name[:2], "{}-{}".format(name[2:], int(status.st_mtime)))
    if os.path.exists(place):
        return place
    os.makedirs(os.path.dirname(place), exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=pool)
    os.close(handle)
    try:
        py_compile.compile(path, cfile=temporary, dfile=os.path.basename(path), doraise=True)
        os.chmod(temporary, 0o644)
        os.replace(temporary, place)
    except (py_compile.PyCompileError, SyntaxError, ValueError, UnicodeError, FileNotFoundError):
        os.unlink(temporary)
        return None
    return place


def main(site, pool):
    pool = os.path.join(pool, sys.implementation.cache_tag)
    os.makedirs(pool, exist_ok=True)
    linked = 0
    for path, digest in sources(site):
        if not os.path.exists(path):
            continue
        target = importlib.util.cache_from_source(path)
        if os.path.exists(target):
            continue
        place = compiled(path, digest, pool)
        if place is None:
            continue
        # Not with its parents: an environment that is being built again must not come back as an empty tree.
        try:
            os.mkdir(os.path.dirname(target))
        except (FileExistsError, FileNotFoundError):
            pass
        try:
            os.link(place, target)
            linked += 1
        except (FileExistsError, FileNotFoundError):
            pass
    print(linked)


if __name__ == "__main__":
    main(*sys.argv[1:])
