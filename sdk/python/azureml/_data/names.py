"""Names of inputs and outputs of runs: words that can be part of an environment variable."""

import re
import uuid


def random_name() -> str:
    """32 hex digits, a letter first. Example: `random_name()`"""
    text = uuid.uuid4().hex
    return "abcdef"[int(text[0], 16) % 6] + text[1:]


def name_from(text: str) -> str:
    """A word made of any text. Example: `name_from("my-store")` is "my_store"."""
    word = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return word if re.match(r"[A-Za-z_]", word) else "_" + word
