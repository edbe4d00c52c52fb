"""The status of a cluster under the vendor's names."""

from typing import Any, Dict


class AmlComputeStatus:
    """How a cluster stands. Example: `cluster.get_status().serialize()["allocationState"]`"""

    def __init__(self, view: Dict[str, Any]) -> None:
        self._view = view
        self.current_node_count = view["nodes"]["current"]
        self.target_node_count = view["nodes"]["target"]
        self.provisioning_state = "Succeeded"
        self.errors = None

    @property
    def allocation_state(self) -> str:
        """`Steady`, or `Resizing` while nodes come or go."""
        return "Steady" if self.current_node_count == self.target_node_count else "Resizing"

    @property
    def scale_settings(self) -> Dict[str, Any]:
        return {
            "minNodeCount": self._view["min_nodes"],
            "maxNodeCount": self._view["max_nodes"],
            "nodeIdleTimeBeforeScaleDown": "PT{}S".format(self._view["idle_seconds"]),
        }

    def serialize(self) -> Dict[str, Any]:
        """All of it as data. Example: `status.serialize()["nodeStateCounts"]["idleNodeCount"]`"""
        nodes, created = self._view["nodes"], self._view.get("created")
        return {
            "currentNodeCount": self.current_node_count,
            "targetNodeCount": self.target_node_count,
            "nodeStateCounts": {
                "preparingNodeCount": max(0, nodes["target"] - nodes["current"]),
                "runningNodeCount": nodes["running"],
                "idleNodeCount": nodes["idle"],
                "unusableNodeCount": 0,
                "leavingNodeCount": nodes["leaving"],
                "preemptedNodeCount": 0,
            },
            "allocationState": self.allocation_state,
            "allocationStateTransitionTime": created,
            "errors": self.errors,
            "creationTime": created,
            "modifiedTime": created,
            "provisioningState": self.provisioning_state,
            "provisioningStateTransitionTime": None,
            "scaleSettings": self.scale_settings,
            "vmPriority": "LowPriority" if self._view["priority"] == "lowpriority" else "Dedicated",
            "vmSize": self._view["vm_size"],
        }

    def __repr__(self) -> str:
        return "AmlComputeStatus({!r})".format(self.serialize())
