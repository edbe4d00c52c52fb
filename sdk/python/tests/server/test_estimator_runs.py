"""Estimators, widgets and open datasets on a real server."""

from azureml.core import Run
from azureml.opendatasets import MNIST
from azureml.train.dnn import TensorFlow
from azureml.train.estimator import Estimator
from azureml.widgets import RunDetails

from .conftest import SDK


def test_an_estimator_runs_its_script(exp, source):
    folder = source(
        "import sys\nfrom azureml.core import Run\nRun.get_context().log('n', len(sys.argv))\nprint(sys.argv[1:])"
    )
    est = TensorFlow(source_directory=folder, entry_script="train.py", script_params={"--batch-size": 50, "--flag": ""},
                     compute_target="local", use_gpu=True, environment_variables={"PYTHONPATH": str(SDK)})  # fmt: skip
    run = exp.submit(est)
    run.wait_for_completion()
    assert run._read_text("azureml-logs/70_driver_log.txt") == "['--batch-size', '50', '--flag']\n"
    assert run.get_metrics() == {"n": 4}
    packages = run.get_environment().python.conda_dependencies
    assert "tensorflow-gpu==1.13.1" in list(packages.pip_packages)


def test_submit_may_wait_and_change_parameters(exp, source, capsys):
    est = Estimator(
        source_directory=source("import sys; print(sys.argv[1:])"), entry_script="train.py", script_params={"--a": 1}
    )
    run = exp.submit(est, script_params={"--a": 2}, show_output=True)
    assert "['--a', '2']" in capsys.readouterr().out
    assert Run(exp, run.id).get_status() == "Completed"


def test_run_details_show_text_outside_of_a_notebook(run_script, capsys):
    run = run_script("from azureml.core import Run\nRun.get_context().log('accuracy', 0.5)\nprint('<last> line')")
    RunDetails(run).show()
    printed = capsys.readouterr().out
    assert run.id in printed and "Completed" in printed and "accuracy = 0.5" in printed and "<last> line" in printed
    assert "&lt;last&gt; line" in RunDetails(run).html()


def test_mnist_names_its_four_files(monkeypatch):
    monkeypatch.setenv("LATHE_MNIST_URL", "http://mirror.example/mnist")
    paths = MNIST.get_file_dataset().to_path()
    assert len(paths) == 4 and all(path.startswith("/http/mirror.example/mnist/") for path in paths)
    assert len(MNIST.get_file_dataset("test").to_path()) == 2
