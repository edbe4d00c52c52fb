"""AmlCompute: a cluster whose nodes are slices of the machines that the site owns."""

import time
from typing import Any, Dict, List, Optional

from lathe.errors import LatheError, NotFound

from azureml._internal.unused import unused
from azureml.core.compute.compute import ComputeTarget
from azureml.core.compute.sizes import SIZES
from azureml.core.compute.status import AmlComputeStatus
from azureml.exceptions import ComputeTargetException


class AmlCompute(ComputeTarget):
    """A cluster.

    Example:

        config = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=4)
        cluster = ComputeTarget.create(ws, "cpu-cluster", config)
        cluster.wait_for_completion(show_output=True)
        print(cluster.get_status().serialize())
    """

    type = "AmlCompute"
    provisioning_state = "Succeeded"
    provisioning_errors = None
    location = "local"
    description = None
    tags = None

    @staticmethod
    def provisioning_configuration(
        vm_size="", vm_priority="dedicated", min_nodes=0, max_nodes=None, idle_seconds_before_scaledown=None, tags=None,
        description=None, vnet_resourcegroup_name=None, vnet_name=None, subnet_name=None, admin_username=None,
        admin_user_password=None, admin_user_ssh_key=None, remote_login_port_public_access=None, identity_type=None,
        identity_id=None, location=None, enable_node_public_ip=None,
    ):  # fmt: skip
        # type: (...) -> AmlComputeProvisioningConfiguration
        """What to make. Numbers may be text.

        Example: `AmlCompute.provisioning_configuration("STANDARD_NC6", max_nodes=4)`
        """
        unused(
            "AmlCompute.provisioning_configuration", tags=tags, description=description, vnet_name=vnet_name,
            vnet_resourcegroup_name=vnet_resourcegroup_name, subnet_name=subnet_name, admin_username=admin_username,
            admin_user_password=admin_user_password and "…", admin_user_ssh_key=admin_user_ssh_key and "…",
            remote_login_port_public_access=remote_login_port_public_access, identity_type=identity_type,
            identity_id=identity_id, location=location, enable_node_public_ip=enable_node_public_ip,
        )  # fmt: skip
        return AmlComputeProvisioningConfiguration(
            vm_size, vm_priority, min_nodes, max_nodes, idle_seconds_before_scaledown
        )

    @staticmethod
    def supported_vmsizes(workspace: Any, location: Optional[str] = None) -> List[Dict[str, Any]]:
        """The size names that are understood. Example: `AmlCompute.supported_vmsizes(ws)[0]["name"]`"""
        return [dict(size) for size in SIZES]

    # --- how it stands

    def get_status(self) -> AmlComputeStatus:
        """How many nodes there are and what they do. Example: `cluster.get_status().serialize()["currentNodeCount"]`"""
        self.refresh_state()
        return AmlComputeStatus(self._view)

    status = property(lambda self: self.get_status())
    vm_size = property(lambda self: self._view["vm_size"])
    vm_priority = property(lambda self: "LowPriority" if self._view["priority"] == "lowpriority" else "Dedicated")
    created_on = property(lambda self: self._view.get("created"))
    scale_settings = property(lambda self: AmlComputeStatus(self._view).scale_settings)

    @property
    def id(self) -> str:
        return "{}/computes/{}".format(self.workspace._arm_id, self.name)

    @property
    def notes(self) -> List[str]:
        """Of Lathe: how the size was fitted to the machine. Example: `print(cluster.notes)`"""
        return list(self._view.get("notes") or [])

    def refresh_state(self) -> None:
        """Ask the server anew. Example: `cluster.refresh_state()`"""
        try:
            self._view = self.workspace._api.get(self.workspace._path("computes", self.name))
        except NotFound:
            raise ComputeTargetException("the compute target {!r} is gone".format(self.name))

    def list_nodes(self) -> List[Dict[str, Any]]:
        """The nodes and what they do. Example: `[node["nodeState"] for node in cluster.list_nodes()]`"""
        self.refresh_state()
        nodes = []  # type: List[Dict[str, Any]]
        for state in ("running", "idle", "leaving"):
            for _ in range(self._view["nodes"][state]):
                nodes.append(
                    {
                        "nodeId": "{}-{}".format(self.name, len(nodes)), "port": 0, "publicIpAddress": "",
                        "privateIpAddress": "127.0.0.1", "nodeState": state, "runId": None,
                    }
                )  # fmt: skip
        return nodes

    # --- changing it

    def wait_for_completion(
        self, show_output=False, min_node_count=None, timeout_in_minutes=25, is_delete_operation=False
    ):
        # type: (bool, Optional[int], float, bool) -> None
        """Wait until it is ready, with `min_node_count` nodes.

        Example: `cluster.wait_for_completion(show_output=True)`
        """
        end = time.monotonic() + 60 * float(timeout_in_minutes)
        if show_output:
            print("Creating\nSucceeded", flush=True)
        wanted = min(int(min_node_count or 0), int(self._view["min_nodes"]))
        pause = 0.05
        while self._view["nodes"]["current"] < wanted and not is_delete_operation:
            if time.monotonic() > end:
                raise ComputeTargetException("{} nodes were not there in time".format(wanted))
            time.sleep(pause)
            pause = min(2 * pause, 2.0)
            self.refresh_state()
        if show_output:
            print("AmlCompute wait for completion finished\n", flush=True)
            print("Minimum number of nodes requested have been provisioned", flush=True)

    def update(self, min_nodes=None, max_nodes=None, idle_seconds_before_scaledown=None):
        # type: (Optional[int], Optional[int], Optional[int]) -> None
        """Change how it scales. Example: `cluster.update(max_nodes=2)`"""
        given = {"min_nodes": min_nodes, "max_nodes": max_nodes, "idle_seconds": idle_seconds_before_scaledown}
        body = {key: self._view[key] for key in ("vm_size", "min_nodes", "max_nodes", "idle_seconds", "priority")}
        body.update({key: int(value) for key, value in given.items() if value is not None})
        self._view = self.workspace._api.put(self.workspace._path("computes", self.name), body)

    def delete(self) -> None:
        """Remove it; a live run that uses it refuses that. Example: `cluster.delete()`"""
        try:
            self.workspace._api.delete(self.workspace._path("computes", self.name))
        except NotFound:
            pass
        except LatheError as problem:
            raise ComputeTargetException(str(problem), problem)

    def serialize(self) -> Dict[str, Any]:
        """As data. Example: `cluster.serialize()["name"]`"""
        return {"id": self.id, "name": self.name, "type": self.type, "location": self.location, "tags": self.tags,
                "provisioningState": self.provisioning_state, "status": self.get_status().serialize()}  # fmt: skip

    def __repr__(self) -> str:
        return (
            "AmlCompute(workspace={!r}, name={}, id={}, type={}, provisioning_state={}, location={}, tags={})".format(
                self.workspace, self.name, self.id, self.type, self.provisioning_state, self.location, self.tags
            )
        )


