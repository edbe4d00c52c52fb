"""Ways to log in to Azure. Lathe knows people by their token (LATHE_TOKEN_FILE, or the one of `lathe up`), so these are
accepted and only carry their arguments.

Example: `ws = Workspace.from_config(auth=InteractiveLoginAuthentication())`
"""

from typing import Any, Dict


class AbstractAuthentication:
    """What all of them are. Example: `isinstance(auth, AbstractAuthentication)`"""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._arguments = (args, kwargs)

    def get_authentication_header(self) -> Dict[str, str]:
        """The header that requests carry. Example: `requests.get(url, headers=auth.get_authentication_header())`"""
        from lathe.server import find_server

        return {"Authorization": "Bearer " + find_server().locate().token}

    def get_token(self, *_scopes: Any) -> str:
        """The token that requests show. Example: `auth.get_token()`"""
        return self.get_authentication_header()["Authorization"][len("Bearer ") :]


class InteractiveLoginAuthentication(AbstractAuthentication):
    """Log in through a browser on Azure. Example: `InteractiveLoginAuthentication(tenant_id="…")`"""

    def __init__(self, force: bool = False, tenant_id: Any = None, cloud: Any = None) -> None:
        super(InteractiveLoginAuthentication, self).__init__(force, tenant_id, cloud)


class ServicePrincipalAuthentication(AbstractAuthentication):
    """Log in as a program on Azure. The password is not kept. Example: `ServicePrincipalAuthentication(t, i, p)`"""

    def __init__(self, tenant_id, service_principal_id, service_principal_password, cloud=None, _enable_caching=True):
        # type: (str, str, str, Any, bool) -> None
        super(ServicePrincipalAuthentication, self).__init__(tenant_id, service_principal_id)


class MsiAuthentication(AbstractAuthentication):
    """Log in as a machine on Azure. Example: `MsiAuthentication()`"""

    def __init__(self, identity_config: Any = None, cloud: Any = None) -> None:
        super(MsiAuthentication, self).__init__(identity_config, cloud)


class AzureCliAuthentication(AbstractAuthentication):
    """Log in as `az login` did. Example: `AzureCliAuthentication()`"""

    def __init__(self, cloud: Any = None) -> None:
        super(AzureCliAuthentication, self).__init__(cloud)


class TokenAuthentication(AbstractAuthentication):
    """A token of the caller's. Example: `TokenAuthentication(lambda audience: token)`"""

    def __init__(self, get_token_for_audience: Any, cloud: Any = None) -> None:
        super(TokenAuthentication, self).__init__()
