"""Every curated environment, and every TensorFlow that the estimator of the documents knew, is built from the real index and its main
package imported in a run. Only with ./test.sh --all: the first time takes as long as fetching several GB and compiling Horovod does."""

import os
import pathlib

import pytest
import yaml
from harness import paths
from harness.server import Server

CATALOGUE = {file.stem: yaml.safe_load(file.read_text()) for file in sorted((paths.REPOSITORY / "curated").glob("*.yml"))}
pytestmark = pytest.mark.skipif(os.environ.get("LATHE_ENVIRONMENTS") != "all", reason="LATHE_ENVIRONMENTS=all: ./test.sh --all")
SCRIPT = """\
import importlib
import sys

import azureml.core

for name in sys.argv[1:]:
    print(name, getattr(importlib.import_module(name), "__version__", "is there"))
"""


@pytest.fixture(scope="module")
def workspace(binary, tmp_path_factory):
    config = {"environments": {"cache": str(paths.ENVIRONMENTS)}}
    with Server(config=config, environment=paths.uv_environment()) as server, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(paths.REPOSITORY / "sdk" / "python"))
        patch.setenv("LATHE_STATE", str(server.state))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state-of-user")))
        from azureml.core import Workspace

        yield Workspace.create("curated", exist_ok=True)


def modules_of(told):
    """The main module, and Horovod's part for it: what is compiled here must also load."""
    pip = next(item["pip"] for item in told["dependencies"] if isinstance(item, dict))
    with_horovod = any(package.startswith("horovod") for package in pip)
    return [told["main"]] + ([f"horovod.{told['main']}"] if with_horovod else [])


def log_of(workspace, config):
    """What the run prints; the log of its build is in the report of a failure."""
    from azureml.core import Experiment

    run = Experiment(workspace, "matrix").submit(config)
    run.wait_for_completion(show_output=True)
    return run._read_text("azureml-logs/70_driver_log.txt")


@pytest.fixture
def script(tmp_path):
    pathlib.Path(tmp_path, "train.py").write_text(SCRIPT)
    return str(tmp_path)


@pytest.mark.parametrize("name", CATALOGUE)
def test_it_is_built_and_its_main_package_imported(workspace, script, name):
    from azureml.core import Environment, ScriptRunConfig

    environment = Environment.get(workspace, name)
    build = environment.build(workspace).wait_for_completion(show_output=True)
    for item in build.substitutions:
        print(f"{name}: {item['asked']} -> {item['given']} ({item['why']})")
    config = ScriptRunConfig(script, "train.py", modules_of(CATALOGUE[name]), environment=environment)
    assert CATALOGUE[name]["main"] in log_of(workspace, config)


@pytest.mark.parametrize("version", ["1.10", "1.12", "1.13", "2.0", "2.1", "2.2"])
def test_the_estimator_has_every_tensorflow_of_its_time(workspace, script, version):
    from azureml.train.dnn import TensorFlow

    estimator = TensorFlow(source_directory=script, entry_script="train.py", script_params={"tensorflow": ""},
                           framework_version=version, use_gpu=True)  # fmt: skip
    assert "tensorflow" in log_of(workspace, estimator)
