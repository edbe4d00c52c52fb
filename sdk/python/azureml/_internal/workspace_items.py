"""The collections of a workspace: experiments, compute targets, datastores, datasets, models, environments, secrets."""

from typing import TYPE_CHECKING, Any, Dict

from azureml._internal.later import not_yet


class WorkspaceItems:
    """A part of Workspace."""

    if TYPE_CHECKING:  # the rest of Workspace

        def __getattr__(self, name: str) -> Any: ...

    @property
    def experiments(self) -> Dict[str, Any]:
        """Experiments by name. Example: `list(ws.experiments)`"""
        from azureml.core.experiment import Experiment

        return {view["name"]: Experiment(self, view["name"]) for view in self._api.items(self._path("experiments"))}

    @property
    def compute_targets(self) -> Dict[str, Any]:
        """Compute targets by name. Example: `ws.compute_targets["cpu-cluster"].get_status()`"""
        from azureml.core.compute.amlcompute import from_view

        return {view["name"]: from_view(self, view) for view in self._api.items(self._path("computes"))}

    @property
    def datastores(self) -> Dict[str, Any]:
        """Datastores by name. Example: `ws.datastores["workspaceblobstore"]`"""
        from azureml.core.datastore import datastore_of

        return {view["name"]: datastore_of(self, view) for view in self._api.items(self._path("datastores"))}

    def get_default_datastore(self) -> Any:
        """The datastore that is meant when none is named. Example: `ws.get_default_datastore().upload("data")`"""
        from azureml.core.datastore import datastore_of

        return datastore_of(self, self._api.get(self._path("default-datastore")))

    def set_default_datastore(self, name: str) -> None:
        """Choose the default datastore. Example: `ws.set_default_datastore("workspaceblobstore")`"""
        self._api.put(self._path("default-datastore"), {"name": str(getattr(name, "name", name))})

    @property
    def datasets(self) -> Dict[str, Any]:
        """The newest version of each registered dataset. Example: `ws.datasets["mnist-dataset"].version`"""
        from azureml.core.dataset import dataset_of_version

        return {view["name"]: dataset_of_version(self, view) for view in self._api.items(self._path("datasets"))}

    @property
    def models(self) -> Dict[str, Any]:
        """The newest version of each model. Example: `ws.models["tf-mnist"].version`"""
        from azureml.core.model import Model

        return {model.name: model for model in Model.list(self, latest=True)}

    @property
    def environments(self) -> Dict[str, Any]:
        """Environments by name, curated ones among them. Example: `ws.environments["AzureML-Minimal"]`"""
        from azureml.core.environment import Environment

        return Environment.list(self)

    def get_default_keyvault(self) -> Any:
        """The secrets of the workspace. Example: `ws.get_default_keyvault().set_secret("key", "value")`"""
        from azureml.core.keyvault import Keyvault

        return Keyvault(self)

    def get_run(self, run_id: str) -> Any:
        """A run by its id. Example: `ws.get_run("mnist_1550603179_109029bb").get_status()`"""
        from azureml.core.run import Run

        return Run.get(self, run_id)

    @property
    def webservices(self) -> Dict[str, Any]:
        """Comes with web services."""
        raise not_yet("web services", "Workspace.webservices")

    @property
    def images(self) -> Dict[str, Any]:
        """Comes with images."""
        raise not_yet("images", "Workspace.images")

    def get_default_compute_target(self, type: str) -> Any:
        """None: a workspace has no default compute target. Example: `ws.get_default_compute_target("CPU")`"""
        return None
