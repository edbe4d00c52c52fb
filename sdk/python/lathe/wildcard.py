"""Patterns with git's wildcards, turned into regular expressions over bytes: `*`, `?`, `**`, classes, escapes."""

import re
from typing import Optional, Pattern, Tuple

ANY = b"[^/]"
CLASSES = {
    b"alpha": b"a-zA-Z",
    b"digit": b"0-9",
    b"alnum": b"a-zA-Z0-9",
    b"blank": b" \\t",
    b"cntrl": b"\\x00-\\x1f\\x7f",
    b"graph": b"\\x21-\\x7e",
    b"lower": b"a-z",
    b"print": b"\\x20-\\x7e",
    b"punct": b"\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e",
    b"space": b" \\t\\n\\r",  # git knows no others
    b"upper": b"A-Z",
    b"xdigit": b"0-9a-fA-F",
}


def compile_wildcard(pattern: bytes) -> Optional[Pattern[bytes]]:
    """A regular expression to fullmatch with, or None when the pattern is broken and matches nothing.

    Example: `compile_wildcard(b"a/**/*.csv").fullmatch(b"a/b/c.csv")`
    """
    out, at = [], 0
    while at < len(pattern):
        byte = pattern[at : at + 1]
        if byte == b"?":
            out.append(ANY)
            at += 1
        elif byte == b"*":
            piece, at = stars(pattern, at)
            out.append(piece)
        elif byte == b"[":
            found = character_class(pattern, at + 1)
            if found is None:
                return None
            out.append(found[0])
            at = found[1]
        else:
            if byte == b"\\":
                at += 1
                if at == len(pattern):
                    return None
            out.append(re.escape(pattern[at : at + 1]))
            at += 1
    return re.compile(b"".join(out), re.DOTALL)


def stars(pattern: bytes, at: int) -> Tuple[bytes, int]:
    """The expression for a run of stars, and where the pattern goes on."""
    end = at
    while pattern[end : end + 1] == b"*":
        end += 1
    rest = pattern[end:]
    after_slash = at == 0 or pattern[at - 1 : at] == b"/"
    before_slash = rest.startswith(b"/") or rest.startswith(b"\\/")
    if end - at < 2 or not after_slash or not (before_slash or not rest):
        return ANY + b"*", end
    if rest.startswith(b"/"):
        return b"(?:.*/)?", end + 1
    return b".*", end


def character_class(pattern: bytes, at: int) -> Optional[Tuple[bytes, int]]:
    """The expression for a class whose '[' is just before `at`, and the index after its ']'; None when it is broken."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    if negated:
        at += 1
    members, previous, first = [], None, True  # type: ignore
    while first or pattern[at : at + 1] != b"]":
        first = False
        byte = pattern[at : at + 1]
        if not byte:
            return None
        following = pattern[at + 1 : at + 2]
        if byte == b"-" and previous is not None and following not in (b"", b"]"):
            at += 2 if following == b"\\" else 1
            high = pattern[at : at + 1]
            if not high:
                return None
            if previous <= high:
                members.append(re.escape(previous) + b"-" + re.escape(high))
            previous = None
        elif byte == b"[" and following == b":":
            close = pattern.find(b"]", at + 2)
            if close < 0:
                return None
            if close >= at + 3 and pattern[close - 1 : close] == b":":
                named = CLASSES.get(pattern[at + 2 : close - 1])
                if named is None:
                    return None
                members.append(named)
                previous, at = None, close + 1
                continue
            members.append(b"\\[")
            previous = b"["
        else:
            if byte == b"\\":
                at += 1
                byte = pattern[at : at + 1]
                if not byte:
                    return None
            members.append(re.escape(byte))
            previous = byte
        at += 1
    inside = b"".join(members)
    if negated:
        return b"(?!/)[^" + inside + b"]" if inside else ANY, at + 1
    return (b"(?!/)[" + inside + b"]" if inside else b"(?!)"), at + 1
