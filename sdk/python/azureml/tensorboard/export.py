"""Runs as TensorBoard logs. Comes with TensorBoard."""

from azureml._internal.later import later_function

export_to_tensorboard = later_function("TensorBoard", "export_to_tensorboard")
