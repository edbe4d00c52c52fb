"""Arguments that are known and have no effect here: accepted, and said once per process."""

import warnings
from typing import Any

_said = set()  # type: ignore


def unused(where: str, **given: Any) -> None:
    """Warn once for each argument that was really given. Example: `unused("Workspace.create", sku=sku)`"""
    for name, value in given.items():
        if value is None or (where, name) in _said:
            continue
        _said.add((where, name))
        warnings.warn("{}: {}={!r} has no effect on Lathe".format(where, name, value), UserWarning, stacklevel=3)
