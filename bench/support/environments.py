"""Environments: the uv that both sides use, servers with a cache of their own, and definitions."""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
PYTHON = os.path.realpath("/usr/bin/python3")


def find_uv():
    own = ROOT / ".lathe-tools" / "uv" / "bin" / "uv"
    found = os.environ.get("LATHE_UV") or (str(own) if own.exists() else shutil.which("uv"))
    if not found:
        raise SystemExit("error: there is no uv\nhint: scripts/bootstrap.sh installs it, or set LATHE_UV")
    return found


def site(cache):
    """Rules of a site that builds in CACHE."""
    return {"environments": {"cache": str(cache), "uv": find_uv()}}


def definition(*packages, python="3.11"):
    return {"python": {"condaDependencies": {"dependencies": [f"python={python}", {"pip": list(packages)}]}}}


def build(server, file):
    """`lathe env build --file FILE`, to its end; the lock."""
    command = server.command("env", "build", "--file", str(file), "-o", "json")
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)}\n{done.stderr[-2000:]}")
    return done.stdout


def install(uv_cache, folder, packages, extra=()):
    """The plain way: `uv venv` and `uv pip install`."""
    environment = os.environ | {"UV_CACHE_DIR": str(uv_cache)}
    uv = find_uv()
    for command in (
        [uv, "venv", "--quiet", "--no-project", "--python", PYTHON, str(folder)],
        [uv, "pip", "install", "--quiet", "--python", f"{folder}/bin/python", *extra, *packages],
    ):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            raise SystemExit(f"error: {' '.join(command)}\n{done.stderr[-2000:]}")
