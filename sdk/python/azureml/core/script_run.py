"""ScriptRun: what submitting a ScriptRunConfig gives."""

from azureml.core.run import Run


class ScriptRun(Run):
    """The run of a script. Example: `isinstance(exp.submit(src), ScriptRun)`"""
