"""RunPart: what the parts of Run know of one another: they are only ever used together."""

from typing import TYPE_CHECKING, Any


class RunPart:
    """A part of Run; the other parts are there when it is used."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
