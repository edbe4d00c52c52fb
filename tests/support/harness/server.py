"""Server: one `lathe server` on its own state folder; started, killed and started again by a test."""

import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile

import yaml

from . import meeting, paths, processes
from .client import Client
from .wait import wait_for

UV = paths.REPOSITORY / ".lathe-tools" / "uv" / "bin" / "uv"


class StartFailed(Exception):
    def __init__(self, code, text):
        super().__init__(f"lathe server ended with {code}: {text}")
        self.code, self.text = code, text


class Server:
    def __init__(self, state=None, options=(), config=None, environment=None, prefix=(), user=None, binary=None):
        """With `user`, a number, the server belongs to that ordinary user; only root can make such a one."""
        # A short path: a Unix socket's is at most 107 bytes.
        self.own_folder = None if state else tempfile.mkdtemp(prefix="lathe-e2e-")
        self.state = pathlib.Path(state or self.own_folder) / ("" if state else "state")
        self.options, self.prefix = list(options), list(prefix)
        # The keys of secrets are kept apart from the state folder; a test's must not end up with those of its user.
        self.key_folder = self.state.parent / f"{self.state.name}-keys"
        # Nor may what runs cache of the data that they mount, and environments that it builds.
        self.cache_folder = self.state.parent / f"{self.state.name}-cache"
        own = {"LATHE_KEY_FOLDER": str(self.key_folder), "XDG_CACHE_HOME": str(self.cache_folder)}
        if UV.exists():
            own["LATHE_UV"] = str(UV)
        self.environment = os.environ | own | (environment or {})
        self.process, self.user, self.binary = None, user, pathlib.Path(binary or paths.BINARY)
        if self.binary not in paths.PROGRAMS:
            paths.PROGRAMS.append(self.binary)
        if user is not None:
            self._give_to_user()
        if config is not None:
            self.write_config(config)

    @property
    def config(self):
        file = self.state / "config.yaml"
        return file.read_text() if file.exists() else ""

    def write_config(self, config):
        if meeting.is_hidden(paths.REPOSITORY):  # whose interpreter and SDK runs use
            local = {"box_shows": [str(paths.REPOSITORY)], **config.get("providers", {}).get("local", {})}
            config = {**config, "providers": {**config.get("providers", {}), "local": local}}
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.state / "config.yaml").write_text(yaml.safe_dump(config))

    def _give_to_user(self):
        self.binary = paths.public_binary()
        home = self.state.parent
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (home, self.state):
            os.chown(folder, self.user, self.user)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": tempfile.gettempdir()} | {
            name: self.environment[name] for name in ("LATHE_KEY_FOLDER", "XDG_CACHE_HOME")
        }

    # --- life

    def start(self, deadline=30):
        """Returns when the server answers; StartFailed when it ends instead."""
        ready = self.launch()
        with ready:
            readable, _, _ = select.select([ready], [], [], deadline)
            if not readable:
                self.kill()
                raise StartFailed("no answer", f"not ready within {deadline} s: {self.said()}")
            if not ready.read(1):
                raise StartFailed(self.process.wait(), self.said())
        return self

    def launch(self):
        """Starts the process and waits for nothing; the pipe on which it tells that it is ready."""
        if meeting.is_hidden(paths.REPOSITORY) and not self.config:
            with contextlib.suppress(OSError):  # a folder that cannot be made is what some tests are about
                self.show_checkout()
        reader, writer = os.pipe()
        self.stderr = tempfile.TemporaryFile()
        command = [
            *self.prefix,
            str(self.binary),
            "server",
            "--state",
            str(self.state),
            "--ready-fd",
            str(writer),
            *self.options,
        ]
        try:
            self.process = subprocess.Popen(
                command,
                pass_fds=[writer],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=self.stderr,
                stderr=self.stderr,
                start_new_session=True,
                **({} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}),
            )
        finally:
            os.close(writer)
        return os.fdopen(reader, "rb")

    def start_and_kill(self, seconds):
        """A kill -9 so many seconds after the start: while it reads its state, recovers, or has just begun to serve."""
        with self.launch() as ready:
            select.select([ready], [], [], seconds)
            self.kill()

    def show_checkout(self):
        owner = self.state.parent.stat()
        self.write_config({})
        for path in (self.state, self.state / "config.yaml"):
            os.chown(path, owner.st_uid, owner.st_gid)

    def prepare(self):
        """Makes the workspace `default` and in it the compute target `pool`, on which eight runs fit at once."""
        client = self.client()
        client.put("/api/v1/workspaces/default", {}).expect(200, 201)
        client.put(client.path("computes", "pool"), {"vm_size": "machine", "max_nodes": 8}).expect(200, 201)
        return self

    def said(self):
        self.stderr.seek(0)
        return self.stderr.read().decode(errors="replace")

    def stop(self, deadline=30):
        """SIGTERM, and its exit status."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(deadline) if self.process else None

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def restart(self):
        self.stop()
        return self.start()

    @property
    def pid(self):
        """Of the server itself, also behind a prefix such as unshare."""
        return self.discovery()["pid"]

    def is_up(self):
        return self.process is not None and self.process.poll() is None

    def close(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.stop(10)
        self.kill()
        for pid in processes.runners_of(self.state):
            processes.kill(pid)
        wait_for(lambda: not processes.runners_of(self.state), 10, "the end of all runners")
        if self.own_folder:
            shutil.rmtree(self.own_folder, ignore_errors=True)

    def __enter__(self):
        return self.start().prepare()

    def __exit__(self, kind, *_):
        if kind is not None:
            self.print_logs()
        self.close()

    def print_logs(self):
        log = self.state / "server.log"
        with contextlib.suppress(OSError):
            print(f"--- end of {log}", *log.read_text(errors="replace").splitlines()[-60:], sep="\n", file=sys.stderr)
        print("--- server said", self.said()[-4000:], sep="\n", file=sys.stderr)

    # --- speaking with it

    def discovery(self):
        return json.loads((self.state / "server.json").read_text())

    @property
    def token(self):
        return (self.state / "token").read_text(errors="ignore").strip()  # a damaged one opens nothing

    def client(self, token=None, workspace="default", timeout=30):
        """Over the Unix socket."""
        found = self.discovery()
        return Client(found["url"], self.state / "run" / "api.sock", token or self.token, workspace, timeout)

    def tcp_client(self, token=None):
        return self.client(token).over_tcp()

    def cli(self, *arguments, check=True, timeout=120, prefix=(), **options):
        """Runs `PREFIX lathe --state … ARGUMENTS`; returns the finished process with text output."""
        done = subprocess.run(
            [*prefix, str(self.binary), "--state", str(self.state), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            **options,
        )
        if check:
            assert done.returncode == 0, f"lathe {arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def cli_json(self, *arguments, **options):
        return json.loads(self.cli("-o", "json", *arguments, **options).stdout)

    def submit_folder(self, folder, *options, script="train.py", python=sys.executable, arguments=(), **more):
        """Submits a script with its folder through the command line; the run's id."""
        command = ["run", "submit", "--source", folder, "--script", script, "--python", python, "--compute", "pool", *options]
        return self.cli_json(*command, *(["--", *arguments] if arguments else []), **more)["id"]


def isolated_config(state, with_network=False):
    """Site configuration that puts each runner into its own mount and, unless told otherwise, network namespaces."""
    launcher = [str(paths.ISOLATE), *(["--with-network"] if with_network else []), str(state)]
    return {"providers": {"local": {"launcher": launcher}}}


def holding_config(folder):
    """Site configuration under which no runner starts: the test gets the attempt tokens and plays the runner."""
    return {"providers": {"local": {"launcher": [str(paths.HOLD_RUNNER), str(folder)]}}}
