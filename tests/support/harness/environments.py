"""Environments without a server: the probe program, and package sources that a test makes itself."""

import base64
import contextlib
import hashlib
import http.server
import io
import json
import os
import pathlib
import subprocess
import tarfile
import threading
import zipfile

from harness import paths

TOOLS = paths.REPOSITORY / ".lathe-tools"
UV = TOOLS / "uv/bin/uv"
CACHE = pathlib.Path(os.environ.get("LATHE_ENV_CACHE", TOOLS / "environments"))  # for what comes from the real index
PROBE = paths.BINARY.parents[2] / "tests/envs/env_probe"
SDK_VERSION = (paths.REPOSITORY / "VERSION").read_text().strip()
SDK = paths.BINARY.parents[1] / f"server/wheels/lathe_sdk-{SDK_VERSION}-py3-none-any.whl"


class ProbeError(Exception):
    """What the probe said at its end: code, message, hint; `log` has everything."""

    def __init__(self, log):
        lines = log.splitlines()
        error = [line for line in lines if line.startswith("error ")][-1:] or [log]
        hint = [line for line in lines if line.startswith("hint: ")][-1:] or [""]
        super().__init__(error[0] + "\n" + hint[0])
        self.code = error[0].split(":")[0].replace("error ", "")
        self.message, self.hint, self.log = error[0], hint[0], log


class Probe:
    """The library of environments as a program, with a cache of its own."""

    def __init__(self, folder, **settings):
        self.folder = pathlib.Path(folder)
        self.cache = pathlib.Path(settings.pop("cache", self.folder / "cache"))
        self.settings = {"cache": str(self.cache), "uv": str(UV), "sdk": str(SDK), "sdk_version": SDK_VERSION, **settings}
        self.log = ""
        self.count = 0

    def _file(self, name, text):
        self.count += 1
        path = self.folder / f"{self.count}-{name}"
        path.write_text(text)
        return str(path)

    def command(self, *arguments):
        return [str(PROBE), self._file("settings.json", json.dumps(self.settings)), *map(str, arguments)]

    def start(self, *arguments, **options):
        return subprocess.Popen(
            self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
        )

    def run(self, *arguments, **options):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, **options)
        self.log = done.stderr
        if done.returncode != 0:
            raise ProbeError(done.stderr)
        return done.stdout

    def lock(self, *pip, python="3.11", conda=(), **definition):
        """The file of a new lock."""
        return self.lock_of(define(*pip, python=python, conda=conda, **definition))

    def lock_of(self, definition):
        return self._file("lock.json", self.run("lock", self._file("definition.json", json.dumps(definition))))

    def realise(self, lock, *more):
        """The prefix of the environment."""
        return pathlib.Path(self.run("realise", lock, *more).splitlines()[0])


def define(*pip, python="3.11", conda=(), variables=None, channels=("conda-forge",), **sections):
    dependencies = [f"python={python}", *conda, {"pip": ["azureml-defaults", *pip]}]
    return {
        "name": "test",
        "environmentVariables": variables or {},
        "python": {"condaDependencies": {"channels": list(channels), "dependencies": dependencies}},
        **sections,
    }


def packages(lock):
    """Name → version of a lock's file."""
    return {one["name"]: one["version"] for one in json.loads(pathlib.Path(lock).read_text())["packages"]}


