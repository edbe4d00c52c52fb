"""Model: a registered model with its versions."""

import os
from typing import Any, Dict, List, Optional

from lathe.errors import NotFound

from azureml._internal.later import later_class, not_yet
from azureml.core.resource_configuration import ResourceConfiguration
from azureml.exceptions import ModelNotFoundException, UserErrorException, WebserviceException

InferenceConfig = later_class("web services", "InferenceConfig")
ModelPackage = later_class("web services", "ModelPackage")


class Model:
    """One version of a model; the newest unless a version or a filter says otherwise.

    Example:

        model = Model.register(ws, model_path="./model", model_name="tf-mnist", tags={"data": "mnist"})
        model = Model(ws, "tf-mnist")
        model.download(target_dir="./here", exist_ok=True)
    """

    class Framework:
        """Names of frameworks. Example: `model_framework=Model.Framework.TENSORFLOW`"""

        TENSORFLOW, SCIKITLEARN, ONNX, PYTORCH = "TensorFlow", "ScikitLearn", "Onnx", "PyTorch"
        TFKERAS, KERAS, XGBOOST, LIGHTGBM = "TfKeras", "Keras", "XGBoost", "LightGbm"
        MULTI, CUSTOM = "Multi", "Custom"

    def __init__(
        self, workspace, name=None, id=None, tags=None, properties=None, version=None, run_id=None,
        model_framework=None, expand=True, **kwargs
    ):  # fmt: skip
        # type: (Any, Optional[str], Optional[str], Any, Any, Any, Optional[str], Optional[str], bool, Any) -> None
        if kwargs:
            raise TypeError("Model() got unexpected arguments: {}".format(", ".join(sorted(kwargs))))
        if id is not None:
            name, _, number = id.rpartition(":")
            version = int(number)
        if name is None:
            raise WebserviceException("a model is found by its name or id")
        self.workspace = workspace
        self._view = find(workspace, name, version, tags, properties, run_id, model_framework)

    @staticmethod
    def _of_view(workspace: Any, view: Dict[str, Any]) -> "Model":
        made = object.__new__(Model)
        made.workspace, made._view = workspace, view
        return made

    # --- what it is

    name = property(lambda self: self._view["name"], doc="Its name.")
    version = property(lambda self: self._view["version"], doc="Its version, a number.")
    id = property(lambda self: "{}:{}".format(self.name, self.version), doc="`name:version`.")
    run_id = property(lambda self: self._view.get("run"), doc="The run that made it, or None.")
    description = property(lambda self: self._view.get("description"))
    tags = property(lambda self: dict(self._view.get("tags") or {}))
    properties = property(lambda self: dict(self._view.get("properties") or {}))
    model_framework = property(lambda self: self._view.get("framework"))
    model_framework_version = property(lambda self: self._view.get("framework_version"))
    created_time = property(lambda self: self._view.get("created"))
    created_by = property(lambda self: {"userName": self._view.get("created_by")})
    url = property(lambda self: "aml://asset/" + self._view["tree"], doc="Names the bytes by their digest.")
    mime_type = property(lambda self: "application/x-lathe-tree")
    unpack = property(lambda self: self._view.get("files", 1) > 1)

    @property
    def resource_configuration(self) -> Optional[ResourceConfiguration]:
        """What a deployment of it may use. Example: `model.resource_configuration.cpu`"""
        told = self._view.get("resource_configuration")
        return ResourceConfiguration(told.get("cpu"), told.get("memory_in_gb"), told.get("gpu")) if told else None

    @property
    def datasets(self) -> Dict[str, List[Any]]:
        """The datasets it was made from, by purpose. Example: `model.datasets["training"]`"""
        from azureml.core.dataset import Dataset

        found = {}  # type: Dict[str, List[Any]]
        for told in self._view.get("datasets") or []:
            found.setdefault(told.get("name") or "", []).append(Dataset.get_by_id(self.workspace, told["id"]))
        return found

    @property
    def run(self) -> Any:
        """The run that made it, or None. Example: `model.run.get_metrics()`"""
        return self.workspace.get_run(self.run_id) if self.run_id else None

    inspection = property(lambda self: self._view.get("inspection"), doc="Of Lathe: what a SavedModel offers.")

    def get_lineage(self) -> Dict[str, Any]:
        """Of Lathe: the run, snapshot and data it comes from, with digests. Example: `model.get_lineage()["run"]`"""
        return dict(self.workspace._api.get(self._path("lineage")))

    # --- registering and finding

    @staticmethod
    def register(
        workspace, model_path, model_name, tags=None, properties=None, description=None, datasets=None,
        model_framework=None, model_framework_version=None, child_paths=None, sample_input_dataset=None,
        sample_output_dataset=None, resource_configuration=None, **kwargs
    ):  # fmt: skip
        # type: (...) -> Model
        """Register a file or folder of this machine or of a datastore.

        Example: `Model.register(ws, "./model", "tf-mnist")`
        """
        if kwargs:
            raise TypeError("register() got unexpected arguments: {}".format(", ".join(sorted(kwargs))))
        from azureml._models.register import register_from_anywhere

        print("Registering model {}".format(model_name), flush=True)
        return register_from_anywhere(
            workspace, model_name, model_path, child_paths, tags=tags, properties=properties, description=description,
            datasets=datasets, framework=model_framework, framework_version=model_framework_version,
            sample_input_dataset=sample_input_dataset, sample_output_dataset=sample_output_dataset,
            resource_configuration=resource_configuration,
        )  # fmt: skip

    @staticmethod
    def list(workspace, name=None, tags=None, properties=None, run_id=None, latest=False, dataset_id=None, expand=True,
             page_count=255, model_framework=None):  # fmt: skip
        # type: (...) -> List[Model]
        """Models, newest first. Example: `Model.list(ws, tags=["area", ["data", "mnist"]], latest=True)`"""
        wanted, held = pairs_of(tags), pairs_of(properties)
        query = {
            "name": name,
            "tag": text_of(wanted),
            "property": text_of(held),
            "run": run_id,
            "framework": model_framework,
            "latest": True if latest else None,
            "limit": min(int(page_count), 500),
        }
        found = workspace._api.items(workspace._path("models"), **query)
        return [
            Model._of_view(workspace, view) for view in found
            if has(view["tags"], wanted) and has(view["properties"], held)
            and (dataset_id is None or any(told["id"] == dataset_id for told in view.get("datasets") or []))
        ]  # fmt: skip

    @staticmethod
    def get_model_path(model_name: str, version: Optional[int] = None, _workspace: Any = None) -> str:
        """Where the model is: inside a service its folder, elsewhere a download.

        Example: `Model.get_model_path("tf-mnist")`
        """
        base = os.environ.get("AZUREML_MODEL_DIR")
        if base:
            return path_in_service(base, model_name, version)
        if _workspace is None:
            from azureml.core.workspace import Workspace

            _workspace = Workspace.from_config()
        model = Model(_workspace, model_name, version=version)
        return model.download(os.path.join("azureml-models", model.name, str(model.version)), exist_ok=True)

    # --- using it

    def download(self, target_dir: str = ".", exist_ok: bool = False, exists_ok: Optional[bool] = None) -> str:
        """Fetch it; the path of its file or folder. Example: `model.download(target_dir="./here", exist_ok=True)`"""
        from azureml._data.trees import entries_of, fetch_tree

        entries = entries_of(self.workspace._api, self._view["tree"])
        tops = {entry.path.decode("utf-8").split("/")[0] for entry in entries}
        result = os.path.join(target_dir, next(iter(tops))) if len(tops) == 1 else target_dir
        may_exist = exist_ok if exists_ok is None else exists_ok
        if not may_exist and len(tops) == 1 and os.path.exists(result):
            raise WebserviceException("{} exists already\nhint: exist_ok=True".format(result))
        fetch_tree(self.workspace._api, self._view["tree"], entries, target_dir, may_exist)
        return result

    def delete(self) -> None:
        """Delete this version; its number is not used again. Example: `model.delete()`"""
        self.workspace._api.delete(self._path())

    def update(self, tags=None, description=None, sample_input_dataset=None, sample_output_dataset=None,
               resource_configuration=None):  # fmt: skip
        # type: (Any, Optional[str], Any, Any, Any) -> None
        """Replace the tags, change the description. Example: `model.update(tags={"stage": "done"})`"""
        if sample_input_dataset is not None or sample_output_dataset is not None or resource_configuration is not None:
            raise UserErrorException(
                "only tags and description of a registered model can change\nhint: register it again"
            )
        body = {} if description is None else {"description": description}  # type: Dict[str, Any]
        if tags is not None:
            body["tags"] = {name: None for name in self.tags if name not in tags}
            body["tags"].update({str(key): str(value) for key, value in tags.items()})
        if body.get("tags") == {}:
            body.pop("tags")
        if body:
            self._view = self.workspace._api.patch(self._path(), body)

    def add_tags(self, tags: Dict[str, Any]) -> None:
        """Add tags. Example: `model.add_tags({"stage": "done"})`"""
        self._view = self.workspace._api.patch(self._path(), {"tags": {str(k): str(v) for k, v in tags.items()}})

    def remove_tags(self, tags: List[str]) -> None:
        """Remove tags. Example: `model.remove_tags(["stage"])`"""
        self._view = self.workspace._api.patch(self._path(), {"tags": {name: None for name in tags}})

    def add_properties(self, properties: Dict[str, Any]) -> None:
        """Add properties, which never change afterwards. Example: `model.add_properties({"owner": "ann"})`"""
        told = {str(key): str(value) for key, value in properties.items()}
        self._view = self.workspace._api.patch(self._path(), {"properties": told})

    def serialize(self) -> Dict[str, Any]:
        """As data. Example: `model.serialize()["id"]`"""
        return {
            "id": self.id,
            "name": self.name,
            "version": self.version,
            "tags": self.tags,
            "properties": self.properties,
            "description": self.description,
            "runId": self.run_id,
            "framework": self.model_framework,
            "frameworkVersion": self.model_framework_version,
            "createdTime": self.created_time,
            "url": self.url,
        }

    def _path(self, *parts: str) -> str:
        return str(self.workspace._path("models", self.name, "versions", str(self.version), *parts))

    def __repr__(self) -> str:
        return "Model(workspace={!r}, name={}, id={}, version={}, tags={}, properties={})".format(
            self.workspace, self.name, self.id, self.version, self.tags, self.properties
        )

    # --- later

    @staticmethod
    def deploy(workspace, name, models, inference_config=None, deployment_config=None, deployment_target=None,
               overwrite=False, show_output=False):  # fmt: skip
        # type: (...) -> Any
        """Comes with web services."""
        raise not_yet("web services", "Model.deploy")

    @staticmethod
    def profile(workspace: Any, profile_name: str, models: Any, inference_config: Any, **more: Any) -> Any:
        """Comes with web services."""
        raise not_yet("web services", "Model.profile")

    @staticmethod
    def package(
        workspace: Any, models: Any, inference_config: Any = None, generate_dockerfile: bool = False, **more: Any
    ) -> Any:
        """Comes with web services."""
        raise not_yet("web services", "Model.package")


