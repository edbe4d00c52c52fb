"""The release binary is hardened as its build says: readelf looks at the file itself, so that no flag is lost on the way."""

import re
import shutil
import subprocess

import pytest

from harness import paths

pytestmark = pytest.mark.skipif(not shutil.which("readelf"), reason="readelf is not installed")


def readelf(*options, file=paths.BINARY):
    command = ["readelf", "--wide", *options, str(file)]
    environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def segments(name):
    """The flags of the program headers of a kind, e.g. ["RW"]."""
    row = rf"^\s*{name}\s+(?:0x\w+\s+){{5}}([RWE ]+?)\s+(?:0x)?[0-9a-f]+$"
    return [flags.replace(" ", "") for flags in re.findall(row, readelf("--program-headers"), re.MULTILINE)]


def used_names(library):
    """What a static library of ours takes from others."""
    return set(re.findall(r" UND (\S+)$", readelf("--syms", file=library), re.MULTILINE))


def test_its_address_is_another_at_each_start():
    assert re.search(r"Type:\s+DYN", readelf("--file-header"))
    assert re.search(r"\(FLAGS_1\).*\bPIE\b", readelf("--dynamic"))


def test_tables_of_addresses_are_read_only_before_main():
    assert segments("GNU_RELRO") == ["R"]
    assert re.search(r"\(FLAGS_1\).*\bNOW\b", readelf("--dynamic"))


def test_nothing_that_can_be_written_can_be_executed():
    assert segments("GNU_STACK") == ["RW"]
    loads = segments("LOAD")
    assert "RE" in loads and not [flags for flags in loads if "W" in flags and "E" in flags]


def test_our_own_code_watches_its_stack_and_its_buffers():
    """The libraries of others in the binary are watched anyway, so ours are looked at where they were built."""
    libraries = sorted(paths.BINARY.parents[1].glob("*/liblathe_*.a"))
    if not libraries:
        pytest.skip("a binary without its build folder")
    names = {library.parent.name: used_names(library) for library in libraries}
    assert [folder for folder, used in names.items() if "__stack_chk_fail" not in used] == []
    fortified = {name for used in names.values() for name in used if re.fullmatch(r"__\w+_chk", name)}
    assert fortified - {"__stack_chk_fail"}, "no call of the C library is fortified"
