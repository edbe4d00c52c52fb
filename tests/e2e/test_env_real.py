"""The environments that old scripts name, with the real packages of the real index: TensorFlow of 2019 and 2020, Horovod built here.

They download gigabytes and compile for minutes, so that they run only with LATHE_ENVIRONMENTS=all (./test.sh --all does).
"""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from harness.environments import CACHE, Probe, packages, python

pytestmark = [
    pytest.mark.skipif(os.environ.get("LATHE_ENVIRONMENTS") != "all", reason="LATHE_ENVIRONMENTS=all"),
    pytest.mark.skipif(not shutil.which("mpicxx"), reason="needs libopenmpi-dev, openmpi-bin and g++"),
]

VENDOR = {"enabled": True, "baseImage": "mcr.microsoft.com/azureml/openmpi3.1.2-cuda10.1-cudnn7-ubuntu18.04"}
# Each process writes its line at once: mpirun mixes what comes in pieces.
TELL = "import os; tell = lambda *words: os.write(1, (' '.join(map(str, words)) + '\\n').encode())\n"
ALL_REDUCE = {
    "2.": TELL + "import horovod.tensorflow as hvd, tensorflow as tf; hvd.init()\n"
    "tell(hvd.size(), float(hvd.allreduce(tf.constant([1.0 + hvd.rank()]), average=False).numpy()[0]))",
    "1.": TELL + "import horovod.tensorflow as hvd, tensorflow as tf; hvd.init()\n"
    "with tf.Session() as s: tell(hvd.size(), float(s.run(hvd.allreduce(tf.constant([1.0 + hvd.rank()]), average=False))[0]))",
}


def has_python36():
    return any(pathlib.Path.home().glob(".pyenv/versions/3.6.*/bin/python3.6")) or shutil.which("python3.6")


@pytest.fixture
def probe(tmp_path):
    return Probe(tmp_path, cache=CACHE)


def all_reduce(prefix, version):
    """Two processes under mpirun; what both print."""
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", prefix / "bin/python", "-c"]
    code = ALL_REDUCE[version[:2]].replace(", average=False", ", op=hvd.Sum" if version.startswith("2.12") else ", average=False")
    done = subprocess.run([*command, code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if line.startswith("2 ")]


@pytest.mark.skipif(not has_python36(), reason="needs Python 3.6")
@pytest.mark.parametrize(
    "asked, given, horovod, numpy",
    [("tensorflow-gpu==2.2.0", "tensorflow-cpu", "0.19.5", "1.19.1"), ("tensorflow-gpu==1.13.1", "tensorflow", "0.16.1", "1.16.2")],
)
def test_tensorflow_of_its_time_with_horovod(probe, asked, given, horovod, numpy):
    lock = probe.lock(asked, f"horovod=={horovod}", python="3.6.2", docker=VENDOR)
    version = asked.split("==")[1]
    locked = packages(lock)
    assert (locked[given], locked["horovod"]) == (version, horovod)
    assert locked["numpy"] == numpy, "of the era of the pins"
    assert json.loads(pathlib.Path(lock).read_text())["python"]["given"] == "3.6"
    prefix = probe.realise(lock)
    assert python(prefix, "import tensorflow as tf, azureml.core; print(tf.__version__)") == version
    assert all_reduce(prefix, version) == ["2 3.0", "2 3.0"]


def test_tensorflow_by_substitution_where_only_debians_python_is(probe):
    probe.settings["pythons"] = ["/usr/bin"]
    lock = probe.lock("tensorflow-gpu==2.2.0", "horovod==0.19.5", python="3.6.2", docker=VENDOR)
    locked = packages(lock)
    assert (locked["tensorflow-cpu"], locked["horovod"]) == ("2.12.0", "0.28.1")
    prefix = probe.realise(lock)
    assert python(prefix, "import tensorflow as tf; print(tf.__version__)") == "2.12.0"
    assert all_reduce(prefix, "2.12.0") == ["2 3.0", "2 3.0"]
