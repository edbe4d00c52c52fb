"""Trains on MNIST as a run: dataset, compute target, environment, submit, metrics, model.

Needs a workspace in this folder (lathe workspace init NAME) and a site whose interpreter has TensorFlow and the SDK.
"""
import os

from azureml.core import Dataset, Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException

MNIST = os.environ.get("MNIST_URL", "http://yann.lecun.com/exdb/mnist/")
FILES = ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"]
HERE = os.path.dirname(os.path.abspath(__file__))

ws = Workspace.from_config()

dataset = Dataset.File.from_files([MNIST + name for name in FILES], validate=False)
dataset = dataset.register(ws, "mnist", description="handwritten digits", create_new_version=True)

try:
    target = ComputeTarget(ws, "cpu-cluster")
except ComputeTargetException:
    target = ComputeTarget.create(ws, "cpu-cluster", AmlCompute.provisioning_configuration("STANDARD_D2_V2", max_nodes=2))
    target.wait_for_completion(show_output=True)

src = ScriptRunConfig(source_directory=os.path.join(HERE, "src"), script="train.py", compute_target=target,
                      environment=Environment.get(ws, "AzureML-TensorFlow-2.2-GPU"),
                      arguments=["--data-folder", dataset.as_named_input("mnist").as_mount(), "--epochs", 3])
run = Experiment(ws, "mnist").submit(src, tags={"from": "examples"})
run.wait_for_completion(show_output=True)
print(run.get_metrics())

model = run.register_model(model_name="mnist", model_path="outputs/model", tags={"data": dataset.name})
print(model.id, model.download(target_dir="model", exist_ok=True))
