"""The whole way in one script: data, compute target, training as a run, metrics, a registered model, its predictions.

usage: python demo.py --data FOLDER [--epochs N], in a folder with .azureml/config.json; FOLDER has MNIST's four idx files.
The interpreter needs TensorFlow and the SDK, and so does the one that the site names for runs; ./demo.sh sees to both.
"""
import argparse
import os
import sys

from azureml.core import Dataset, Environment, Experiment, Model, ScriptRunConfig, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "src")
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "0"}  # TensorFlow without its remarks
DIGITS = 12  # of the test images, shown with what the model takes them for


def say(text):
    print("\n--", text, flush=True)


def register_data(ws, folder):
    """The files go to the default datastore, sent only where the server lacks them; the dataset names them."""
    datastore = ws.get_default_datastore()
    datastore.upload(folder, target_path="mnist", overwrite=True, show_progress=True)
    dataset = Dataset.File.from_files(datastore.path("mnist/*.gz"))
    return dataset.register(ws, "mnist", description="handwritten digits", create_new_version=True)


def find_or_create_compute(ws):
    try:
        return ComputeTarget(ws, "cpu-cluster")
    except ComputeTargetException:
        wanted = AmlCompute.provisioning_configuration("STANDARD_D2_V2", max_nodes=1)
        target = ComputeTarget.create(ws, "cpu-cluster", wanted)
        target.wait_for_completion(show_output=True)
        return target


def train(ws, dataset, target, epochs):
    environment = Environment("tensorflow")
    environment.environment_variables.update(QUIET)
    arguments = ["--data-folder", dataset.as_named_input("mnist").as_mount(), "--epochs", epochs]
    config = ScriptRunConfig(SOURCE, "train.py", arguments, compute_target=target, environment=environment)
    run = Experiment(ws, "mnist").submit(config, tags={"from": "demo"})
    run.wait_for_completion(show_output=True)
    return run


def predict(model_folder, data_folder):
    """(labels, predictions) of the first test images."""
    os.environ.update(QUIET)
    import tensorflow as tf  # here: it takes seconds, and all before this needs the SDK alone

    sys.path.insert(0, SOURCE)
    import mnist_files

    _, _, images, labels = mnist_files.load(data_folder)
    model = tf.saved_model.load(model_folder)
    answers = model.serve(images[:DIGITS])
    return labels[:DIGITS].tolist(), tf.argmax(answers, axis=1).numpy().tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--epochs", type=int, default=3)
    arguments = parser.parse_args()
    ws = Workspace.from_config()

    say("the data: to the default datastore, and a dataset of it")
    dataset = register_data(ws, arguments.data)
    print("dataset {} version {}: {}".format(dataset.name, dataset.version, ", ".join(dataset.to_path())))

    say("the compute target")
    target = find_or_create_compute(ws)
    print(target.name, target.get_status().serialize()["vmSize"])

    say("training src/train.py as a run, with the dataset mounted")
    run = train(ws, dataset, target, arguments.epochs)

    say("what it logged")
    for name, value in sorted(run.get_metrics().items()):
        values = value if isinstance(value, list) else [value]
        print("{:20} {}".format(name, "  ".join("{:.4f}".format(number) for number in values)))

    say("the model: registered, downloaded, asked")
    model = run.register_model("mnist", model_path="outputs/model", model_framework=Model.Framework.TENSORFLOW,
                               tags={"run": run.id}, datasets=[("training data", dataset)])
    folder = model.download(target_dir=os.path.join("models", str(model.version)), exist_ok=True)
    print("{} is now in {}".format(model.id, folder))
    labels, predictions = predict(folder, arguments.data)
    print("test digits  ", *labels)
    print("predictions  ", *predictions)
    print("{} of {} right".format(sum(map(int.__eq__, labels, predictions)), len(labels)))


if __name__ == "__main__":
    main()
