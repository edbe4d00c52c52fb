"""The tutorial as it was before ScriptRunConfig: files in the datastore, an estimator, the model file by file."""

import os
import warnings

from harness.tutorial import files_of


def upload(ws, folder):
    store = ws.get_default_datastore()
    store.upload(src_dir=str(folder), target_path="mnist", overwrite=True, show_progress=True)
    return store


def test_an_estimator_reads_the_mounted_datastore(ws, small_mnist, capsys):
    from azureml.core import Experiment
    from azureml.train.dnn import TensorFlow

    store = upload(ws, small_mnist)
    printed = capsys.readouterr().out
    assert all(name in printed for name in files_of(small_mnist)), "the upload names its files"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        estimator = TensorFlow(source_directory="src", entry_script="train.py", compute_target="local", use_gpu=True,
                               script_params={"--data-folder": store.as_mount(), "--neurons": 64, "--learning-rate": 0.003},
                               conda_packages=["scikit-learn"])  # fmt: skip
    run = Experiment(ws, "tutorial-estimator").submit(estimator)
    run.wait_for_completion(show_output=True)
    assert "2000 training images" in capsys.readouterr().out
    assert len(run.get_metrics()["accuracy"]) == 3 and run.get_metrics()["final_accuracy"] > 0.7

    model = run.register_model(model_name="tutorial-estimator", model_path="outputs/model")
    assert model.name == "tutorial-estimator" and model.version == 1
    for name in run.get_file_names():
        if name.startswith("outputs/model"):
            run.download_file(name=name, output_file_path=os.path.join("model", os.path.relpath(name, "outputs/model")))
    assert files_of("model") == files_of(model.download("registered")), "file by file or as a model: the same bytes"
