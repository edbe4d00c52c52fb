"""Releases: which there are, where their fixtures are, and where their binaries lie once they are built."""

import os
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
BUILT = pathlib.Path(os.environ.get("LATHE_RELEASES", REPOSITORY / "build" / "releases"))


def all_releases():
    """[(version, commit)], oldest first."""
    lines = (line.split("#")[0].split() for line in (FOLDER / "releases").read_text().splitlines())
    return [(version, commit) for version, commit in filter(None, lines)]


def fixtures_of(version):
    return FOLDER / "fixtures" / version


def binary_of(version):
    """Of a release that build_release.sh has built, or None."""
    binary = BUILT / version / "lathe"
    return binary if binary.exists() else None
