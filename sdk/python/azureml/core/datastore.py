"""Datastore: finding and registering the datastores of a workspace."""

from typing import Any, Dict, Optional

from lathe.errors import NotFound

from azureml._internal.unused import unused
from azureml.data.azure_storage_datastore import AzureBlobDatastore, AzureFileDatastore, LocalDatastore
from azureml.exceptions import UserErrorException


class Datastore:
    """A datastore by name.

    Example:

        store = Datastore.get(ws, "workspaceblobstore")
        store = Datastore.register_local(ws, "scans", "/srv/scans")
    """

    def __new__(cls, workspace: Any, name: Optional[str] = None) -> Any:
        return cls.get(workspace, name) if name else cls.get_default(workspace)

    @staticmethod
    def get(workspace: Any, datastore_name: str) -> Any:
        """The datastore of that name, or an exception. Example: `Datastore.get(ws, "workspacefilestore")`"""
        try:
            return datastore_of(workspace, workspace._api.get(workspace._path("datastores", datastore_name)))
        except NotFound:
            raise UserErrorException(
                "there is no datastore {!r} in the workspace; there are {}".format(
                    datastore_name, ", ".join(sorted(workspace.datastores))
                )
            )

    @staticmethod
    def get_default(workspace: Any) -> Any:
        """The one that is meant when none is named. Example: `Datastore.get_default(ws)`"""
        return workspace.get_default_datastore()

    @staticmethod
    def register_local(workspace: Any, datastore_name: str, folder: str, writable: bool = False) -> Any:
        """Of Lathe: a folder of the server's machine, below a root that the site lists; needs an administrator's token.

        Example: `Datastore.register_local(ws, "scans", "/srv/scans")`
        """
        return put(workspace, datastore_name, {"kind": "local", "path": folder, "writable": writable, "type": "Local"})

    @staticmethod
    def register_azure_blob_container(
        workspace, datastore_name, container_name, account_name, sas_token=None, account_key=None, protocol=None,
        endpoint=None, overwrite=False, create_if_not_exists=False, skip_validation=False, blob_cache_timeout=None,
        grant_workspace_access=False, subscription_id=None, resource_group=None,
    ):  # fmt: skip
        # type: (...) -> Any
        """Keep the definition of a blob container, without its key; reading it comes with 'object stores'.

        Example: `Datastore.register_azure_blob_container(ws, "blobs", "container", "account")`
        """
        unused("register_azure_blob_container", sas_token=sas_token and "…", account_key=account_key and "…",
               blob_cache_timeout=blob_cache_timeout)  # fmt: skip
        told = {
            "container_name": container_name,
            "account_name": account_name,
            "protocol": protocol,
            "endpoint": endpoint,
        }
        return cloud(workspace, datastore_name, "AzureBlob", told)

    @staticmethod
    def register_azure_file_share(
        workspace, datastore_name, file_share_name, account_name, sas_token=None, account_key=None, protocol=None,
        endpoint=None, overwrite=False, create_if_not_exists=False, skip_validation=False,
    ):  # fmt: skip
        # type: (...) -> Any
        """Keep the definition of a file share, without its key.

        Example: `Datastore.register_azure_file_share(ws, "f", "s", "a")`
        """
        unused("register_azure_file_share", sas_token=sas_token and "…", account_key=account_key and "…")
        told = {
            "container_name": file_share_name,
            "account_name": account_name,
            "protocol": protocol,
            "endpoint": endpoint,
        }
        return cloud(workspace, datastore_name, "AzureFile", told)

    @staticmethod
    def register_azure_data_lake_gen2(workspace, datastore_name, filesystem, account_name, tenant_id=None,
                                      client_id=None, client_secret=None, resource_url=None, authority_url=None,
                                      protocol=None, endpoint=None, overwrite=False):  # fmt: skip
        # type: (...) -> Any
        """Keep the definition of a data lake, without its secret.

        Example: `register_azure_data_lake_gen2(ws, "l", "fs", "a")`
        """
        unused("register_azure_data_lake_gen2", client_secret=client_secret and "…")
        return cloud(
            workspace, datastore_name, "AzureDataLakeGen2", {"filesystem": filesystem, "account_name": account_name}
        )

    @staticmethod
    def register_azure_data_lake(workspace, datastore_name, store_name, tenant_id=None, client_id=None,
                                 client_secret=None, resource_url=None, authority_url=None, subscription_id=None,
                                 resource_group=None, overwrite=False):  # fmt: skip
        # type: (...) -> Any
        """Keep the definition of a data lake, without its secret.

        Example: `register_azure_data_lake(ws, "l", "store")`
        """
        unused("register_azure_data_lake", client_secret=client_secret and "…")
        return cloud(workspace, datastore_name, "AzureDataLake", {"store_name": store_name})

    @staticmethod
    def register_azure_sql_database(workspace, datastore_name, server_name, database_name, **more):
        # type: (Any, str, str, str, Any) -> Any
        """Keep the definition of a database, without its password.

        Example: `register_azure_sql_database(ws, "d", "s", "db")`
        """
        return cloud(
            workspace, datastore_name, "AzureSqlDatabase", {"server_name": server_name, "database_name": database_name}
        )

    @staticmethod
    def register_azure_postgre_sql(workspace, datastore_name, server_name, database_name, user_id=None, **more):
        # type: (Any, str, str, str, Any, Any) -> Any
        """Keep the definition of a database, without its password. Example: `register_azure_postgre_sql(ws, "d", "server", "db")`"""
        return cloud(
            workspace, datastore_name, "AzurePostgreSql", {"server_name": server_name, "database_name": database_name}
        )

    @staticmethod
    def register_azure_my_sql(workspace, datastore_name, server_name, database_name, user_id=None, **more):
        # type: (Any, str, str, str, Any, Any) -> Any
        """Keep the definition of a database, without its password. Example: `register_azure_my_sql(ws, "d", "server", "db")`"""
        return cloud(
            workspace, datastore_name, "AzureMySql", {"server_name": server_name, "database_name": database_name}
        )

    @staticmethod
    def register_dbfs(workspace: Any, datastore_name: str) -> Any:
        """Keep the definition of a Databricks file system. Example: `Datastore.register_dbfs(ws, "dbfs")`"""
        return cloud(workspace, datastore_name, "DBFS", {})

    @staticmethod
    def register_hdfs(workspace, datastore_name, protocol, namenode_address, hdfs_server_certificate=None, **more):
        # type: (Any, str, str, str, Any, Any) -> Any
        """Keep the definition of a Hadoop file system. Example: `Datastore.register_hdfs(ws, "h", "https", "host:50070")`"""
        return cloud(workspace, datastore_name, "Hdfs", {"protocol": protocol, "namenode_address": namenode_address})


def cloud(workspace: Any, name: str, kind: str, definition: Dict[str, Any]) -> Any:
    kept = {key: value for key, value in definition.items() if value is not None}
    return put(workspace, name, {"kind": "cloud", "type": kind, "definition": kept})


def put(workspace: Any, name: str, body: Dict[str, Any]) -> Any:
    return datastore_of(workspace, workspace._api.put(workspace._path("datastores", name), body))


def datastore_of(workspace: Any, view: Dict[str, Any]) -> Any:
    """The object of the right class for what the server says."""
    if view["kind"] == "local":
        return LocalDatastore(workspace, view)
    return (AzureFileDatastore if view["type"] == "AzureFile" else AzureBlobDatastore)(workspace, view)
