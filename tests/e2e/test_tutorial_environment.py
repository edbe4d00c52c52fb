"""The tutorial with an environment of one's own, written as conda YAML, and a model registered as a single file."""

import pathlib

CONDA = """\
channels:
- conda-forge
dependencies:
- python=3.6.2
- pip:
  - azureml-defaults
  - tensorflow-gpu==2.2.0
"""

# Trains a single layer, so that the model is one file of weights.
SCRIPT = """\
import argparse
import os

import tensorflow as tf
from azureml.core import Run

import mnist_files

parser = argparse.ArgumentParser()
parser.add_argument("--data-folder")
images, labels, test_images, test_labels = mnist_files.load(parser.parse_args().data_folder)
run = Run.get_context()
model = tf.keras.Sequential([tf.keras.layers.Input((784,)), tf.keras.layers.Dense(10, activation="softmax")])
model.compile("adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
for epoch, loss in enumerate(model.fit(images, labels, epochs=3, verbose=0).history["loss"]):
    run.log_row("training", epoch=epoch, loss=loss)
run.log("accuracy", model.evaluate(test_images, test_labels, verbose=0)[1])
run.log("seen_in", os.environ["TUTORIAL"])
os.makedirs("outputs", exist_ok=True)
model.save_weights("outputs/digits.weights.h5")
"""


def make_environment():
    from azureml.core import Environment

    pathlib.Path("conda_dependencies.yml").write_text(CONDA)
    environment = Environment.from_conda_specification(name="tutorial-env", file_path="./conda_dependencies.yml")
    environment.docker.enabled = True
    environment.docker.base_image = "mcr.microsoft.com/azureml/openmpi3.1.2-cuda10.1-cudnn7-ubuntu18.04"
    environment.environment_variables["TUTORIAL"] = "my own environment"
    return environment


def check_environment(ws, run, environment):
    from azureml.core import Environment

    used = run.get_environment()
    assert used.name == "tutorial-env" and used.docker.base_image == environment.docker.base_image
    assert "tensorflow-gpu==2.2.0" in list(used.python.conda_dependencies.pip_packages)
    assert environment.register(ws).version == "1"
    assert Environment.get(ws, "tutorial-env").environment_variables["TUTORIAL"] == "my own environment"


def test_an_environment_from_conda_yaml_and_a_model_of_one_file(ws, small_mnist):
    from azureml.core import Dataset, Experiment, Model, ScriptRunConfig

    pathlib.Path("src/weights.py").write_text(SCRIPT)
    environment = make_environment()
    dataset = Dataset.File.upload_directory(str(small_mnist), (ws.get_default_datastore(), "tutorial-env"))
    src = ScriptRunConfig("src", "weights.py", ["--data-folder", dataset.as_download()], environment=environment)
    run = Experiment(ws, "tutorial-env").submit(src)
    run.wait_for_completion()

    metrics = run.get_metrics()
    assert metrics["seen_in"] == "my own environment" and metrics["accuracy"] > 0.6
    assert metrics["training"]["epoch"] == [0, 1, 2]
    assert metrics["training"]["loss"] == sorted(metrics["training"]["loss"], reverse=True)
    check_environment(ws, run, environment)

    of_run = run.register_model("tutorial-weights", model_path="outputs/digits.weights.h5")
    run.download_file("outputs/digits.weights.h5", "mine.h5")
    of_file = Model.register(ws, "mine.h5", "tutorial-weights", description="from this machine")
    assert (of_run.version, of_file.version) == (1, 2) and ws.models["tutorial-weights"].version == 2
    fetched = pathlib.Path(Model(ws, "tutorial-weights", version=1).download("one"))
    assert fetched.name == "digits.weights.h5" and fetched.read_bytes() == pathlib.Path("mine.h5").read_bytes()
    assert pathlib.Path(of_file.download("two")).read_bytes() == fetched.read_bytes()
