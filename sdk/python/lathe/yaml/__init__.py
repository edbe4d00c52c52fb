"""A strict subset of YAML for conda files and .runconfig files, without PyYAML: block maps and lists, flow
collections on one line, plain and quoted scalars, comments, `|` and `>` texts. What it does not know (anchors,
tags, several documents) it refuses with the line's number instead of guessing.
"""

from lathe.yaml.reader import YamlError, read_yaml  # noqa: F401
from lathe.yaml.writer import write_yaml  # noqa: F401
