"""Workspace: where experiments, data, models and compute targets of a project live, on a Lathe server."""

import uuid
from typing import Any, Dict, List, Optional

from lathe.errors import NotFound
from lathe.server import find_server

from azureml._internal import workspace_config
from azureml._internal.api import Api
from azureml._internal.later import not_yet
from azureml._internal.show import html_table
from azureml._internal.unused import unused
from azureml._internal.workspace_items import WorkspaceItems
from azureml.exceptions import WorkspaceException

FIRST_PATIENCE = 10.0  # seconds; nobody wants to wait a minute to hear that no server runs


class Workspace(WorkspaceItems):
    """One workspace.

    Example:

        ws = Workspace.from_config()
        print(ws.name, ws.resource_group, ws.location, ws.subscription_id, sep="\\n")
    """

    def __init__(
        self, subscription_id, resource_group, workspace_name, auth=None, _location=None, _disable_service_check=False,
        _workspace_id=None, sku="basic", tags=None, _cloud="AzureCloud", _lathe=None,
    ):  # fmt: skip
        # type: (Optional[str], Optional[str], str, Any, Any, bool, Any, str, Any, str, Optional[Dict[str, Any]]) -> None
        self._lathe = _lathe or {}
        self._auth = auth
        self._api = Api(find_server(self._lathe))
        self._name = str(workspace_name)
        try:
            self._view = self._api.retry(lambda: self._look(), FIRST_PATIENCE)
        except NotFound:
            raise WorkspaceException(
                "there is no workspace {!r} on {}\nhint: Workspace.create(name={!r}, exist_ok=True), or in a terminal: "
                "lathe workspace init {}".format(self._name, self._api.server.url(), self._name, self._name)
            )
        self._subscription_id, self._resource_group = str(subscription_id or ""), str(resource_group or "")

    def _look(self) -> Dict[str, Any]:
        answer = self._api.send("GET", self._api.path("workspaces", self._name), patience=0)
        import json

        return dict(json.loads(answer.body.decode("utf-8")))

    # --- finding and making

    @staticmethod
    def from_config(path=None, auth=None, _logger=None, _file_name=None):
        # type: (Optional[str], Any, Any, Optional[str]) -> Workspace
        """The workspace that config.json names: in `path`, or in this folder, `.azureml/`, `aml_config/` or a parent.

        Example: `ws = Workspace.from_config()`
        """
        config = workspace_config.find(path, _file_name)
        return Workspace(
            config.get("subscription_id"), config.get("resource_group"), config["workspace_name"], auth,
            _lathe=config.get("lathe"),
        )  # fmt: skip

    @staticmethod
    def get(name, auth=None, subscription_id=None, resource_group=None, location=None, cloud=None, id=None):
        # type: (str, Any, Optional[str], Optional[str], Any, Any, Any) -> Workspace
        """The workspace of that name; WorkspaceException if there is none. Example: `Workspace.get("myworkspace")`"""
        return Workspace(subscription_id, resource_group, name, auth)

    @staticmethod
    def create(
        name, auth=None, subscription_id=None, resource_group=None, location=None, create_resource_group=True, sku=None,
        tags=None, friendly_name=None, storage_account=None, key_vault=None, app_insights=None, container_registry=None,
        adb_workspace=None, primary_user_assigned_identity=None, cmk_keyvault=None, resource_cmk_uri=None,
        hbi_workspace=None, default_cpu_compute_target=None, default_gpu_compute_target=None,
        private_endpoint_config=None, private_endpoint_auto_approval=None, exist_ok=False, show_output=True,
        user_assigned_identity_for_cmk_encryption=None, system_datastores_auth_mode=None, v1_legacy_mode=None,
    ):  # fmt: skip
        # type: (...) -> Workspace
        """Make a workspace. Example: `ws = Workspace.create("myworkspace", exist_ok=True)`"""
        unused(
            "Workspace.create", location=location, sku=sku, tags=tags, friendly_name=friendly_name,
            storage_account=storage_account, key_vault=key_vault, app_insights=app_insights,
            container_registry=container_registry, adb_workspace=adb_workspace,
            primary_user_assigned_identity=primary_user_assigned_identity, cmk_keyvault=cmk_keyvault,
            resource_cmk_uri=resource_cmk_uri, hbi_workspace=hbi_workspace,
            default_cpu_compute_target=default_cpu_compute_target,
            default_gpu_compute_target=default_gpu_compute_target, private_endpoint_config=private_endpoint_config,
            private_endpoint_auto_approval=private_endpoint_auto_approval,
            user_assigned_identity_for_cmk_encryption=user_assigned_identity_for_cmk_encryption,
            system_datastores_auth_mode=system_datastores_auth_mode, v1_legacy_mode=v1_legacy_mode,
        )  # fmt: skip
        api = Api(find_server(), FIRST_PATIENCE)
        if not exist_ok:
            try:
                api.get(api.path("workspaces", name))
            except NotFound:
                pass
            else:
                raise WorkspaceException(
                    "the workspace {!r} exists\nhint: Workspace.create(…, exist_ok=True)".format(name)
                )
        body = {"subscription_id": subscription_id, "resource_group": resource_group}
        api.put(api.path("workspaces", name), {key: value for key, value in body.items() if value})
        return Workspace(subscription_id, resource_group, name, auth)

    @staticmethod
    def list(subscription_id=None, auth=None, resource_group=None):
        # type: (Optional[str], Any, Optional[str]) -> Dict[str, List[Workspace]]
        """The workspaces of the server, by name. Example: `list(Workspace.list())`"""
        api = Api(find_server(), FIRST_PATIENCE)
        found = {}  # type: Dict[str, List[Workspace]]
        for view in api.items(api.path("workspaces")):
            found[view["name"]] = [Workspace(view["subscription_id"], view["resource_group"], view["name"], auth)]
        return found

    def write_config(self, path: Optional[str] = None, file_name: Optional[str] = None) -> None:
        """Write .azureml/config.json, which from_config() reads. It names the server, never the token itself.

        Example: `ws.write_config()`
        """
        workspace_config.write(self, path, file_name)

    # --- what it is

    name = property(lambda self: self._name, doc="The name. Example: `ws.name`")
    location = property(lambda self: "local", doc="Always `local`: it is where the server is.")
    sku = property(lambda self: "basic")
    tags = property(lambda self: {})
    discovery_url = property(lambda self: self._api.server.url())
    service_context = property(lambda self: self)

    @property
    def subscription_id(self) -> str:
        """As it was given when the workspace was made, else zeros. Example: `ws.subscription_id`"""
        return str(self._view.get("subscription_id") or self._subscription_id or uuid.UUID(int=0))

    @property
    def resource_group(self) -> str:
        """As it was given when the workspace was made. Example: `ws.resource_group`"""
        return str(self._view.get("resource_group") or self._resource_group or "lathe")

    @property
    def _arm_id(self) -> str:
        return "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.MachineLearningServices/workspaces/{}".format(
            self.subscription_id, self.resource_group, self._name
        )

    def get_details(self) -> Dict[str, Any]:
        """What there is to say about it, under the vendor's names. Example: `ws.get_details()["workspaceid"]`"""
        return {
            "id": self._arm_id, "name": self._name, "location": self.location, "sku": self.sku, "tags": {},
            "type": "Microsoft.MachineLearningServices/workspaces", "workspaceid": self._workspace_id,
            "description": "", "friendlyName": self._name, "creationTime": self._view["created"],
            "containerRegistry": "", "keyVault": "", "applicationInsights": "", "identityPrincipalId": "",
            "identityTenantId": "", "identityType": "SystemAssigned", "storageAccount": "",
            "discoveryUrl": self.discovery_url,
        }  # fmt: skip

    @property
    def _workspace_id(self) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, self._api.server.url() + self._arm_id))

    def get_mlflow_tracking_uri(self, with_auth: bool = False) -> str:
        """Comes with MLflow. Example: `mlflow.set_tracking_uri(ws.get_mlflow_tracking_uri())`"""
        raise not_yet("MLflow", "Workspace.get_mlflow_tracking_uri")

    def delete(self, delete_dependent_resources: bool = False, no_wait: bool = False) -> None:
        """Not offered: a workspace holds everybody's runs."""
        raise not_yet("deleting workspaces", "Workspace.delete")

    def _path(self, *parts: str) -> str:
        return self._api.path("workspaces", self._name, *parts)

    def __repr__(self) -> str:
        return "Workspace.create(name={!r}, subscription_id={!r}, resource_group={!r})".format(
            self._name, self.subscription_id, self.resource_group
        )

    def _repr_html_(self) -> str:
        pairs = [("Name", self._name), ("Subscription", self.subscription_id), ("Resource group", self.resource_group)]
        return html_table(pairs + [("Server", self.discovery_url)], ("Server",))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Workspace) and (self._name, self.discovery_url) == (other._name, other.discovery_url)

    def __hash__(self) -> int:
        return hash(self._name)
