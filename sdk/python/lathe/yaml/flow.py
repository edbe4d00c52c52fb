"""Flow collections on one line: `[a, "b", {c: 1}]`."""

from typing import Any, Dict, List, Tuple

from lathe.yaml.scalars import YamlError, plain_value, read_quoted


def read_flow(text: str) -> Any:
    """The value of a text that begins with `[` or `{`. Example: `read_flow("[1, two]")` is [1, "two"]."""
    value, at = read_value(text, 0)
    if text[at:].strip():
        raise YamlError("there is more after the end of {!r}".format(text[:at]))
    return value


def read_value(text: str, at: int) -> Tuple[Any, int]:
    at = skip(text, at)
    char = text[at : at + 1]
    if char == "[":
        return read_list(text, at + 1)
    if char == "{":
        return read_map(text, at + 1)
    if char and char in "\"'":
        return read_quoted(text, at)
    end = at
    while end < len(text) and text[end] not in ",[]{}" and not is_colon(text, end):
        end += 1
    word = text[at:end].strip()
    if not word:
        raise YamlError("a value is missing in {!r}".format(text))
    if word[0] in "&*!|>%@`":
        raise YamlError("{!r} is not supported".format(word))
    return plain_value(word), end


def read_list(text: str, at: int) -> Tuple[List[Any], int]:
    out = []  # type: List[Any]
    while True:
        at = skip(text, at)
        if text[at : at + 1] == "]":
            return out, at + 1
        value, at = read_value(text, at)
        at = skip(text, at)
        if is_colon(text, at):
            raise YamlError("a map without braces inside a list is not supported")
        out.append(value)
        at = after_comma(text, at, "]")


def read_map(text: str, at: int) -> Tuple[Dict[Any, Any], int]:
    out = {}  # type: Dict[Any, Any]
    while True:
        at = skip(text, at)
        if text[at : at + 1] == "}":
            return out, at + 1
        key, at = read_value(text, at)
        at = skip(text, at)
        if text[at : at + 1] != ":":
            raise YamlError("a colon is missing after {!r}".format(key))
        at = skip(text, at + 1)
        if text[at : at + 1] in (",", "}"):
            out[key] = None
        else:
            out[key], at = read_value(text, at)
        at = after_comma(text, skip(text, at), "}")


def after_comma(text: str, at: int, end: str) -> int:
    if text[at : at + 1] == ",":
        return at + 1
    if text[at : at + 1] != end:
        raise YamlError("a {!r} or a comma is missing in {!r}".format(end, text))
    return at


def skip(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return at


def is_colon(text: str, at: int) -> bool:
    return text[at : at + 1] == ":" and (at + 1 == len(text) or text[at + 1] in " \t,[]{}")
