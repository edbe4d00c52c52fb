"""Values of metrics on their way to JSON and back: numpy scalars, not-a-number and infinities keep what they are."""

import json
import math
from json.encoder import encode_basestring_ascii as quote
from typing import Any, Optional

encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
SPECIAL = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def wire_value(value: Any) -> Any:
    """What stands in a journal for a value. Example: `wire_value(float("nan"))` is {"float": "NaN"}."""
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else {"float": special_name(value)}
    if kind is int or kind is str or kind is bool or value is None:
        return value
    if isinstance(value, dict):
        return {str(key): wire_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, range)):
        return [wire_value(item) for item in value]
    if hasattr(value, "tolist"):  # numpy and its relatives: arrays and scalars
        plain = value.tolist()
        return wire_value(plain) if type(plain) is not kind else str(value)
    if hasattr(value, "item"):
        return wire_value(value.item())
    if isinstance(value, (bool, int, str)):
        return value
    try:
        return wire_value(float(value))
    except (TypeError, ValueError):
        return str(value)


def python_value(wire: Any) -> Any:
    """The value that was logged."""
    if isinstance(wire, dict):
        if set(wire) == {"float"} and wire["float"] in SPECIAL:
            return SPECIAL[wire["float"]]
        return {key: python_value(item) for key, item in wire.items()}
    if isinstance(wire, list):
        return [python_value(item) for item in wire]
    return wire


def special_name(value: float) -> str:
    if value != value:
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def record_line(kind, name, value, when, description=None, step=None):
    # type: (str, str, Any, float, Optional[str], Optional[int]) -> str
    """One line of a journal. A number in a loop is by far the most frequent, so it is written without the encoder.

    Example: `record_line("scalar", "loss", 0.5, time.time())`
    """
    if type(value) in (float, int) and value - value == 0:
        text = repr(value)
    else:
        text = encode(wire_value(value))
    line = '{"name":%s,"kind":%s,"value":%s,"time":%r' % (quote(name), quote(kind), text, when)
    if step is not None:
        line += ',"step":%d' % step
    if description:
        line += ',"description":' + quote(description)
    return line + "}"
