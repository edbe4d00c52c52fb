#!/usr/bin/env python3
"""Runs tests/unit on every Python of the machine from 3.6 on, against one real server.

usage: run_everywhere.py [PYTHON …]
Without names: those of pyenv and the system's, one of each minor version. LATHE_BIN names the server's binary.
The last line is "N passed, M failed", where each Python counts as one.
"""

import os
import pathlib
import re
import subprocess
import sys

SDK = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SDK.parents[1] / "tests" / "support"))

from harness.server import Server  # noqa: E402


def version_of(python):
    try:
        told = subprocess.run(
            [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = told.stdout.decode().strip()
    return tuple(map(int, found.split("."))) if re.fullmatch(r"3\.\d+", found) else None


def interpreters():
    """One Python of each minor version, oldest first."""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    found = {}
    for python in [*sorted(map(str, root.glob("*/bin/python"))), "/usr/bin/python3", sys.executable]:
        version = version_of(python)
        if version and version >= (3, 6):
            found.setdefault(version, python)
    return [found[version] for version in sorted(found)]


def passes(python, environment):
    done = subprocess.run([python, "-W", "error::SyntaxWarning", "-m", "unittest", "discover", "-s", "tests/unit",
                          "-t", "."], cwd=SDK, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    last = done.stdout.decode(errors="replace").strip().splitlines()
    print("{} {}: {}".format(".".join(map(str, version_of(python))), python, " ".join(last[-3:])), flush=True)
    if done.returncode:
        print("\n".join(last[-60:]), flush=True)
    return done.returncode == 0


def main(names):
    with Server() as server:
        environment = dict(os.environ, LATHE_STATE=str(server.state), PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=str(SDK))
        results = [passes(python, environment) for python in names or interpreters()]
    print("{} passed, {} failed".format(results.count(True), results.count(False)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main([os.path.abspath(name) for name in sys.argv[1:]]))
