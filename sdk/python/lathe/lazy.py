"""Lazy exports: a package that offers many names loads a module only when one of its names is asked for.

Python 3.6 has no `__getattr__` in modules, so the module gets a class of its own, which works in every version.
"""

import importlib
import sys
import types
from typing import Any, Dict


class LazyModule(types.ModuleType):
    """A module whose names in `_lazy` ("name" -> "module" or "module:name there") are imported at first use."""

    _lazy = {}  # type: Dict[str, str]

    def __getattr__(self, name):
        place = self._lazy.get(name)
        if place is None:
            raise AttributeError("module {!r} has no attribute {!r}".format(self.__name__, name))
        module, _, attribute = place.partition(":")
        value = getattr(importlib.import_module(module), attribute or name)
        setattr(self, name, value)
        return value

    def __dir__(self):
        return sorted(set(super(LazyModule, self).__dir__()) | set(self._lazy))


def export(module_name: str, names: Dict[str, str]) -> None:
    """Make `names` available in the module that calls, without importing them yet.

    Example: `export(__name__, {"Workspace": "azureml.core.workspace"})`
    """
    module = sys.modules[module_name]  # type: Any
    kind = type("Lazy_" + module_name.replace(".", "_"), (LazyModule,), {"_lazy": dict(names)})
    module.__class__ = kind
    if not hasattr(module, "__all__"):
        module.__all__ = sorted(names)
