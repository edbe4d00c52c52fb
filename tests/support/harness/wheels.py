"""Packages made by a test, so that environments can be built without any index."""

import base64
import hashlib
import io
import pathlib
import tarfile
import zipfile


def make_wheel(folder, name, version, source="", requires=()):
    """A wheel with one module of the package's name; its path."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {item}\n" for item in requires)
    files = {
        f"{name}.py": f"__version__ = {version!r}\n{source}",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},sha256={digest(text)},{len(text.encode())}\n" for path, text in files.items())
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inner, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            wheel.writestr(inner, text)
    return path


def digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


BACKEND = '''\
import pathlib, sys, time
sys.path.insert(0, {support!r})
from harness.wheels import make_wheel

def build_wheel(folder, config_settings=None, metadata_directory=None):
    deadline = time.monotonic() + 120
    while not pathlib.Path({gate!r}).exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return make_wheel(folder, {name!r}, {version!r}).name

def build_sdist(folder, config_settings=None):
    raise NotImplementedError
'''


def make_source_package(folder, name, version, gate):
    """A source package that needs nothing for its build, which goes on when the file `gate` is there; its path."""
    support = str(pathlib.Path(__file__).resolve().parents[1])
    root = f"{name}-{version}"
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f'[project]\nname = "{name}"\nversion = "{version}"\n',
        "backend.py": BACKEND.format(support=support, gate=str(gate), name=name, version=version),
    }
    path = pathlib.Path(folder) / f"{root}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for inner, text in files.items():
            member = tarfile.TarInfo(f"{root}/{inner}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path
