"""Submitting a ScriptRunConfig."""

import os
import secrets
import time
from typing import Any, Dict, List, Optional

from azureml._internal.later import not_yet
from azureml._submit.arguments import Resolved
from azureml._submit.environment import LONGEST_PREFIX, environment_of
from azureml._submit.source import git_properties, upload_source
from azureml.core._distributed import process_count
from azureml.core.script_run import ScriptRun
from azureml.exceptions import UserErrorException

RUN_TYPE = "azureml.scriptrun"


def submit_script(experiment: Any, config: Any, tags: Optional[Dict[str, Any]], parent: Optional[str]) -> ScriptRun:
    """Send the folder, resolve the arguments, post the run."""
    workspace = experiment.workspace
    check(config)
    resolved = Resolved(workspace)
    body = {
        "id": "{}_{}_{}".format(experiment.name[:LONGEST_PREFIX], int(time.time()), secrets.token_hex(4)),
        "experiment": experiment.name,
        "compute": config.run_config.target,
        "run_type": RUN_TYPE,
        "max_run_duration_seconds": int(config.run_config.max_run_duration_seconds),
        "properties": properties_of(config),
    }  # type: Dict[str, Any]
    body.update(what_to_run(config, resolved))
    body["snapshot"] = upload_source(workspace._api, config.source_directory)
    for name, reference in sorted((config.run_config.data_references or {}).items()):
        add_reference(resolved, name, reference)
    if tags:
        body["tags"] = {str(key): None if value is None else str(value) for key, value in tags.items()}
    if parent:
        body["parent"] = parent
    for name in ("inputs", "outputs"):
        if getattr(resolved, name):
            body[name] = getattr(resolved, name)
    body["environment"] = environment_of(config, experiment)
    body["definition"] = definition_of(config, body, resolved)
    view = workspace._api.post(workspace._path("runs"), body)
    return ScriptRun(experiment, view["id"], _view=view)


def check(config: Any) -> None:
    job, run_config = config.distributed_job_config, config.run_config
    if process_count(job) > 1 or int(run_config.node_count or 1) > 1 or run_config.communicator not in (None, "None"):
        raise not_yet("distributed jobs", "submitting a run with several processes")
    if config.script is not None:
        if not os.path.isdir(config.source_directory):
            raise UserErrorException("there is no folder {}".format(config.source_directory))
        if not os.path.isfile(os.path.join(config.source_directory, config.script)):
            raise UserErrorException("there is no script {} in {}".format(config.script, config.source_directory))


def what_to_run(config: Any, resolved: Resolved) -> Dict[str, Any]:
    if config.command is not None:
        return {"command": resolved.command(config.command)}
    arguments = resolved.arguments(config.arguments)
    if config.resume_from is not None:
        arguments += ["--resume-from", resolved.text(config.resume_from)]
    return {"script": os.path.normpath(config.script).replace(os.sep, "/"), "arguments": arguments}


def properties_of(config: Any) -> Dict[str, str]:
    found = git_properties(config.source_directory)
    found["azureml.runsource"] = "experiment"
    found["_azureml.ComputeTargetType"] = "local" if config.run_config.target == "local" else "amlcompute"
    return found


def add_reference(resolved: Resolved, name: str, reference: Any) -> None:
    """A data reference of the run configuration that no argument mentions."""
    if hasattr(reference, "_resolve"):
        reference._resolve(resolved)
    elif name not in resolved.inputs:
        told = {
            "datastore": reference.data_store_name,
            "path": reference.path_on_data_store or "",
            "mode": str(reference.mode or "mount").lower(),
            "path_on_compute": reference.path_on_compute,
        }
        resolved.add_input(name, told)


def definition_of(config: Any, body: Dict[str, Any], resolved: Resolved) -> Dict[str, Any]:
    """The runDefinition of get_details()."""
    definition = dict(config.run_config._to_json(), environment=config.run_config.environment._definition())
    environment = dict(body["environment"].get("definition") or definition.get("environment") or {})
    environment["name"] = body["environment"].get("name") or "Experiment {} Environment".format(body["experiment"])
    environment["version"] = body["environment"].get("version")
    definition.update(
        {
            "script": body.get("script"),
            "command": command_text(body.get("command")),
            "arguments": list(body.get("arguments") or []),
            "target": body["compute"],
            "dataReferences": references_of(resolved.inputs),
            "data": data_of(resolved.inputs),
            "outputData": dict(resolved.outputs),
            "jobName": body["id"],
            "environment": environment,
        }
    )
    return definition


def command_text(command: Optional[List[str]]) -> str:
    return command[-1] if command else ""


def references_of(inputs: Dict[str, Any]) -> Dict[str, Any]:
    return {
        name: {"dataStoreName": told["datastore"], "mode": told["mode"].capitalize(),
               "pathOnDataStore": told.get("path"), "pathOnCompute": told.get("path_on_compute"), "overwrite": False}
        for name, told in inputs.items() if "datastore" in told
    }  # fmt: skip


def data_of(inputs: Dict[str, Any]) -> Dict[str, Any]:
    return {
        name: {"dataLocation": {"dataset": {"id": told["dataset"]}}, "mechanism": told["mode"].capitalize(),
               "environmentVariableName": name, "pathOnCompute": told.get("path_on_compute"), "overwrite": False}
        for name, told in inputs.items() if "dataset" in told
    }  # fmt: skip
