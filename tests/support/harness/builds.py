"""Environments for tests: packages made here, so that no network is needed, and a uv that waits where a test wants it to."""

import base64
import contextlib
import hashlib
import os
import pathlib
import shutil
import zipfile

from . import paths
from .wait import wait_for

TOOLS = paths.REPOSITORY / ".lathe-tools"


def find_uv():
    """The uv of the tests, or of the machine."""
    own = TOOLS / "uv" / "bin" / "uv"
    found = os.environ.get("LATHE_UV") or (str(own) if own.exists() else shutil.which("uv"))
    assert found, "there is no uv: test.sh installs it"
    return found


def make_wheel(folder, name, version="1.0", files=None, requires=()):
    """A pure wheel with the module NAME, whose VERSION it knows, and FILES beside it."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {each}\n" for each in requires)
    content = {
        f"{name}.py": f"VERSION = {version!r}\n",
        **(files or {}),
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: lathe-tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for inner, text in content.items():
            data = text if isinstance(text, bytes) else text.encode()
            wheel.writestr(zipfile.ZipInfo(inner, (2020, 1, 1, 0, 0, 0)), data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{inner},sha256={digest},{len(data)}\n"
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", (2020, 1, 1, 0, 0, 0)), record + f"{info}/RECORD,,\n")
    return path


def definition(*packages, python="3.11", **more):
    """What the SDK would send for these pip packages."""
    conda = {"dependencies": [f"python={python}", {"pip": list(packages)}]}
    return {"python": {"condaDependencies": conda, "userManagedDependencies": False}, **more}


def site(folder, wheelhouse, **rules):
    """Rules of a site that builds in FOLDER from WHEELHOUSE alone."""
    own = {"cache": str(folder), "wheelhouse": str(wheelhouse), "offline": True, "uv": find_uv(), "python_downloads": False}
    return {"environments": {key: value for key, value in (own | rules).items() if value is not None}}


class Gate:
    """A uv that waits before it does what contains WORDS, until the test opens the gate."""

    def __init__(self, folder, words):
        folder.mkdir(parents=True, exist_ok=True)
        self.opened, self.reached, self.program = folder / "opened", folder / "reached", folder / "uv"
        self.program.write_text(
            "#!/bin/sh\n"
            f'case " $* " in *" {words} "*)\n'
            f'  echo "$$" >> {self.reached}\n'
            f"  while [ ! -e {self.opened} ]; do sleep 0.02; done ;;\n"
            "esac\n"
            f'exec {find_uv()} "$@"\n'
        )
        self.program.chmod(0o755)

    def wait(self, times=1, deadline=30):
        """Until uv has come to it."""

        def came():
            with contextlib.suppress(FileNotFoundError):
                return len(self.reached.read_text().splitlines()) >= times

        wait_for(came, deadline, "uv at the gate")

    def open(self):
        self.opened.touch()


class Builds:
    """The builds of one workspace as a client sees them."""

    def __init__(self, client):
        self.client = client

    def start(self, what, **fields):
        """By name, or by definition."""
        by_name = isinstance(what, str)
        path = self.client.path("environments", what, "builds") if by_name else self.client.path("environment-builds")
        return self.client.post(path, fields if by_name else {"definition": what, **fields}).expect(202).json()

    def get(self, build):
        return self.client.get(self.client.path("environment-builds", str(build))).expect(200).json()

    def log(self, build, **query):
        return self.client.get(self.client.path("environment-builds", str(build), "log"), **query).expect(200).body.decode()

    def wait(self, build, state="ready", deadline=60):
        found = wait_for(lambda: (b := self.get(build))["ended"] and b, deadline, f"the end of build {build}")
        assert found["state"] == state, (found["error"], self.log(build))
        return found

    def make(self, what, **fields):
        return self.wait(self.start(what, **fields)["id"])
