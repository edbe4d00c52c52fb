"""The reader of block maps and lists."""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from lathe.yaml.flow import read_flow
from lathe.yaml.scalars import YamlError, plain_value, read_quoted, without_comment

Line = NamedTuple("Line", [("number", int), ("indent", int), ("text", str)])


def read_yaml(text: str) -> Any:
    """The value that a document holds. Example: `read_yaml("a: [1, 2]")` is {"a": [1, 2]}."""
    return Reader(text).document()


class Reader:
    """Walks the lines of one document; `at` is the index of the next one."""

    def __init__(self, text: str) -> None:
        if text.startswith("\ufeff"):
            text = text[1:]
        self.raw = text.split("\n")
        self.at = 0
        self.seen = 0  # the line that is being read, for messages

    def document(self) -> Any:
        try:
            line = self.peek()
            if line is not None and line.text == "---":
                self.at += 1
                line = self.peek()
            value = None if line is None else self.block(line.indent)
            rest = self.peek()
            if rest is not None and rest.text not in ("...", "---"):
                raise YamlError("this does not belong to what is above it")
            if rest is not None and rest.text == "---":
                raise YamlError("several documents in one file are not supported")
            return value
        except YamlError as problem:
            if str(problem).startswith("line "):
                raise
            raise YamlError("line {}: {}".format(self.seen + 1, problem))

    def peek(self) -> Optional[Line]:
        """The next line with content, without consuming it."""
        while self.at < len(self.raw):
            raw = self.raw[self.at].rstrip("\r")
            text = without_comment(raw)
            stripped = text.lstrip(" ")
            self.seen = self.at
            if stripped.startswith("\t") and stripped.strip():
                raise YamlError("a tab cannot indent")
            if stripped.startswith("%"):
                raise YamlError("directives are not supported")
            if stripped:
                return Line(self.at, len(text) - len(stripped), stripped)
            self.at += 1
        return None

    def block(self, indent: int) -> Any:
        line = self.peek()
        if line is None:
            return None
        if is_item(line.text):
            return self.sequence(line.indent)
        if split_key(line.text) is not None:
            return self.mapping(line.indent)
        self.at += 1
        return self.scalar(line.text, indent - 1)

    def sequence(self, indent: int) -> List[Any]:
        out = []  # type: List[Any]
        while True:
            line = self.peek()
            if line is None or line.indent != indent or not is_item(line.text):
                self.check_indent(line, indent)
                return out
            out.append(self.item(line))

    def item(self, line: Line) -> Any:
        rest = line.text[1:]
        inner = rest.lstrip(" ")
        if not inner:
            self.at += 1
            following = self.peek()
            return None if following is None or following.indent <= line.indent else self.block(following.indent)
        if is_item(inner) or (inner[0] not in "[{\"'|>" and split_key(inner)) or quoted_key(inner):
            # The rest of the line is a block of its own, further to the right.
            column = line.indent + 1 + len(rest) - len(inner)
            self.raw[self.at] = " " * column + inner
            return self.block(column)
        self.at += 1
        return self.scalar(inner, line.indent)

    def mapping(self, indent: int) -> Dict[Any, Any]:
        out = {}  # type: Dict[Any, Any]
        while True:
            line = self.peek()
            if line is None or line.indent != indent or line.text in ("...", "---"):
                self.check_indent(line, indent)
                return out
            pair = split_key(line.text)
            if pair is None:
                raise YamlError("a key with a colon is expected here")
            key, rest = pair
            if key == "<<" and line.text.startswith("<<"):
                raise YamlError("merge keys are not supported")
            if key in out:
                raise YamlError("the key {!r} is there twice".format(key))
            self.at += 1
            out[key] = self.value_of(rest, line)

    def value_of(self, rest: str, line: Line) -> Any:
        if rest:
            return self.scalar(rest, line.indent)
        following = self.peek()
        if following is None or following.indent < line.indent:
            return None
        if following.indent == line.indent:
            return self.sequence(line.indent) if is_item(following.text) else None
        return self.block(following.indent)

    def scalar(self, text: str, indent: int) -> Any:
        """A value that begins on the line just consumed and belongs to something at `indent`."""
        if text[0] in "|>":
            return self.long_text(text, indent)
        if text[0] in "[{":
            return read_flow(self.joined(text, indent) if not closed(text) else text)
        if text[0] in "\"'":
            value, end = read_quoted(text, 0)
            if text[end:].strip():
                raise YamlError("there is more after a closing quote")
            return value
        if text[0] in "&*!%@`":
            raise YamlError("anchors, aliases and tags are not supported")
        following = self.peek()
        if following is not None and following.indent > indent:
            text = self.joined(text, indent)
        if split_key(text) is not None:
            raise YamlError("a map cannot begin here")
        return plain_value(text)

    def joined(self, text: str, indent: int) -> str:
        """A plain text or flow collection that goes on in deeper lines; they are folded into one."""
        while True:
            following = self.peek()
            if following is None or following.indent <= indent:
                return text
            self.at += 1
            text += " " + following.text

    def long_text(self, header: str, indent: int) -> str:
        style, keep, fixed = parse_header(header)
        lines, depth = [], indent + fixed if fixed else None  # type: Tuple[List[str], Optional[int]]
        while self.at < len(self.raw):
            raw = self.raw[self.at].rstrip("\r")
            here = len(raw) - len(raw.lstrip(" "))
            if raw.strip(" "):
                if depth is None and here > indent:
                    depth = here
                if depth is None or here < depth:
                    break
            lines.append(raw[depth:] if depth is not None else "")
            self.at += 1
        body, tail = list(lines), 0
        while body and not body[-1].strip(" "):
            body.pop()
            tail += 1
        if self.at == len(self.raw) and tail:
            tail -= 1  # what follows the last newline is no line
        text = "\n".join(body) if style == "|" else fold(body)
        if keep == "-" or (not body and keep != "+"):
            return text
        return text + ("\n" if body else "") + ("\n" * tail if keep == "+" else "")

    def check_indent(self, line: Optional[Line], indent: int) -> None:
        if line is not None and line.indent > indent:
            raise YamlError("this line is indented further than what is above it")