def find(workspace, name, version, tags, properties, run_id, framework):
    # type: (Any, str, Any, Any, Any, Optional[str], Optional[str]) -> Dict[str, Any]
    """The newest version that fits."""
    if version is not None:
        try:
            return dict(workspace._api.get(workspace._path("models", name, "versions", str(int(version)))))
        except NotFound:
            raise ModelNotFoundException("ModelNotFound: there is no version {} of a model {!r}".format(version, name))
    found = Model.list(workspace, name, tags, properties, run_id, model_framework=framework)
    if not found:
        raise ModelNotFoundException("ModelNotFound: there is no model {!r} that fits in the workspace".format(name))
    return max(found, key=lambda model: model.version)._view


def pairs_of(wanted: Any) -> List[Any]:
    """[(key, value or None)] of a dict, or of a list of keys and [key, value] pairs."""
    if not wanted:
        return []
    if isinstance(wanted, dict):
        return [(str(key), None if value is None else str(value)) for key, value in wanted.items()]
    if isinstance(wanted, str):
        return [(wanted, None)]
    return [(item, None) if isinstance(item, str) else (str(item[0]), str(item[1])) for item in wanted]


def text_of(pairs: List[Any]) -> Optional[str]:
    return None if not pairs else (pairs[0][0] if pairs[0][1] is None else "{}={}".format(*pairs[0]))


def has(found: Dict[str, Any], pairs: List[Any]) -> bool:
    return all(key in found and (value is None or found[key] == value) for key, value in pairs)


def path_in_service(base: str, name: str, version: Optional[int]) -> str:
    """AZUREML_MODEL_DIR is the folder of one model's version, or of several models."""
    folder = os.path.join(base, name)
    if os.path.isdir(folder):
        versions = sorted((int(entry) for entry in os.listdir(folder) if entry.isdigit()), reverse=True)
        folder = os.path.join(folder, str(version or versions[0])) if versions else folder
    else:
        folder = base
    entries = os.listdir(folder)
    return os.path.join(folder, entries[0]) if len(entries) == 1 else folder
