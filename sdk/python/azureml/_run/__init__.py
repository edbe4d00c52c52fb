"""The parts of azureml.core.Run, one concern per module."""
