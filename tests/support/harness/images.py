"""Images for tests: a small Debian with Python, made by debootstrap once and kept among the tools."""

import os
import pathlib
import shutil
import subprocess

from .environments import UV

BASE = "localhost/lathe-test-base:1"
ARCHIVE = UV.parent.parent.parent / "test-image.tar"


def why_not():
    """Why there can be no images here; None when there can."""
    if os.geteuid() != 0:
        return "debootstrap needs root"
    missing = [name for name in ("podman", "runc", "debootstrap") if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")]
    return f"not installed: {', '.join(missing)}" if missing else None


def podman(*words, **options):
    done = subprocess.run(["podman", *words], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def make_archive(folder):
    root, draft = folder / "root", ARCHIVE.with_suffix(".part")
    command = ["debootstrap", "--variant=minbase", "--include=python3", "bookworm", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
    assert done.returncode == 0, done.stdout[-2000:]
    shutil.rmtree(root / "var/cache/apt", ignore_errors=True)
    subprocess.run(["tar", "-C", str(root), "-cf", str(draft), "."], check=True)
    draft.rename(ARCHIVE)


def base_image(folder: pathlib.Path):
    """Its name; the image is made when it is not here."""
    if subprocess.run(["podman", "image", "exists", BASE], check=False).returncode == 0:
        return BASE
    if not ARCHIVE.exists():
        make_archive(folder)
    podman("import", str(ARCHIVE), BASE)
    return BASE


def containers():
    """Those of runs, also ended ones."""
    return [name for name in podman("ps", "--all", "--format", "{{.Names}}").splitlines() if name.startswith("lathe-")]