def python(prefix, code):
    return subprocess.run([prefix / "bin/python", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


# --- packages


def wheel(folder, name, version="1.0", files=None, requires=(), tag="py3-none-any", scripts=()):
    """A wheel with a module of its name that holds its version; the path of the file."""
    module = name.replace("-", "_")
    files = {f"{module}.py": f"version = {version!r}\n", **(files or {})}
    info = f"{module}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n"
    if scripts:
        files[f"{info}/entry_points.txt"] = "[console_scripts]\n" + "".join(f"{one}\n" for one in scripts)
    record = "".join(f"{path},sha256={url_digest(text)},{len(text.encode())}\n" for path, text in files.items())
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    path = pathlib.Path(folder) / f"{module}-{version}-{tag}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for entry, text in files.items():
            archive.writestr(zipfile.ZipInfo(entry), text)
    return path


def url_digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


BACKEND = """
import zipfile
def build_wheel(folder, settings=None, metadata=None):
    name = "{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(folder + "/" + name, "w") as archive:
        info = "{module}-{version}.dist-info/"
        archive.writestr("{module}.py", "version = '{version}'\\n")
        archive.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
        archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(info + "RECORD", "{module}.py,,\\n")
    return name
"""


def sources(name, version="1.0"):
    """Files of a source package that builds itself with nothing but the standard library."""
    module = name.replace("-", "_")
    return {
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f'[project]\nname = "{name}"\nversion = "{version}"\n',
        "backend.py": BACKEND.format(name=name, module=module, version=version),
        "PKG-INFO": f"Metadata-Version: 2.2\nName: {name}\nVersion: {version}\n",
    }


def sdist(folder, name, version="1.0", files=None):
    base = f"{name.replace('-', '_')}-{version}"
    path = pathlib.Path(folder) / f"{base}.tar.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for entry, text in {**sources(name, version), **(files or {})}.items():
            info = tarfile.TarInfo(f"{base}/{entry}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


class Index:
    """A package index on the loopback: the simple API in JSON, with upload times; it can ask for a password, go away and stall."""

    def __init__(self, folder, credential=None):
        self.folder, self.credential = pathlib.Path(folder), credential
        self.folder.mkdir(parents=True, exist_ok=True)
        self.uploaded = {}
        self.requests = []
        self.stall = None  # an event to wait for before a file is sent
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/simple"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def add(self, name, version="1.0", date="2025-01-01", **more):
        return self.take(wheel(self.folder, name, version, **more), date)

    def take(self, path, date="2025-01-01"):
        self.uploaded[path.name] = f"{date}T00:00:00Z"
        return path

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def project(self, name):
        files = []
        for path in sorted(self.folder.iterdir()):
            if path.name in self.uploaded and path.name.split("-")[0].replace("_", "-") == name:
                files.append(
                    {
                        "filename": path.name,
                        "url": f"../../files/{path.name}",
                        "hashes": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()},
                        "upload-time": self.uploaded[path.name],
                        "size": path.stat().st_size,
                    }
                )
        return files and {"meta": {"api-version": "1.1"}, "name": name, "versions": [], "files": files}

    def _handler(index):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status, body=b"", kind="text/plain", headers=()):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    if self.command != "HEAD":
                        self.wfile.write(body)

            def do_GET(self):
                parts = self.path.strip("/").split("/")
                index.requests.append(self.path)
                wanted = index.credential and base64.b64encode(":".join(index.credential).encode()).decode()
                if wanted and self.headers.get("Authorization") != "Basic " + wanted:
                    return self.answer(401, headers=[("WWW-Authenticate", "Basic")])
                if parts[0] == "simple" and index.project(parts[-1]):
                    kind = "application/vnd.pypi.simple.v1+json"
                    return self.answer(200, json.dumps(index.project(parts[-1])).encode(), kind)
                file = index.folder / parts[-1]
                if parts[0] == "files" and file.exists():
                    if index.stall and self.command == "GET":
                        index.stall.wait(60)
                    return self.answer(200, file.read_bytes(), "application/octet-stream")
                return self.answer(404)

            do_HEAD = do_GET

            def log_message(self, *arguments):
                pass

        return Handler


def conda_channel(root):
    """A channel with a tool that needs a library; both know where they were installed."""
    tool = b"#!/bin/sh\ncat /placeholder/of/the/channel/share/thing.txt\n"
    records = {"linux-64": {}, "noarch": {}}
    for name, files, depends in (
        ("lib-thing", {"share/thing.txt": b"in /placeholder/of/the/channel\n"}, []),
        ("thing-tool", {"bin/thing-tool": tool}, ["lib-thing >=1"]),
    ):
        file, record = conda_package(pathlib.Path(root) / "linux-64", name, files, depends)
        records["linux-64"][file] = record
    for subdir, entries in records.items():
        folder = pathlib.Path(root) / subdir
        folder.mkdir(parents=True, exist_ok=True)
        data = {"info": {"subdir": subdir}, "packages": entries, "packages.conda": {}, "repodata_version": 1}
        (folder / "repodata.json").write_text(json.dumps(data))


def conda_package(folder, name, files, depends, version="1.0"):
    folder.mkdir(parents=True, exist_ok=True)
    index = {"name": name, "version": version, "build": "0", "build_number": 0, "depends": depends, "subdir": "linux-64"}
    listed = []
    for path, data in files.items():
        entry = {"_path": path, "path_type": "hardlink", "sha256": hashlib.sha256(data).hexdigest(), "size_in_bytes": len(data)}
        if b"/placeholder" in data:
            entry.update(prefix_placeholder="/placeholder/of/the/channel", file_mode="text")
        listed.append(entry)
    inside = {
        "info/index.json": json.dumps(index).encode(),
        "info/paths.json": json.dumps({"paths": listed, "paths_version": 1}).encode(),
        "info/files": "\n".join(files).encode(),
        **files,
    }
    path = folder / f"{name}-{version}-0.tar.bz2"
    with tarfile.open(path, "w:bz2") as archive:
        for entry, data in inside.items():
            info = tarfile.TarInfo(entry)
            info.size, info.mode = len(data), 0o755
            archive.addfile(info, io.BytesIO(data))
    data = path.read_bytes()
    index.update(sha256=hashlib.sha256(data).hexdigest(), md5=hashlib.md5(data).hexdigest(), size=len(data))
    return path.name, index
