"""ScriptRunConfig: a script, its folder, its arguments and where to run it."""

from typing import Any, List, Optional

from azureml.core.runconfig import DEFAULT_DURATION, RunConfiguration
from azureml.exceptions import UserErrorException

MAX_DURATION = 30 * 24 * 3600


class ScriptRunConfig:
    """What `experiment.submit` takes.

    Example:

        src = ScriptRunConfig(source_directory="./src", script="train.py", arguments=["--epochs", 3],
                              compute_target="cpu-cluster", environment=env)
        run = Experiment(ws, "mnist").submit(src)
    """

    MAX_DURATION_SECONDS_DEFAULT = MAX_DURATION

    def __init__(
        self, source_directory, script=None, arguments=None, run_config=None, _telemetry_values=None,
        compute_target=None, environment=None, distributed_job_config=None, resume_from=None,
        max_run_duration_seconds=DEFAULT_DURATION, command=None, docker_runtime_config=None,
    ):  # fmt: skip
        # type: (str, Optional[str], Optional[List[Any]], Any, Any, Any, Any, Any, Any, Optional[int], Any, Any) -> None
        if (script is None) == (command is None) and run_config is None:
            raise UserErrorException("give either script= or command=")
        if command is not None and (script is not None or arguments):
            raise UserErrorException("command= is the whole command line: it goes with neither script= nor arguments=")
        if run_config is not None and (compute_target is not None or environment is not None):
            raise UserErrorException("give compute_target= and environment= either here or in run_config=, not in both")
        self.source_directory = source_directory
        self.script, self.arguments, self.command = script, list(arguments or []), command
        self.run_config = run_config if run_config is not None else RunConfiguration()
        self.resume_from = resume_from
        self.distributed_job_config = distributed_job_config
        if run_config is None:
            self.run_config.target = compute_target
            self.run_config.max_run_duration_seconds = max_run_duration_seconds or DEFAULT_DURATION
            if environment is not None:
                self.run_config.environment = environment
        if docker_runtime_config is not None:
            self.run_config.docker = docker_runtime_config
        if run_config is not None and script is None and command is None:
            self.script, self.command = run_config.script, run_config.command
            self.arguments = self.arguments or list(run_config.arguments or [])

    @property
    def environment(self) -> Any:
        return self.run_config.environment

    def __repr__(self) -> str:
        return "ScriptRunConfig(source_directory={!r}, script={!r}, target={!r})".format(
            self.source_directory, self.script, self.run_config.target
        )


def get_run_config_from_script_run(script_run_config: ScriptRunConfig) -> RunConfiguration:
    """The run configuration inside. Example: `get_run_config_from_script_run(src).target`"""
    return script_run_config.run_config
