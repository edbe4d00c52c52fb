"""The environment of a submitted run: what is registered, and what the server is told to build."""

import copy
import os
import sys
from typing import Any, Dict, Optional

from lathe.errors import NotFound

from azureml._internal.unused import unused
from azureml.exceptions import UserErrorException

LONGEST_PREFIX = 230  # names of environments have a limit of about 256
CURATED = ("azureml", "microsoft")


def environment_of(config: Any, experiment: Any) -> Dict[str, Any]:
    """Name, version and definition of what to build, the variables, and the interpreter where it is the user's own."""
    env, run_config = config.run_config.environment, config.run_config
    told = {"interpreter": interpreter_of(env, run_config.target)}  # type: Dict[str, Any]
    told["variables"] = {str(key): str(value) for key, value in (env.environment_variables or {}).items()}
    if not is_untouched(env):
        if not wants_image(env, run_config.docker):
            unused("docker", arguments=env.docker.arguments or run_config.docker.arguments or None,
                   shm_size=env.docker.shm_size or run_config.docker.shm_size)  # fmt: skip
        told.update(definition_told(experiment, env, run_config.docker))
    return {key: value for key, value in told.items() if value is not None}


def wants_image(env: Any, docker: Any) -> bool:
    """Whether a container is asked for, so that its settings mean something."""
    return bool(env.docker.enabled or env.docker.base_dockerfile or (docker is not None and docker.use_docker))


def definition_told(experiment: Any, env: Any, docker: Any) -> Dict[str, Any]:
    """Curated ones are known by name; others are registered, and sent as the run's docker settings change them."""
    if is_curated(env.name):
        view = check_unchanged(experiment.workspace, env)
        definition, version = view["definition"], str(env.version or view["version"])
        changed = with_docker(definition, docker)
        return {"name": env.name, "version": version, "definition": None if changed == definition else changed}
    name = env.name or "Experiment {} Environment".format(experiment.name[:LONGEST_PREFIX])
    definition = dict(env._definition(), name=name)
    version = register(experiment.workspace, name, definition)
    return {"name": name, "version": version, "definition": with_docker(definition, docker)}


def register(workspace: Any, name: str, definition: Dict[str, Any]) -> Optional[str]:
    """Each environment that a run uses is kept."""
    try:
        return str(workspace._api.put(workspace._path("environments", name), {"definition": definition})["version"])
    except NotFound:
        return None  # a server that keeps no environments


def is_untouched(env: Any) -> bool:
    """No environment was asked for: the run gets a Python of the machine with our SDK."""
    from azureml.core.environment import Environment

    fresh = Environment(None)
    return env.name is None and env.python == fresh.python and env.docker == fresh.docker


def is_curated(name: Optional[str]) -> bool:
    return bool(name) and str(name).lower().startswith(CURATED)


def check_unchanged(workspace: Any, env: Any) -> Dict[str, Any]:
    """A curated environment is used as it is: under its name a changed one would be taken for the original."""
    from azureml.core.environment import Environment

    try:
        view = workspace._api.get(workspace._path("environments", env.name))
    except NotFound:
        raise UserErrorException(
            "there is no curated environment {!r}\nhint: list(Environment.list(ws)) shows them; names of your own do not "
            "begin with AzureML or Microsoft".format(env.name)
        )
    if what_is_built(env) != what_is_built(Environment._of_view(view)):
        raise UserErrorException(
            "the curated environment {!r} was changed\nhint: env = env.clone('a-name-of-your-own')".format(env.name)
        )
    return dict(view)


def what_is_built(env: Any) -> Any:
    return env.python._to_json(), env.docker.base_image, env.docker.base_dockerfile


def with_docker(definition: Dict[str, Any], docker: Any) -> Dict[str, Any]:
    """DockerConfiguration(use_docker=True) of the run switches the container on, with its settings."""
    if docker is None or not docker.use_docker:
        return definition
    changed = copy.deepcopy(definition)
    section = changed.setdefault("docker", {})
    section["enabled"], section["sharedVolumes"] = True, bool(docker.shared_volumes)
    section["arguments"] = list(section.get("arguments") or []) + list(docker.arguments or [])
    section["shmSize"] = docker.shm_size or section.get("shmSize")
    return changed


def interpreter_of(env: Any, target: str) -> Optional[str]:
    """An interpreter of the user's own where there is one. In an image it is the image's, which the server finds."""
    if not env.python.user_managed_dependencies or env.docker.enabled:
        return None
    path = env.python.interpreter_path or "python"
    if os.path.isabs(path):
        return str(path)
    return sys.executable if target == "local" else None
