"""The thin typed client of a Lathe server. The `azureml` package stands on it; scripts may use it, too.

Example:

    from lathe import Client, find_server
    client = Client(find_server())
    for run in client.items(client.path("workspaces", "default", "runs")):
        print(run["id"], run["status"])
"""

from lathe.lazy import export as _export
from lathe.version import __version__  # noqa: F401

_export(
    __name__,
    {
        "Client": "lathe.client",
        "LatheError": "lathe.errors",
        "Server": "lathe.server",
        "find_server": "lathe.server",
        "Snapshot": "lathe.snapshot",
        "take_snapshot": "lathe.snapshot",
        "upload_blobs": "lathe.uploads",
    },
)