class AmlComputeProvisioningConfiguration:
    """What provisioning_configuration() gives. Example: `ComputeTarget.create(ws, "cpu-cluster", config)`"""

    def __init__(
        self, vm_size="", vm_priority="dedicated", min_nodes=0, max_nodes=None, idle_seconds_before_scaledown=None
    ):
        # type: (Any, Any, Any, Any, Any) -> None
        self.vm_size, self.vm_priority = vm_size, vm_priority
        self.min_nodes, self.max_nodes = number("min_nodes", min_nodes, 0), number("max_nodes", max_nodes, None)
        self.idle_seconds_before_scaledown = number(
            "idle_seconds_before_scaledown", idle_seconds_before_scaledown, None
        )

    def _create(self, workspace: Any, name: str) -> AmlCompute:
        body = {
            "vm_size": self.vm_size or None,
            "min_nodes": self.min_nodes,
            "max_nodes": self.max_nodes or max(1, self.min_nodes or 0),
            "idle_seconds": self.idle_seconds_before_scaledown,
            "priority": str(self.vm_priority or "dedicated").lower(),
        }
        try:
            view = workspace._api.put(workspace._path("computes", name), body)
        except LatheError as problem:
            raise ComputeTargetException(str(problem), problem)
        return from_view(workspace, view)


def number(name: str, value: Any, otherwise: Optional[int]) -> Optional[int]:
    """Numbers that came from environment variables are text."""
    try:
        return otherwise if value is None or value == "" else int(value)
    except (TypeError, ValueError):
        raise ComputeTargetException("{} is {!r}, which is no number".format(name, value))


def from_view(workspace: Any, view: Dict[str, Any]) -> AmlCompute:
    made = object.__new__(AmlCompute)
    made.workspace, made.name, made._view = workspace, view["name"], view
    return made
