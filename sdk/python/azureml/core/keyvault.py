"""Keyvault: the secrets of a workspace, kept encrypted by the server."""

from typing import Any, Dict, List

from lathe.errors import NotFound


class Keyvault:
    """Names and values.

    Example:

        keyvault = ws.get_default_keyvault()
        keyvault.set_secret("db-password", "…")
        keyvault.get_secret("db-password")
    """

    def __init__(self, workspace: Any) -> None:
        self.workspace = workspace

    def set_secret(self, name: str, value: str) -> None:
        """Keep one secret. Example: `keyvault.set_secret("key", "value")`"""
        self.workspace._api.put(self.workspace._path("secrets", name), {"value": str(value)})

    def set_secrets(self, secrets_batch: Dict[str, str]) -> None:
        """Keep several. Example: `keyvault.set_secrets({"a": "1", "b": "2"})`"""
        for name, value in secrets_batch.items():
            self.set_secret(name, value)

    def get_secret(self, name: str) -> Any:
        """The value, or None where there is no such secret. Example: `keyvault.get_secret("key")`"""
        try:
            return self.workspace._api.get(self.workspace._path("secrets", name))["value"]
        except NotFound:
            return None

    def get_secrets(self, secrets: List[str]) -> Dict[str, Any]:
        """Several values. Example: `keyvault.get_secrets(["a", "b"])["a"]`"""
        return {name: self.get_secret(name) for name in secrets}

    def list_secrets(self) -> List[Dict[str, str]]:
        """The names, never the values. Example: `[secret["name"] for secret in keyvault.list_secrets()]`"""
        return [{"name": item["name"]} for item in self.workspace._api.items(self.workspace._path("secrets"))]

    def delete_secret(self, name: str) -> None:
        """Forget one. Example: `keyvault.delete_secret("key")`"""
        self.workspace._api.delete(self.workspace._path("secrets", name))

    def delete_secrets(self, secrets: List[str]) -> None:
        """Forget several. Example: `keyvault.delete_secrets(["a", "b"])`"""
        for name in secrets:
            self.delete_secret(name)
