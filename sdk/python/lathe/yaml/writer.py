"""The writer: block style, keys in the order given, quotes only where a plain word would be read as something else."""

import json
from typing import Any, Dict, List

from lathe.yaml.scalars import YamlError, plain_value

BEGINS_OTHERWISE = "-?:,[]{}#&*!|>'\"%@` \t"


def write_yaml(value: Any) -> str:
    """The text of a document. Example: `write_yaml({"a": [1, "yes"]})` is "a:\\n- 1\\n- 'yes'\\n"."""
    return "\n".join(lines_of(value)) + "\n"


def lines_of(value: Any) -> List[str]:
    if isinstance(value, dict) and value:
        return map_lines(value)
    if isinstance(value, (list, tuple)) and value:
        out = []  # type: List[str]
        for item in value:
            inner = lines_of(item)
            out.append("- " + inner[0])
            out.extend("  " + line if line else line for line in inner[1:])
        return out
    return [scalar(value)]


def map_lines(value: Dict[Any, Any]) -> List[str]:
    out = []  # type: List[str]
    for key, item in value.items():
        head = scalar(key) + ":"
        if isinstance(item, dict) and item:
            out.append(head)
            out.extend("  " + line for line in lines_of(item))
        elif isinstance(item, (list, tuple)) and item:
            out.append(head)
            out.extend(lines_of(item))
        else:
            out.append(head + " " + scalar(item))
    return out


def scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, (list, tuple)):
        return "[]"
    if isinstance(value, str):
        return value if is_plain(value) else quoted(value)
    raise YamlError("a {} cannot be written as YAML".format(type(value).__name__))


def float_text(value: float) -> str:
    if value != value:
        return ".nan"
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    mantissa, exponent = text.split("e") if "e" in text else (text, "")
    mantissa = mantissa if "." in mantissa else mantissa + ".0"
    sign = "" if not exponent or exponent[0] in "+-" else "+"
    return mantissa + ("e" + sign + exponent if exponent else "")


def is_plain(text: str) -> bool:
    if not text or text != text.strip() or text[0] in BEGINS_OTHERWISE and not goes_on(text):
        return False
    if ": " in text or " #" in text or text.endswith(":") or any(ord(char) < 32 or ord(char) > 126 for char in text):
        return False
    if text in ("<<", "=") or text.startswith(("---", "...")):  # a merge key, a default value, marks of documents
        return False
    try:
        return plain_value(text) == text
    except YamlError:
        return False


def goes_on(text: str) -> bool:
    """A dash, question mark or colon begins a plain word when something that is no space follows it."""
    return text[0] in "-?:" and len(text) > 1 and text[1] not in " \t-"


def quoted(text: str) -> str:
    if all(32 <= ord(char) <= 126 for char in text):
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text)
