"""The examples work as they are written."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from .conftest import SDK

EXAMPLES = SDK.parents[1] / "examples" / "azureml"


@pytest.fixture
def environment(ws):
    ws.write_config()
    return {name: value for name, value in os.environ.items() if name != "LATHE_STATE"} | {"PYTHONPATH": str(SDK)}


def test_the_first_run(environment, surroundings):
    # The run's interpreter is this one; where its SDK lies is told by the variable that the script's own environment sets.
    text = (EXAMPLES / "first_run.py").read_text()
    mark = "user_managed_dependencies = True"
    assert mark in text
    (surroundings / "first_run.py").write_text(
        text.replace(
            "run = Experiment(",
            f"src.run_config.environment.environment_variables['PYTHONPATH'] = {str(SDK)!r}\n    run = Experiment(",
        )
    )
    done = subprocess.run([sys.executable, "first_run.py"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pi is about 3.14" in done.stdout and "errors: [0.0" in done.stdout
    assert (surroundings / "pi.txt").read_text().startswith("3.14")


def test_the_notebook_cell_by_cell(environment, surroundings):
    """As a program, for machines without Jupyter; test_notebook runs it through nbclient where that is installed."""
    cells = json.loads((EXAMPLES / "walkthrough.ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    code = code.replace(
        "run = Experiment(",
        f"src.run_config.environment.environment_variables['PYTHONPATH'] = {str(SDK)!r}\nrun = Experiment(",
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ended at" in done.stdout


def test_notebook(environment, surroundings, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="Jupyter's nbclient is not installed")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(EXAMPLES / "walkthrough.ipynb", as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace(
            "run = Experiment(",
            f"src.run_config.environment.environment_variables['PYTHONPATH'] = {str(SDK)!r}\nrun = Experiment(",
        )
    monkeypatch.setenv("PYTHONPATH", str(SDK))
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(surroundings)}}).execute()
    shown = json.dumps([cell.get("outputs") for cell in notebook.cells])
    assert "ended at" in shown and "Execution Summary" in shown


def test_the_scripts_compile():
    for script in EXAMPLES.rglob("*.py"):
        compile(script.read_text(), str(script), "exec")
    assert pathlib.Path(EXAMPLES / "README.md").exists()
