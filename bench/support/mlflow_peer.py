"""A stock MLflow from PyPI: pinned, in an environment of its own, with its SQLite store and its own artifact server."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import urllib.request

from .folder import bench_folder
from .rows import say
from .server import wait_until

ROOT = pathlib.Path(__file__).parents[2]
TOOLS = ROOT / ".lathe-tools"
PLACE = TOOLS / "bench-venv"
WANTED = pathlib.Path(__file__).with_name("requirements-mlflow.txt")
WORKERS = 4  # as many as it starts by itself
# Nothing is told to its makers from a bench.
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}


def install():
    mark = PLACE / "requirements.txt"
    if mark.exists() and mark.read_bytes() == WANTED.read_bytes():
        return
    uv, python = TOOLS / "uv/bin/uv", "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
    say("installing mlflow from PyPI")
    environment = {"UV_CACHE_DIR": str(TOOLS / "uv-cache"), **os.environ}
    for command in (
        [uv, "venv", "--quiet", "--clear", "--python", python, PLACE],
        [uv, "pip", "install", "--quiet", "--python", PLACE / "bin/python", "-r", WANTED],
    ):
        done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"error: mlflow could not be installed: {done.stderr[-600:]}\nhint: check the network")
    # Compiled now, as an installation by pip does: nobody's first call pays for it.
    subprocess.run([str(PLACE / "bin/python"), "-m", "compileall", "-qq", str(PLACE / "lib")], check=False)
    mark.write_bytes(WANTED.read_bytes())


class Mlflow:
    def __init__(self, folder):
        self.folder, self.process = folder, None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        command = [PLACE / "bin/mlflow", "server", "--backend-store-uri", f"sqlite:///{self.folder}/mlflow.db"]
        command += ["--serve-artifacts", "--artifacts-destination", self.folder / "artifacts", "--port", self.port]
        with open(self.folder / "mlflow.out", "ab") as out:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                cwd=self.folder, env=os.environ | QUIET, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                start_new_session=True,
            )  # fmt: skip
        wait_until(self.answers, 120, f"mlflow answers ({self.folder}/mlflow.out)", pause=0.1)
        return self

    def answers(self):
        """All of its workers: those that still load would take the cores from the first one's requests."""
        told = (self.folder / "mlflow.out").read_text()
        if self.process.poll() is not None:
            raise SystemExit(f"error: mlflow did not start\n{told[-2000:]}")
        if told.count("Application startup complete") < WORKERS:
            return False
        try:
            with urllib.request.urlopen(self.url + "/health", timeout=5) as response:
                return response.status == 200
        except OSError:
            return False

    def stop(self):
        """The session is its own: its workers end with it."""
        for sent in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, sent)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)

    def script(self, text, *arguments):
        """Runs Python text with mlflow at hand, pointed to this server; the JSON that it prints last."""
        environment = os.environ | QUIET | {"MLFLOW_TRACKING_URI": self.url, "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
        command = [str(PLACE / "bin/python"), "-c", text, *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"error: the mlflow script ended with {done.returncode}: {done.stderr[-1500:]}")
        return json.loads(done.stdout.strip().splitlines()[-1])


@contextlib.contextmanager
def running_mlflow():
    install()
    with bench_folder() as folder:
        server = Mlflow(folder)
        try:
            yield server.start()
        finally:
            server.stop()
