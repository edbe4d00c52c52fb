"""ContainerRegistry: where a container image comes from."""

from typing import Optional


class ContainerRegistry:
    """Address and login of a registry, kept as data. Example: `env.docker.base_image_registry.address = "host:5000"`"""

    def __init__(
        self, address: Optional[str] = None, username: Optional[str] = None, password: Optional[str] = None
    ) -> None:
        self.address, self.username, self.password = address, username, password
