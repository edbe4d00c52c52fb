"""The tutorial with a dataset of web files: a curated environment, training, metrics, the registered model."""

import pytest

from harness import liar
from harness.liar import Liar
from harness.tutorial import files_of, predict


@pytest.fixture
def web(small_mnist):
    """A web server with the four files."""
    with Liar({f"/mnist/{name}": liar.honest(body) for name, body in files_of(small_mnist).items()}) as web:
        yield web


def find_or_create(ws, name):
    from azureml.core.compute import AmlCompute, ComputeTarget
    from azureml.core.compute_target import ComputeTargetException

    try:
        return ComputeTarget(workspace=ws, name=name), "found"
    except ComputeTargetException:
        wanted = AmlCompute.provisioning_configuration(vm_size="STANDARD_NC6", max_nodes=1)
        target = ComputeTarget.create(ws, name, wanted)
        target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
        return target, "created"


def check_trained(run, printed):
    assert f"RunId: {run.id}" in printed and "Execution Summary" in printed
    assert "2000 training images, 500 test images" in printed, "the script's output was streamed"
    assert run.get_status() == "Completed"
    metrics = run.get_metrics()
    assert len(metrics["accuracy"]) == len(metrics["validation_accuracy"]) == 3, "one value for each epoch"
    assert metrics["final_accuracy"] == metrics["validation_accuracy"][-1] > 0.7
    assert {"outputs/model/saved_model.pb", "azureml-logs/70_driver_log.txt"} < set(run.get_file_names())


def check_registered(run, dataset, data_folder):
    from azureml.core import Model
    from azureml.core.resource_configuration import ResourceConfiguration

    model = run.register_model(model_name="tutorial-digits", model_path="outputs/model", tags={"data": dataset.name},
                               model_framework=Model.Framework.TENSORFLOW, model_framework_version="2.2",
                               resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=0.5))  # fmt: skip
    assert (model.version, model.model_framework, model.run_id) == (1, "TensorFlow", run.id)
    run.download_files(prefix="outputs/model", output_directory="from-run", append_prefix=False)
    folder = model.download(target_dir="from-registry", exist_ok=True)
    fetched = files_of(folder)
    assert "saved_model.pb" in fetched
    assert sorted(fetched.values()) == sorted(files_of("from-run").values()), "the registered bytes are the run's"
    assert predict(folder, data_folder) == pytest.approx(run.get_metrics()["final_accuracy"], abs=0.01)


def test_web_files_train_a_registered_model_in_a_curated_environment(ws, web, small_mnist, capsys):
    from azureml.core import Dataset, Environment, Experiment, ScriptRunConfig

    names = sorted(files_of(small_mnist))
    dataset = Dataset.File.from_files([f"{web.url}/mnist/{name}" for name in names], validate=False)
    assert dataset.to_path() == [f"/http/127.0.0.1:{web.port}/mnist/{name}" for name in names]
    dataset = dataset.register(workspace=ws, name="tutorial-mnist", description="digits", create_new_version=True)
    assert dataset.version == 1 and not web.requests, "a dataset refers; nothing is fetched yet"
    assert find_or_create(ws, "gpu-cluster")[1] == "created"
    target, how = find_or_create(ws, "gpu-cluster")
    assert how == "found"

    curated = Environment.get(workspace=ws, name="AzureML-TensorFlow-2.2-GPU")
    data = Dataset.get_by_name(ws, "tutorial-mnist").as_named_input("mnist").as_mount()
    src = ScriptRunConfig(source_directory="src", script="train.py", arguments=["--data-folder", data, "--epochs", 3],
                          compute_target=target, environment=curated)  # fmt: skip
    run = Experiment(workspace=ws, name="tutorial-curated").submit(src, tags={"from": "tutorial"})
    run.wait_for_completion(show_output=True)
    check_trained(run, capsys.readouterr().out)
    assert run.get_environment().name == curated.name
    assert {call.target.rpartition("/")[2] for call in web.requests} == set(names)
    check_registered(run, dataset, small_mnist)
