"""Ignore rules with git's syntax and meaning, over paths as bytes. The deepest file speaks first and, inside a
file, the last pattern; what an ignored folder holds cannot be taken back.
"""

from typing import List, NamedTuple, Optional, Pattern, Tuple

from lathe.wildcard import compile_wildcard

SPECIAL = b"*?[\\"

Rule = NamedTuple(
    "Rule",
    [
        ("negated", bool),
        ("folders_only", bool),
        ("by_name", bool),  # no slash: compared with the last part at any depth
        ("prefix", bytes),  # leading text without wildcards
        ("wildcard", Optional[Pattern[bytes]]),  # the rest
        ("broken", bool),
    ],
)


class IgnoreFile:
    """One parsed ignore file. Example: `IgnoreFile(b"*.log").verdict(b"a/b.log", False)` is True."""

    def __init__(self, text: bytes) -> None:
        if text.startswith(b"\xef\xbb\xbf"):
            text = text[3:]
        self.rules = []  # type: List[Rule]
        for line in text.split(b"\n"):
            rule = parse(line[:-1] if line.endswith(b"\r") else line)
            if rule is not None:
                self.rules.insert(0, rule)

    def verdict(self, path: bytes, is_folder: bool) -> Optional[bool]:
        """True: ignored; False: taken back; None: no rule speaks. `path` is relative to the folder of the file."""
        for rule in self.rules:
            if matches(rule, path, is_folder):
                return not rule.negated
        return None


class IgnoreRules:
    """The ignore files from the root down to the folder that is being walked."""

    def __init__(self, levels: Tuple[Tuple[bytes, IgnoreFile], ...] = ()) -> None:
        self.levels = levels

    def below(self, folder: bytes, file: IgnoreFile) -> "IgnoreRules":
        """These rules and those of an ignore file in `folder`."""
        return IgnoreRules(((folder, file),) + self.levels)

    def ignores(self, path: bytes, is_folder: bool) -> bool:
        for folder, file in self.levels:
            verdict = file.verdict(path[len(folder) + 1 :] if folder else path, is_folder)
            if verdict is not None:
                return verdict
        return False


def parse(line: bytes) -> Optional[Rule]:
    if line.startswith(b"#"):
        return None
    line = without_trailing_spaces(line.split(b"\0")[0])
    negated = line.startswith(b"!")
    line = line[1:] if negated else line
    folders_only = line.endswith(b"/")
    line = line[:-1] if folders_only else line
    if not line:
        return None
    by_name = b"/" not in line
    if line.startswith(b"/"):
        line = line[1:]
    plain = next((at for at, byte in enumerate(line) if byte in SPECIAL), len(line))
    if by_name and plain < len(line):
        plain = 0
    wildcard = compile_wildcard(line[plain:]) if plain < len(line) else None
    return Rule(negated, folders_only, by_name, line[:plain], wildcard, plain < len(line) and wildcard is None)


def matches(rule: Rule, path: bytes, is_folder: bool) -> bool:
    if rule.broken or (rule.folders_only and not is_folder):
        return False
    text = path.rsplit(b"/", 1)[-1] if rule.by_name else path
    if not text.startswith(rule.prefix):
        return False
    rest = text[len(rule.prefix) :]
    return rule.wildcard.fullmatch(rest) is not None if rule.wildcard else not rest


def without_trailing_spaces(line: bytes) -> bytes:
    """Spaces at the end do not count unless a backslash keeps them."""
    keep, at = 0, 0
    while at < len(line):
        if line[at : at + 1] != b" ":
            if line[at : at + 1] == b"\\":
                at += 1
                if at == len(line):
                    return line
            keep = at + 1
        at += 1
    return line[:keep]
