"""Scalars of YAML 1.1, as PyYAML's safe loader understands them: what a plain word means, and how quotes are undone."""

import re
from typing import Any, List, Tuple

INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
OTHER_INTEGER = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+)")
SEXAGESIMAL = re.compile(r"[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")
FLOAT = re.compile(r"[-+]?([0-9][0-9_]*)\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?")
SPECIAL_FLOATS = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}
NULLS = ("", "~", "null", "Null", "NULL")
TRUE = ("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
FALSE = ("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
LONG_ESCAPES = {"x": 2, "u": 4, "U": 8}


class YamlError(ValueError):
    """The text is no YAML, or more of it than this reader knows; says where and what."""


def plain_value(text: str) -> Any:
    """What an unquoted word stands for. Example: `plain_value("0.10")` is 0.1, `plain_value("3.6.2")` is "3.6.2"."""
    if text in NULLS:
        return None
    if text in TRUE or text in FALSE:
        return text in TRUE
    if INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    if OTHER_INTEGER.fullmatch(text):
        return other_integer(text.replace("_", ""))
    if FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    if SEXAGESIMAL.fullmatch(text) or DATE.fullmatch(text):
        raise YamlError("{!r} would be a time in YAML: put it in quotes".format(text))
    return SPECIAL_FLOATS.get(text.lower(), text)


def other_integer(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    base = {"0b": 2, "0x": 16}.get(digits[:2], 8)
    return sign * int(digits, base)


def read_quoted(text: str, at: int) -> Tuple[str, int]:
    """The string whose opening quote is at `at`, and the index after its closing quote."""
    if text[at] == "'":
        return read_single(text, at + 1)
    out = []  # type: List[str]
    at += 1
    while at < len(text):
        char = text[at]
        if char == '"':
            return "".join(out), at + 1
        if char != "\\":
            out.append(char)
            at += 1
            continue
        kind = text[at + 1 : at + 2]
        if kind in LONG_ESCAPES:
            digits = text[at + 2 : at + 2 + LONG_ESCAPES[kind]]
            out.append(chr(int(digits, 16)))
            at += 2 + len(digits)
        elif kind in ESCAPES:
            out.append(ESCAPES[kind])
            at += 2
        else:
            raise YamlError("there is no escape \\{}".format(kind))
    raise YamlError("a quote is not closed on its line")


def read_single(text: str, at: int) -> Tuple[str, int]:
    out = []
    while at < len(text):
        if text[at] != "'":
            out.append(text[at])
            at += 1
        elif text[at + 1 : at + 2] == "'":
            out.append("'")
            at += 2
        else:
            return "".join(out), at + 1
    raise YamlError("a quote is not closed on its line")


def without_comment(text: str) -> str:
    """The line up to a `#` that begins a comment, quotes respected; spaces at the end removed."""
    at, quote_may_begin = 0, True
    while at < len(text):
        char = text[at]
        if char in "\"'" and quote_may_begin:
            try:
                at = read_quoted(text, at)[1]
            except YamlError:
                return text.rstrip()
            quote_may_begin = False
            continue
        if char == "#" and (at == 0 or text[at - 1] in " \t"):
            return text[:at].rstrip()
        quote_may_begin = char in " \t[{,:-?"
        at += 1
    return text.rstrip()
