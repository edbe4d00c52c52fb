"""requirements.txt: its lines as a list, with the files that it names by -r read then and there."""

import os
from typing import List, Optional, Tuple

from azureml.exceptions import UserErrorException

DEEPEST = 16  # files that name one another in a circle


def read_requirements(path: str, depth: int = 0) -> List[str]:
    """The requirements and option lines of a file. Example: `read_requirements("requirements.txt")`"""
    try:
        with open(path, "r", encoding="utf-8-sig") as file:
            text = file.read()
    except OSError as problem:
        raise UserErrorException("the file {} cannot be read: {}".format(path, problem.strerror))
    if depth > DEEPEST:
        raise UserErrorException("the file {} names itself by -r".format(path))
    return with_files(lines_of(text), os.path.dirname(path), depth)


def lines_of(text: str) -> List[str]:
    """Without comments and empty lines; a backslash joins lines. Example: `lines_of("a\\n# b")` is ["a"]."""
    found = []
    for line in text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        line = line if not line.lstrip().startswith("#") else ""
        line = (" " + line).split(" #")[0].strip()
        if line:
            found.append(" ".join(line.split()))
    return found


def with_files(items: List[str], folder: str, depth: int = 0) -> List[str]:
    """`-r FILE` becomes what the file says, where it lies beside the file that names it; else the line stays: the
    server looks for it in the source folder of the run."""
    found = []
    for item in items:
        named = named_file(item)
        path = os.path.join(folder, named) if named else None
        found += read_requirements(path, depth + 1) if path and os.path.isfile(path) else [item]
    return found


def named_file(item: str) -> Optional[str]:
    """Example: `named_file("-r more.txt")` is "more.txt"."""
    name, value = split_option(item)
    return value if name in ("-r", "--requirement") and value else None


def split_option(item: str) -> Tuple[str, str]:
    """Name and value of an option line. Example: `split_option("--index-url=http://x")`"""
    if not item.startswith("-"):
        return "", item
    if item.startswith("--"):
        name, _, value = item.replace("=", " ", 1).partition(" ")
        return name, value.strip()
    return item[:2], item[2:].lstrip("= ")
