"""ResourceConfiguration: what a deployed model may use."""

from typing import Any, Dict, Optional


class ResourceConfiguration:
    """Processors, memory and GPUs. Example: `ResourceConfiguration(cpu=1, memory_in_gb=0.5)`"""

    def __init__(
        self, cpu: Optional[float] = None, memory_in_gb: Optional[float] = None, gpu: Optional[float] = None
    ) -> None:
        self.cpu, self.memory_in_gb, self.gpu = cpu, memory_in_gb, gpu

    def serialize(self) -> Dict[str, Any]:
        """As data. Example: `ResourceConfiguration(cpu=1).serialize()["cpu"]`"""
        return {"cpu": self.cpu, "memoryInGB": self.memory_in_gb, "gpu": self.gpu}

    def __repr__(self) -> str:
        return "ResourceConfiguration(cpu={}, memory_in_gb={}, gpu={})".format(self.cpu, self.memory_in_gb, self.gpu)