def parse_header(header: str) -> Tuple[str, str, int]:
    keep, fixed = "", 0
    for char in header[1:]:
        if char in "+-" and not keep:
            keep = char
        elif char in "123456789" and not fixed:
            fixed = int(char)
        else:
            raise YamlError("{!r} is not the head of a text".format(header))
    return header[0], keep, fixed


def fold(lines: List[str]) -> str:
    """The lines of a `>` text: neighbours become one line, empty and deeper lines stay."""
    out, breaks, deeper = "", 0, True
    for line in lines:
        if not line.strip(" "):
            breaks += 1
            continue
        indented = line[0] in " \t"
        if out or breaks:
            if breaks == 0:
                out += "\n" if deeper or indented else " "
            else:
                out += "\n" * (breaks + (1 if (deeper or indented) and out else 0))
        out += line
        breaks, deeper = 0, indented
    return out


def is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def quoted_key(text: str) -> bool:
    return text[0] in "\"'" and split_key(text) is not None


def split_key(text: str) -> Optional[Tuple[Any, str]]:
    """(key, rest of the line) of `key: rest`; None when it is no such line."""
    if text[0] in "\"'":
        try:
            key, end = read_quoted(text, 0)
        except YamlError:
            return None
        rest = text[end:].lstrip(" ")
        return (key, rest[1:].strip()) if rest.startswith(":") and rest[1:2] in ("", " ", "\t") else None
    if text[0] in "[{|>":
        return None
    if text.startswith("? "):
        raise YamlError("keys that are not plain words are not supported")
    at = 0
    while at < len(text):
        if text[at] == ":" and text[at + 1 : at + 2] in ("", " ", "\t"):
            return plain_value(text[:at].strip()), text[at + 1 :].strip()
        at += 1
    return None


def closed(text: str) -> bool:
    """Whether a flow collection ends on its line."""
    depth, at = 0, 0
    while at < len(text):
        if text[at] in "\"'" and (at == 0 or text[at - 1] in " \t[{,:"):
            at = read_quoted(text, at)[1]
            continue
        depth += (text[at] in "[{") - (text[at] in "]}")
        at += 1
    return depth <= 0
