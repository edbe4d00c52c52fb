"""Runs that tell what they see of their data."""

import sys

from .blobs import digest

FILES = {"a.txt": b"hello", "sub/größe/日本.csv": b"x,y\n1,2\n", "sub/empty": b"", "z.bin": bytes(range(256)) * 500}

# Prints {path: digest} of a folder as the script sees it.
WALK = """
import hashlib, json, os, sys
found = {}
for folder, _, files in os.walk(sys.argv[1]):
    for name in files:
        path = os.path.join(folder, name)
        found[os.path.relpath(path, sys.argv[1])] = hashlib.sha256(open(path, "rb").read()).hexdigest()
json.dump(found, open("outputs/found.json", "w"))
"""


def walk(client, inputs, argument="$AZUREML_DATAREFERENCE_data", **fields):
    return client.submit(
        [sys.executable, "-c", WALK], arguments=[argument], inputs=inputs, environment={"variables": {}}, **fields
    )


def found(client, run):
    return client.file(run, "outputs/found.json").expect(200).json()


def output(client, run, path):
    return client.file(run, path).expect(200).body.decode()


def digests(files):
    return {path: digest(data) for path, data in files.items()}
