"""Conditions on the properties of files, as `dataset.filter` keeps them in the definition (docs/formats/dataset.md).

Example: `dataset.filter(dataset.file_metadata["Size"] > 1000)`
"""

import datetime
from typing import Any, Dict

FACTS = {"Size": "size", "LastModifiedTime": "modified", "CreationTime": "modified", "Extension": "extension",
         "Path": "path", "Name": "name"}  # fmt: skip


class Condition:
    """A condition; `&`, `|` and `~` combine them."""

    def __init__(self, told: Dict[str, Any]) -> None:
        self.told = told

    def __and__(self, other: "Condition") -> "Condition":
        return Condition({"and": [self.told, other.told]})

    def __or__(self, other: "Condition") -> "Condition":
        return Condition({"or": [self.told, other.told]})

    def __invert__(self) -> "Condition":
        return Condition({"not": self.told})

    def __bool__(self) -> bool:
        raise TypeError("combine conditions with & and |, not with `and` and `or`")


class Field:
    """A property of a file that can be compared."""

    def __init__(self, fact: str) -> None:
        self.fact = fact

    def _compare(self, operator: str, value: Any) -> Condition:
        if isinstance(value, datetime.datetime):
            value = value.timestamp()
        return Condition({operator: [{"file": self.fact}, value]})

    def __gt__(self, value: Any) -> Condition:
        return self._compare(">", value)

    def __ge__(self, value: Any) -> Condition:
        return self._compare(">=", value)

    def __lt__(self, value: Any) -> Condition:
        return self._compare("<", value)

    def __le__(self, value: Any) -> Condition:
        return self._compare("<=", value)

    def __eq__(self, value: Any) -> Condition:  # type: ignore
        return self._compare("==", value)

    def __ne__(self, value: Any) -> Condition:  # type: ignore
        return self._compare("!=", value)

    __hash__ = None  # type: ignore

    def starts_with(self, text: str) -> Condition:
        return self._compare("startswith", text)

    def ends_with(self, text: str) -> Condition:
        return self._compare("endswith", text)

    def contains(self, text: str) -> Condition:
        return self._compare("contains", text)


class FileMetadata:
    """The properties of files by their names in the vendor's interface."""

    def __getitem__(self, name: str) -> Field:
        if name not in FACTS:
            raise KeyError("files have {}, not {!r}".format(", ".join(sorted(FACTS)), name))
        return Field(FACTS[name])
