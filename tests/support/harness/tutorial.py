"""Fixtures of the tutorial tests: a server whose runs have a real TensorFlow, the SDK as its reader uses it, and a small MNIST.

The interpreter of runs and the MNIST files are those of scripts/common.sh (make_tensorflow_python, fetch_mnist); ./test.sh makes
them. Where they are missing the tests are skipped and say so.
"""

import gzip
import os
import pathlib
import shutil
import struct
import subprocess

import pytest

from . import paths
from .server import Server

TOOLS = paths.REPOSITORY / ".lathe-tools"
PYTHON = TOOLS / "tensorflow-venv" / "bin" / "python"
MNIST = TOOLS / "mnist"
EXAMPLE = paths.REPOSITORY / "examples" / "azureml" / "src"
IMAGES = {"train": 2000, "t10k": 500}
CONFIG = {"environments": {"interpreter": str(PYTHON)}, "fetch": {"private": ["127.0.0.0/8"]}}
NO_PROXY = {"http_proxy": "", "https_proxy": "", "no_proxy": ""}


def first_items(source, target, count):
    """The beginning of an idx file: its header with another count, and that many items."""
    with gzip.open(source) as file:
        kind, dimensions = struct.unpack(">HxB", file.read(4))
        _, *shape = struct.unpack(">" + "I" * dimensions, file.read(4 * dimensions))
        size = count
        for length in shape:
            size *= length
        items = file.read(size)
    header = struct.pack(">HxB", kind, dimensions) + struct.pack(">" + "I" * dimensions, count, *shape)
    target.write_bytes(gzip.compress(header + items, mtime=0))


def install_sdk(server):
    """The interpreter of runs gets this server's SDK from this server."""
    url = server.discovery()["url"]
    command = [TOOLS / "uv" / "bin" / "uv", "pip", "install", "--quiet", "--no-cache", "--reinstall", "--python", PYTHON]
    done = subprocess.run([*map(str, command), "--index-url", f"{url}/sdk/simple/", "lathe-sdk"],
                          env=os.environ | NO_PROXY, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def small_mnist(tmp_path_factory):
    """A folder with the four files: 2,000 training images and 500 test images of the real ones."""
    if not (TOOLS / "mnist.done").exists():
        pytest.skip("MNIST has not been fetched; ./test.sh or ./demo.sh does it")
    folder = tmp_path_factory.mktemp("mnist")
    for file in MNIST.glob("*.gz"):
        first_items(file, folder / file.name, IMAGES[file.name.split("-")[0]])
    return folder


@pytest.fixture(scope="session")
def tutorial_site(binary):
    if not (TOOLS / "tensorflow-venv" / "requirements.txt").exists():
        pytest.skip("there is no interpreter with TensorFlow; ./test.sh or ./demo.sh makes it")
    with Server(config=CONFIG, environment=NO_PROXY) as server:
        install_sdk(server)
        yield server


@pytest.fixture
def ws(tutorial_site, tmp_path, monkeypatch):
    """The workspace of the folder in which the reader stands, which also holds the example's scripts in ./src."""
    monkeypatch.syspath_prepend(str(paths.REPOSITORY / "sdk" / "python"))
    for name in [name for name in os.environ if name.startswith(("LATHE_", "AZUREML_"))]:
        monkeypatch.delenv(name)
    for name, value in NO_PROXY.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-of-user"))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLE, "src", ignore=shutil.ignore_patterns("__pycache__"))
    tutorial_site.cli("workspace", "init", "tutorial", cwd=tmp_path)
    from azureml.core import Workspace

    return Workspace.from_config()


def predict(model_folder, data_folder):
    """The share of the test images that a SavedModel names rightly, by the interpreter with TensorFlow."""
    code = (
        "import sys, numpy, tensorflow, mnist_files\n"
        "_, _, images, labels = mnist_files.load(sys.argv[2])\n"
        "model = tensorflow.saved_model.load(sys.argv[1])\n"
        "answers = model.serve(images).numpy()\n"
        "print(float(numpy.mean(answers.argmax(axis=1) == labels)))\n"
    )
    done = subprocess.run([str(PYTHON), "-c", code, str(model_folder), str(data_folder)], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(EXAMPLE), "TF_CPP_MIN_LOG_LEVEL": "2"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def files_of(folder):
    """name → bytes of everything below a folder."""
    folder = pathlib.Path(folder)
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
