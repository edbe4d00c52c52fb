"""The arguments of a script as text, and the inputs and outputs that they stand for."""

import shlex
from typing import Any, Dict, List, Optional

from azureml.exceptions import UserErrorException

# Placeholders in arguments: the launcher puts the path there.
PLACEHOLDER = "$AZUREML_DATAREFERENCE_"


class Resolved:
    """Text for the command line, and what the run reads and writes, in the server's terms."""

    def __init__(self, workspace: Any) -> None:
        self.workspace = workspace
        self.inputs, self.outputs = {}, {}  # type: Dict[str, Any], Dict[str, Any]

    def arguments(self, values: Optional[List[Any]]) -> List[str]:
        """None is left out, so that a flag can stand alone. Example: `["--epochs", 3]` becomes ["--epochs", "3"]."""
        return [self.text(value) for value in values or [] if value is not None]

    def command(self, command: Any) -> List[str]:
        """A line for the shell; the items of a list are joined as the vendor joins them, so `&&` works."""
        if isinstance(command, str):
            return ["/bin/sh", "-c", command]
        words = [self.text(word) for word in command]
        return ["/bin/sh", "-c", " ".join(shlex.quote(word) if needs_quotes(word) else word for word in words)]

    def text(self, value: Any) -> str:
        """One argument. Datasets and their like say themselves what they need."""
        if isinstance(value, (str, int, float, bool)):
            return str(value)
        if hasattr(value, "_resolve"):
            return str(value._resolve(self))
        if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
            return str(value.item())
        raise UserErrorException(
            "an argument is a {}, which cannot be put on a command line\nhint: numbers, text, datasets, data references and "
            "OutputFileDatasetConfig can".format(type(value).__name__)
        )

    def add_input(self, name: str, told: Dict[str, Any]) -> str:
        """An input, and the placeholder for its path. One name stands for one thing."""
        check_free(self.inputs, name, told)
        self.inputs[name] = {key: value for key, value in told.items() if value is not None}
        return PLACEHOLDER + name

    def add_output(self, name: str, told: Dict[str, Any]) -> str:
        """An output, and the placeholder for its path."""
        check_free(self.outputs, name, told)
        self.outputs[name] = {key: value for key, value in told.items() if value is not None}
        return PLACEHOLDER + name


def check_free(taken: Dict[str, Any], name: str, told: Dict[str, Any]) -> None:
    import re

    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UserErrorException("{!r} cannot be the name of an input: letters, digits and '_' can".format(name))
    if name in taken and taken[name] != {key: value for key, value in told.items() if value is not None}:
        raise UserErrorException("two different inputs have the name {!r}".format(name))


def needs_quotes(word: str) -> bool:
    return not word or any(char in " \t\n'\"" for char in word)
