"""ComputeTarget: something that runs can be sent to, found by its name."""

from typing import Any, Dict, List

from lathe.errors import LatheError, NotFound

from azureml.exceptions import ComputeTargetException


class ComputeTarget:
    """A compute target of a workspace. `ComputeTarget(ws, name)` gives the object of the right class, or raises.

    Example:

        try:
            target = ComputeTarget(workspace=ws, name="gpu-cluster")
        except ComputeTargetException:
            config = AmlCompute.provisioning_configuration(vm_size="STANDARD_NC6", max_nodes=4)
            target = ComputeTarget.create(ws, "gpu-cluster", config)
    """

    type = "Unknown"

    def __new__(cls, workspace: Any, name: str) -> Any:
        from azureml.core.compute.amlcompute import AmlCompute

        return super(ComputeTarget, cls).__new__(AmlCompute)

    def __init__(self, workspace: Any, name: str) -> None:
        self.workspace, self.name = workspace, name
        try:
            self._view = workspace._api.get(workspace._path("computes", name))  # type: Dict[str, Any]
        except NotFound:
            raise ComputeTargetException(
                "ComputeTargetNotFound: Compute Target with name {} not found in provided workspace".format(name)
            )
        except LatheError as problem:
            raise ComputeTargetException(str(problem), problem)

    @staticmethod
    def create(workspace: Any, name: str, provisioning_configuration: Any) -> Any:
        """Make a compute target. Example: `ComputeTarget.create(ws, "cpu-cluster", config)`"""
        return provisioning_configuration._create(workspace, name)

    @staticmethod
    def attach(workspace: Any, name: str, attach_configuration: Any) -> Any:
        """Comes with remote machines."""
        from azureml._internal.later import not_yet

        raise not_yet("remote machines", "ComputeTarget.attach")

    @staticmethod
    def list(workspace: Any) -> List[Any]:
        """All compute targets. Example: `[target.name for target in ComputeTarget.list(ws)]`"""
        return [target for _, target in sorted(workspace.compute_targets.items())]

    def detach(self) -> None:
        """As delete(). Example: `target.detach()`"""
        self.delete()

    def delete(self) -> None:
        """Remove it. Example: `target.delete()`"""
        raise NotImplementedError
