"""Server: a `lathe server` of its own in a temporary folder, gone with everything it made at the end."""

import contextlib
import json
import os
import pathlib
import select
import subprocess
import time

from .api import Api
from .folder import bench_folder

BINARY = pathlib.Path(os.environ.get("LATHE_BIN", pathlib.Path(__file__).parents[2] / "build/release/src/main/lathe"))
STOP_SECONDS = 60


class Server:
    def __init__(self, folder, config=None):
        self.state = pathlib.Path(folder) / "state"
        self.process = None
        if config is not None:
            self.state.mkdir(mode=0o700)
            (self.state / "config.yaml").write_text(json.dumps(config))  # JSON is YAML

    def start(self, seconds=60):
        reader, writer = os.pipe()
        command = [str(BINARY), "server", "--state", str(self.state), "--ready-fd", str(writer)]
        with open(self.state.parent / "server.out", "ab") as out:
            self.process = subprocess.Popen(
                command,
                pass_fds=[writer],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=os.environ | {"XDG_CACHE_HOME": str(self.state.parent / "cache")},  # of its runs
                start_new_session=True,
            )
        os.close(writer)
        with os.fdopen(reader, "rb") as ready:
            readable, _, _ = select.select([ready], [], [], seconds)
            if not readable or not ready.read(1):
                self.stop()
                raise SystemExit(f"error: the server did not start\n{(self.state.parent / 'server.out').read_text()}")
        return self

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    @property
    def pid(self):
        return self.process.pid

    def api(self):
        return Api(self.state / "run" / "api.sock", (self.state / "token").read_text().strip())

    def command(self, *arguments):
        """The argv of `lathe … ARGUMENTS` against this server."""
        return [str(BINARY), "--state", str(self.state), *arguments]

    def add_compute(self, name, nodes):
        api = self.api()
        api.call("PUT", "/api/v1/workspaces/default", {})
        target = {"vm_size": "machine", "max_nodes": nodes, "min_nodes": nodes, "idle_seconds": 600}
        api.call("PUT", f"/api/v1/workspaces/default/computes/{name}", target)
        api.close()


@contextlib.contextmanager
def running_server(config=None):
    """A started server; runners that are still there when it stops are waited for, so that the folder can go."""
    with bench_folder() as folder:
        server = Server(folder, config)
        try:
            yield server.start()
        finally:
            server.stop()
            wait_until(lambda: not any((server.state / "work").glob("*")), 30, "the runners have gone", fatal=False)


def wait_until(condition, seconds, what, fatal=True, pause=0.01):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            if fatal:
                raise SystemExit(f"error: waited {seconds} s until {what}")
            return False
        time.sleep(pause)
    return True
