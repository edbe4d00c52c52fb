"""Collecting what services are asked. Comes with web services.

Example: `from azureml.monitoring import ModelDataCollector`
"""

from azureml._internal.later import later_class

ModelDataCollector = later_class("web services", "ModelDataCollector")
