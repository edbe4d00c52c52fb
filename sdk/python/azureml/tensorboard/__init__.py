"""TensorBoard over runs. Comes with MLflow and TensorBoard. Example: `from azureml.tensorboard import Tensorboard`"""

from azureml._internal.later import later_class

Tensorboard = later_class("TensorBoard", "Tensorboard")
