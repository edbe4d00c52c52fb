"""Fixtures: a server of the tests' own, a workspace on it, and folders with scripts."""

import pathlib
import sys
import textwrap

import pytest

SDK = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SDK), str(SDK.parents[1] / "tests" / "support")]

from harness import meeting  # noqa: E402
from harness.server import Server  # noqa: E402


@pytest.fixture
def tmp_path():
    """In place of pytest's own, which runs cannot see."""
    with meeting.folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def site():
    """A server whose site names this interpreter for runs."""
    with Server(config={"environments": {"interpreter": sys.executable}}) as server:
        yield server


@pytest.fixture(autouse=True)
def surroundings(site, tmp_path, monkeypatch):
    """Each test stands in an empty folder and finds the server by its state folder."""
    for name in ("LATHE_SERVER", "LATHE_TOKEN_FILE", "AZUREML_RUN_ID", "AZUREML_RUN_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LATHE_STATE", str(site.state))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-of-user"))
    work = tmp_path / "work"
    work.mkdir()
    work.chmod(0o777)  # scripts of runs leave files there, and have a user of their own
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def ws(surroundings):
    from azureml.core import Workspace

    return Workspace.create("sdk-tests", exist_ok=True)


@pytest.fixture
def exp(ws):
    from azureml.core import Experiment

    return Experiment(ws, "sdk-tests")


@pytest.fixture
def source(surroundings):
    """source(text) makes a folder with train.py; the script finds this SDK."""

    def make(text, **files):
        folder = surroundings / "src"
        folder.mkdir(exist_ok=True)
        (folder / "train.py").write_text(textwrap.dedent(text))
        for name, content in files.items():
            (folder / name.replace("__", ".")).write_text(content)
        return str(folder)

    return make


@pytest.fixture
def config(source):
    """config(text, …) is a ScriptRunConfig of a script with that text."""
    from azureml.core import ScriptRunConfig

    def make(text, **options):
        made = ScriptRunConfig(source_directory=source(text), script="train.py", **options)
        made.run_config.environment.environment_variables["PYTHONPATH"] = str(SDK)
        return made

    return make


@pytest.fixture
def run_script(exp, config):
    """Submits a script and waits for its end."""

    def run(text, show_output=False, raise_on_error=True, **options):
        made = exp.submit(config(text, **options))
        made.wait_for_completion(show_output=show_output, raise_on_error=raise_on_error)
        return made

    return run
