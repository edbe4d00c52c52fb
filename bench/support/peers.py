"""Peers are Debian packages; a bench installs what it compares with."""

import os
import shutil
import subprocess

from .rows import say


def need(programs):
    """`programs`: {program: package}. Installs the packages of those that are missing."""
    packages = sorted({package for program, package in programs.items() if not find(program)})
    if not packages:
        return
    say(f"installing {' '.join(packages)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    done = subprocess.run(command, env=environment, capture_output=True, text=True) if os.geteuid() == 0 else None
    missing = [program for program in programs if not find(program)]
    if missing:
        why = f"\n{done.stderr[-600:]}" if done else ""
        raise SystemExit(
            f"error: the peer {', '.join(missing)} is missing{why}\nhint: as root: apt-get install {' '.join(packages)}"
        )


def find(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
