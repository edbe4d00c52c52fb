"""The azureml names that existing scripts import, on a Lathe server.

Example:

    from azureml.core import Workspace, Experiment, ScriptRunConfig
    ws = Workspace.from_config()
    run = Experiment(ws, "first").submit(ScriptRunConfig(source_directory="src", script="train.py"))
    run.wait_for_completion(show_output=True)
"""

# Scripts of 2019 use urllib.request after `import urllib` and `import azureml`.
import urllib.request  # noqa: F401
