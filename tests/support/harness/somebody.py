"""A server of an ordinary user: who may read the binary and nothing else of ours. Needs root to become him."""

import os
import pathlib
import shutil
import subprocess
import tempfile

from .client import Client
from .paths import BINARY

NOBODY = 65534


class Somebody:
    def __init__(self, environment=None, rules=None):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="lathe-nobody-"))
        shutil.copy(BINARY, self.home / "lathe")
        os.chmod(self.home / "lathe", 0o755)
        os.chown(self.home, NOBODY, NOBODY)
        self.state = self.home / "state"
        self.environment = {"HOME": str(self.home), "LATHE_STATE": str(self.state), "PATH": "/usr/local/bin:/usr/bin:/bin"}
        self.environment |= environment or {}
        if rules:
            self.state.mkdir(mode=0o700)
            (self.state / "config.yaml").write_text(rules)
            for path in (self.state, self.state / "config.yaml"):
                os.chown(path, NOBODY, NOBODY)

    def cli(self, *words):
        done = subprocess.run(
            [self.home / "lathe", *words], cwd=self.home, env=self.environment, user=NOBODY, group=NOBODY,
            extra_groups=[], capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done

    def client(self):
        return Client(socket_path=self.state / "run" / "api.sock", token=(self.state / "token").read_text().strip())

    @property
    def config_folder(self):
        return self.home / ".config" / "lathe"

    @property
    def key_folder(self):
        return self.config_folder / "keys"

    def __enter__(self):
        self.cli("up")
        client = self.client()
        client.put(client.path("computes", "pool"), {"vm_size": "machine", "max_nodes": 8}).expect(200, 201)
        return self

    def __exit__(self, *_):
        self.cli("down")
        shutil.rmtree(self.home, ignore_errors=True)
