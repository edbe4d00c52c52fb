"""experiment.submit: from a configuration to a run on the server."""

from typing import Any, Dict, Optional

from azureml._internal.later import not_yet
from azureml._internal.unused import unused
from azureml.exceptions import UserErrorException


def submit(experiment, config, tags, options, parent=None):
    # type: (Any, Any, Optional[Dict[str, Any]], Dict[str, Any], Optional[str]) -> Any
    """Start what `config` describes; see Experiment.submit."""
    from azureml.core.script_run_config import ScriptRunConfig

    show_output = options.pop("show_output", None)
    if hasattr(config, "_script_run_config"):  # estimators
        config = config._script_run_config(options)
    if not isinstance(config, ScriptRunConfig):
        name = type(config).__name__
        if name in ("Pipeline", "AutoMLConfig"):
            raise not_yet("pipelines" if name == "Pipeline" else "AutoML", "submitting a " + name)
        raise UserErrorException("a {} cannot be submitted; ScriptRunConfig and Estimator can".format(name))
    unused("Experiment.submit", **options)
    from azureml._submit.script import submit_script

    run = submit_script(experiment, config, tags, parent)
    if show_output:
        run.wait_for_completion(show_output=True)
    return run
