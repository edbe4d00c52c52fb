"""Asking the server to bring all bytes of a dataset into its store; URLs are fetched there, once."""

import json
from typing import Any, Dict

from lathe.errors import Unavailable, error_of_answer

HOUR = 3600.0


def materialize(workspace: Any, dataset_id: str) -> Dict[str, Any]:
    """{"tree", "files", "bytes", "sources"}. Goes on after trouble: what was fetched is kept."""
    api, path = workspace._api, workspace._path("datasets", "by-id", dataset_id, "materialize")

    def attempt():
        # type: () -> Dict[str, Any]
        with api.stream("POST", path, headers={"Accept": "application/x-ndjson"}, timeout=HOUR) as stream:
            for line in stream:
                told = json.loads(line.decode("utf-8")) if line.strip() else {}
                if "result" in told:
                    return dict(told["result"])
                if "error" in told:
                    raise error_of_answer(422, json.dumps(told["error"]).encode("utf-8"), "fetching the dataset")
                if "tree" in told:
                    return dict(told)
        raise Unavailable("the server's answer ended early", "unavailable", "try again")

    return dict(api.retry(attempt))
