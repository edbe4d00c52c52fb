"""Reads api/openapi.yaml: operations, their permissions, and which operation a request belongs to."""

import dataclasses
import functools
import json
import re

import yaml

from . import paths

METHODS = ("get", "put", "post", "delete", "patch", "head")


@dataclasses.dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    permission: str
    pattern: re.Pattern


@functools.cache
def document():
    return yaml.safe_load(paths.CONTRACT.read_text())


@functools.cache
def operations():
    found = []
    for path, item in document()["paths"].items():
        pattern = re.compile("^" + re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)) + "$")
        for method in METHODS:
            if method in item:
                found.append(
                    Operation(item[method]["operationId"], method.upper(), path, item[method]["x-permission"], pattern)
                )
    # Fixed segments before parameters: /blobs/missing is not the blob "missing".
    return sorted(found, key=lambda operation: operation.path.count("{"))


def operation_of(method, path):
    for operation in operations():
        if operation.method == method and operation.pattern.match(path):
            return operation
    return None


def example(name):
    return json.loads((paths.EXAMPLES / f"{name}.json").read_text())


def media_examples():
    """(where, schema, file) for every externalValue of the document."""

    def walk(node, where):
        if isinstance(node, dict):
            if "schema" in node and "examples" in node and isinstance(node["examples"], dict):
                for entry in node["examples"].values():
                    if "externalValue" in entry:
                        yield where, node["schema"], entry["externalValue"]
            for key, value in node.items():
                yield from walk(value, f"{where}/{key}")
        elif isinstance(node, list):
            for index, value in enumerate(node):
                yield from walk(value, f"{where}/{index}")

    return list(walk(document(), ""))
