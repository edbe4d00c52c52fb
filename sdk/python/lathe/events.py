"""The stream of events of a run, read for ever: a server that restarts is found again, and nothing is missed or
doubled.
"""

import json
import time
from typing import Any, Dict, Iterator

from lathe.client import TROUBLE, Client
from lathe.errors import Unavailable

GIVE_UP = 3600.0  # seconds without any answer
QUIET = 90.0  # seconds without a byte: the server sends comments more often


def events_of_run(client: Client, workspace: str, run: str, after: int = 0) -> Iterator[Dict[str, Any]]:
    """Every event of a run with an id above `after`, old ones first, then as they happen.

    Example: `for event in events_of_run(client, "default", run_id): print(event["to"])`
    """
    silent_since = time.monotonic()
    while True:
        try:
            query = {"run": run, "after": after}
            with client.stream("GET", client.path("workspaces", workspace, "events"), query, timeout=QUIET) as stream:
                for line in stream:
                    silent_since = time.monotonic()
                    if line.startswith(b"data:"):
                        event = json.loads(line[5:].decode("utf-8"))
                        after = max(after, int(event["id"]))
                        yield event
        except (Unavailable,) + TROUBLE:
            if time.monotonic() - silent_since > GIVE_UP:
                raise
        time.sleep(0.2)
