#!/usr/bin/env python3
"""Writes docs/user/sdk.md: every supported name of the azureml packages, with its arguments and its first sentence.

usage: make_reference.py [--check]      (--check only compares, and fails when the document is out of date)
"""

import enum
import importlib
import inspect
import os
import pkgutil
import re
import sys

ROOT = os.path.dirname(os.path.abspath(__file__))
DOCUMENT = os.path.join(ROOT, "..", "..", "docs", "user", "sdk.md")
FUNCTIONS = (
    "set_diagnostics_collection",
    "get_run",
    "get_run_config_from_script_run",
)  # others are the modules' own tools
HEAD = """\
# The Python SDK: every supported name

Made by `sdk/python/make_reference.py` from the docstrings; a test compares. Install it with
`pip install --index-url http://ADDRESS/sdk/simple/ lathe-sdk` from your server, or `pip install ./sdk/python` from a clone (nothing
else is needed), or build the wheel: `sdk/python/build_wheel.py`. It runs on Python 3.6 and
later with the standard library alone; pandas, pyarrow, matplotlib and IPython are used where they are there. How it differs
from the original is told in [migrate-from-azure-ml.md](migrate-from-azure-ml.md).

**later** marks names that can be imported and raise `NotImplementedError`, naming the feature they wait for, when called.
"""


def modules():
    sys.path.insert(0, ROOT)
    import azureml

    names = [found.name for found in pkgutil.walk_packages(azureml.__path__, "azureml.")]
    return sorted(name for name in names if not any(part.startswith("_") for part in name.split(".")))


def first_sentence(value):
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    text = re.split(r" Example: | Examples: ", text)[0].strip()
    return text


def arguments(function):
    """Names and defaults, without types, so that every Python writes the same."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "()"
    parts, keyword_only = [], False
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls") or parameter.name.startswith("_"):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            parts.append("*" + parameter.name)
            keyword_only = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            parts.append("**" + parameter.name)
        else:
            if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
                parts.append("*")
                keyword_only = True
            default = "" if parameter.default is parameter.empty else "=" + shown(parameter.default)
            parts.append(parameter.name + default)
    return "({})".format(", ".join(parts))


def shown(default):
    if isinstance(default, enum.Enum):
        return "{}.{}".format(type(default).__name__, default.name)
    return repr(default) if isinstance(default, (str, int, float, bool, type(None), tuple)) else "…"


def is_later(value):
    return (inspect.getdoc(value) or "").startswith("Comes with the feature")


def members(kind):
    """(name, text) of the public methods and properties of a class, with those that it inherits from our own classes."""
    found = []
    for name in sorted(dir(kind)):
        if name.startswith("_"):
            continue
        value = inspect.getattr_static(kind, name)
        own = any(name in vars(base) for base in kind.__mro__ if base.__module__.startswith("azureml"))
        if not own or issubclass(kind, BaseException):
            continue
        plain = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if inspect.isfunction(plain):
            found.append(("`{}{}`".format(name, arguments(plain)), first_sentence(plain)))
        elif isinstance(value, property):
            found.append(("`{}`".format(name), first_sentence(value)))
        elif inspect.isclass(value):
            found.append(("`{}`".format(name), first_sentence(value)))
        else:
            found.append(("`{}`".format(name), ""))
    return found


def public_names(module):
    exported = getattr(module, "__all__", None)
    if exported is None:
        exported = [
            name for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "").startswith("azureml")
            and (inspect.isclass(value) or name in FUNCTIONS)
            and ("._" not in value.__module__ or is_later(value))  # other tools of ours are not for scripts
        ]  # fmt: skip
    return sorted(exported)


def describe(module_name, documented):
    """The lines of one module; a class is described in full where it is met first."""
    module = importlib.import_module(module_name)
    lines, elsewhere, later = [], {}, {}
    for name in public_names(module):
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            lines.append("- `{}`".format(name))
        elif is_later(value):
            later.setdefault(first_sentence(value).split(". ")[0].lower(), []).append("`{}`".format(name))
        elif id(value) in documented:
            elsewhere.setdefault(documented[id(value)], []).append("`{}`".format(name))
        else:
            documented[id(value)] = module_name
            lines += full(name, value)
    lines += ["- **later**, {}: {}".format(why, ", ".join(names)) for why, names in sorted(later.items())]
    lines += ["- {}: see {}".format(", ".join(names), place) for place, names in sorted(elsewhere.items())]
    return lines


def full(name, value):
    if not inspect.isclass(value):
        return ["- `{}{}`: {}".format(name, arguments(value), first_sentence(value))]
    if issubclass(value, enum.Enum):
        return [
            "- `{}`: {} {}".format(name, first_sentence(value), ", ".join("`{}`".format(one.name) for one in value))
        ]
    lines = ["- `{}{}`: {}".format(name, arguments(value) if "__init__" in dir(value) else "", first_sentence(value))]
    if getattr(value, "_fields", None):
        lines.append("  - fields: {}".format(", ".join("`{}`".format(field) for field in sorted(value._fields))))
    found = members(value)
    lines += ["  - {}: {}".format(text, why) for text, why in found if why]
    plain = [text for text, why in found if not why]
    return lines + (["  - also {}".format(", ".join(plain))] if plain else [])


def document():
    documented, parts = {}, [HEAD]
    order = ["azureml.core", "azureml.data", "azureml.exceptions"]
    names = modules()
    for name in order + [name for name in names if name not in order]:
        lines = describe(name, documented)
        if lines:
            parts.append("## {}\n\n{}\n".format(name, "\n".join(lines)))
    return "\n".join(parts)


def main():
    text = document()
    if "--check" in sys.argv[1:]:
        with open(DOCUMENT, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit("docs/user/sdk.md is out of date\nhint: sdk/python/make_reference.py")
        return
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
