"""AbstractDataset: a definition of data, which may be registered under a name. It refers: nothing is copied until
needed.
"""

import copy
import random
from typing import Any, Dict, List, Optional, Tuple

from lathe.errors import Conflict

from azureml.exceptions import UserErrorException


class AbstractDataset:
    """What file and tabular datasets share.

    Example:

        dataset = Dataset.File.from_files((store, "mnist")).take(10)
        dataset = dataset.register(ws, "mnist", create_new_version=True)
        print(dataset.name, dataset.version, dataset.id)
    """

    def __init__(self, definition, workspace=None, registered=None, saved_id=None):
        # type: (Dict[str, Any], Any, Optional[Dict[str, Any]], Optional[str]) -> None
        self._definition = definition
        self._workspace = workspace
        self._registered = registered or {}
        self._saved_id = saved_id or self._registered.get("id")

    # --- what it is

    @property
    def id(self) -> Optional[str]:
        """The id of the saved definition; None before it is registered or used.

        Example: `Dataset.get_by_id(ws, ds.id)`
        """
        if self._saved_id is None and self._workspace is not None:
            self._save(self._workspace)
        return self._saved_id

    name = property(lambda self: self._registered.get("name"), doc="The registered name, or None.")
    version = property(lambda self: self._registered.get("version"), doc="The registered version, a number, or None.")
    description = property(lambda self: self._registered.get("description"))
    tags = property(lambda self: dict(self._registered.get("tags") or {}))
    workspace = property(lambda self: self._workspace)

    def _save(self, workspace: Any) -> str:
        """Keep the definition on the server; equal definitions have equal ids."""
        if self._saved_id is None or workspace != self._workspace:
            told = workspace._api.post(workspace._path("datasets"), {"definition": self._definition})
            self._saved_id, self._workspace = str(told["id"]), self._workspace or workspace
            return str(told["id"])
        return self._saved_id

    def _need_workspace(self, what: str) -> Any:
        if self._workspace is None:
            raise UserErrorException(
                "{} needs a workspace\nhint: register the dataset first: dataset.register(ws, name)".format(what)
            )
        return self._workspace

    # --- registering

    def register(self, workspace, name, description=None, tags=None, create_new_version=False):
        # type: (Any, str, Optional[str], Optional[Dict[str, str]], bool) -> Any
        """Keep it under a name. Example: `dataset = dataset.register(ws, "mnist", create_new_version=True)`"""
        body = {"id": self._save(workspace), "description": description, "tags": tags,
                "create_new_version": bool(create_new_version)}  # fmt: skip
        body = {key: value for key, value in body.items() if value is not None}
        try:
            view = workspace._api.post(workspace._path("datasets", name, "versions"), body)
        except Conflict as problem:
            raise UserErrorException(
                "the dataset {!r} exists with another definition\nhint: create_new_version=True".format(name), problem
            )
        return type(self)(view["definition"], workspace, view)

    def unregister_all_versions(self) -> None:
        """Forget the name. Example: `dataset.unregister_all_versions()`"""
        workspace = self._need_workspace("unregistering")
        workspace._api.delete(workspace._path("datasets", self._need_name()))
        self._registered = {}

    def update(self, description: Optional[str] = None, tags: Optional[Dict[str, str]] = None) -> Any:
        """Change the description, replace the tags. Example: `dataset.update(description="digits")`"""
        body = {}  # type: Dict[str, Any]
        if description is not None:
            body["description"] = description
        if tags is not None:
            body["tags"] = {name: None for name in self.tags if name not in tags}
            body["tags"].update(tags)
        return self._patch(body)

    def add_tags(self, tags: Optional[Dict[str, str]] = None) -> Any:
        """Add tags. Example: `dataset.add_tags({"kind": "images"})`"""
        return self._patch({"tags": dict(tags or {})})

    def remove_tags(self, tags: Optional[List[str]] = None) -> Any:
        """Remove tags. Example: `dataset.remove_tags(["kind"])`"""
        return self._patch({"tags": {name: None for name in tags or []}})

    def _patch(self, body: Dict[str, Any]) -> Any:
        workspace = self._need_workspace("changing it")
        if body.get("tags") == {}:
            body.pop("tags")
        if body:
            path = workspace._path("datasets", self._need_name())
            self._registered = workspace._api.patch(path, body, version=self.version)
        return self

    def _need_name(self) -> str:
        if not self.name:
            raise UserErrorException("this dataset is not registered\nhint: dataset.register(ws, name)")
        return str(self.name)

    # --- parts of it

    def take(self, count: int) -> Any:
        """The first files or rows. Example: `dataset.take(10)`"""
        return self._with({"take": int(count)})

    def skip(self, count: int) -> Any:
        """Without the first files or rows. Example: `dataset.skip(10)`"""
        return self._with({"skip": int(count)})

    def take_sample(self, probability: float, seed: Optional[int] = None) -> Any:
        """Each file or row with this probability. Example: `dataset.take_sample(0.1, seed=7)`"""
        return self._with({"sample": {"probability": checked(probability), "seed": settled(seed)}})

    def random_split(self, percentage: float, seed: Optional[int] = None) -> Tuple[Any, Any]:
        """Two parts that make up the whole. Example: `train, test = dataset.random_split(0.8, seed=7)`"""
        told = {"percentage": checked(percentage), "seed": settled(seed)}
        return self._with({"split": dict(told, part=0)}), self._with({"split": dict(told, part=1)})

    def _with(self, step: Dict[str, Any]) -> Any:
        definition = copy.deepcopy(self._definition)
        definition.setdefault("steps", []).append(step)
        return type(self)(definition, self._workspace)

    # --- as input of a run

    def as_named_input(self, name: str) -> Any:
        """A name for it in the run. Example: `dataset.as_named_input("mnist").as_mount()`"""
        from azureml.data.dataset_consumption_config import DatasetConsumptionConfig

        return DatasetConsumptionConfig(name, self)

    def _resolve(self, resolved: Any) -> str:
        """In arguments: the id of the dataset."""
        from azureml._data.names import random_name

        return str(self.as_named_input(random_name())._resolve(resolved))

    def __repr__(self) -> str:
        import json

        return "{}\n{}".format(type(self).__name__, json.dumps({"definition": self._definition, "registration": {
            "id": self._saved_id, "name": self.name, "version": self.version}}, indent=2))  # fmt: skip


def checked(share: float) -> float:
    if not 0 <= float(share) <= 1:
        raise UserErrorException("{} is no share: it lies between 0 and 1".format(share))
    return float(share)


def settled(seed: Optional[int]) -> int:
    """A definition says the same for ever, so a seed that was not given is chosen now."""
    return random.SystemRandom().randrange(2**31) if seed is None else int(seed)
