"""Environments that a server builds: its site's rules, its builds, and a uv that waits where a test wants it to."""

import contextlib

from .environments import UV
from .wait import wait_for


def definition(*packages, python="3.11", **more):
    """What the SDK would send for these pip packages."""
    conda = {"dependencies": [f"python={python}", {"pip": list(packages)}]}
    return {"python": {"condaDependencies": conda, "userManagedDependencies": False}, **more}


def site(folder, wheelhouse=None, **rules):
    """Rules of a site that builds in FOLDER; from WHEELHOUSE alone where there is one."""
    own = {"cache": str(folder), "uv": str(UV), "python_downloads": False}
    if wheelhouse is not None:
        own |= {"wheelhouse": str(wheelhouse), "offline": True}
    return {"environments": own | rules}


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
            f'exec {UV} "$@"\n'
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
        path = self.client.path("environment-builds", str(build), "log")
        return self.client.get(path, **query).expect(200).body.decode()

    def wait(self, build, state="ready", deadline=60):
        found = wait_for(lambda: (b := self.get(build))["ended"] and b, deadline, f"the end of build {build}")
        assert found["state"] == state, (found["error"], self.log(build))
        return found

    def make(self, what, **fields):
        return self.wait(self.start(what, **fields)["id"])
