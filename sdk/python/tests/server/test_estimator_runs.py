"""Estimators, widgets and open datasets on a real server."""

import pytest
from azureml.core import Dataset, Environment, Run
from azureml.data.data_reference import DataReference
from azureml.opendatasets import MNIST
from azureml.train.dnn import Mpi, TensorFlow
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


def test_inputs_and_an_earlier_run_are_given_to_the_script(ws, exp, source, surroundings):
    (surroundings / "data").mkdir()
    for name in ("a.txt", "b.txt"):
        (surroundings / "data" / name).write_text("the data")
    store = ws.get_default_datastore()
    store.upload(str(surroundings / "data"), "estimator-data", overwrite=True, show_progress=False)
    first = exp.submit(Estimator(source_directory=source("import os; os.makedirs('outputs', exist_ok=True)\n"
                                                         "open('outputs/checkpoint', 'w').write('epoch 3')"),
                                 entry_script="train.py"))  # fmt: skip
    first.wait_for_completion()
    script = """
        import os, sys
        from azureml.core import Run
        assert sys.argv[1] == '--resume-from'
        print(open(os.path.join(sys.argv[2], 'checkpoint')).read())
        print(open(os.path.join(Run.get_context().input_datasets['mine'], 'a.txt')).read())
        print(open(os.path.join(os.environ['AZUREML_DATAREFERENCE_stored'], 'a.txt')).read())
        """
    dataset = Dataset.File.from_files((store, "estimator-data"))
    stored = DataReference(store, "stored", path_on_datastore="estimator-data")
    est = Estimator(source_directory=source(script), entry_script="train.py", resume_from=first._get_outputs_datapath(),
                    inputs=[dataset.as_named_input("mine").as_mount(), stored], max_run_duration_seconds=600,
                    environment_variables={"PYTHONPATH": str(SDK)})  # fmt: skip
    run = exp.submit(est)
    run.wait_for_completion()
    assert run._read_text("azureml-logs/70_driver_log.txt") == "epoch 3\nthe data\nthe data\n"


def test_an_environment_of_ones_own_keeps_its_name(exp, source):
    env = Environment("estimators-own")
    run = exp.submit(Estimator(source_directory=source("pass"), entry_script="train.py", environment_definition=env))
    run.wait_for_completion()
    assert run.get_environment().name == "estimators-own"


def test_a_distributed_job_says_that_it_comes_later(exp, source):
    est = TensorFlow(source_directory=source("pass"), entry_script="train.py", node_count=2, distributed_training=Mpi(),
                     framework_version="1.13")  # fmt: skip
    assert "horovod==0.16.1" in list(est.conda_dependencies.pip_packages)
    with pytest.raises(NotImplementedError, match="distributed jobs"):
        exp.submit(est)
