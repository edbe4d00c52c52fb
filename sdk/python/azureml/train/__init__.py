"""Estimators and HyperDrive. Example: `from azureml.train.dnn import TensorFlow`"""
