#!/usr/bin/env python3
"""Builds the wheel of the SDK with the standard library alone: no network, and equal sources give equal bytes.

usage: build_wheel.py [--to DIR] [--aliases]
  --aliases   also writes, for each distribution name of the vendor, an empty wheel that needs lathe-sdk, so that
              `azureml-defaults` and its like in requirement files are met without installing theirs

It is also the build backend that pyproject.toml names, so `pip install .` works, too.
"""

import argparse
import base64
import hashlib
import os
import sys
import zipfile
from typing import Dict, List, Optional

ROOT = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ("azureml", "lathe")
SUFFIXES = (".py", ".typed", ".csv")
LONG_AGO = (1980, 1, 1, 0, 0, 0)
ALIAS_VERSION = "1.60.0"
ALIASES = [
    "azureml-core", "azureml-sdk", "azureml-defaults", "azureml-train", "azureml-train-core",
    "azureml-train-restclients-hyperdrive", "azureml-widgets", "azureml-mlflow", "azureml-dataprep",
    "azureml-dataset-runtime", "azureml-telemetry", "azureml-opendatasets", "azureml-tensorboard",
    "azureml-monitoring", "azureml-contrib-services", "azureml-model-management-sdk", "azureml-pipeline",
    "azureml-pipeline-core", "azureml-pipeline-steps", "azureml-inference-server-http", "azureml-interpret",
]  # fmt: skip


def version() -> str:
    with open(os.path.join(ROOT, "lathe", "version.py"), encoding="utf-8") as file:
        return file.read().split('__version__ = "')[1].split('"')[0]


def module_files() -> Dict[str, bytes]:
    """Everything that is installed, by its name in the wheel."""
    found = {}
    for package in PACKAGES:
        for here, folders, names in os.walk(os.path.join(ROOT, package)):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    path = os.path.join(here, name)
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, ROOT).replace(os.sep, "/")] = file.read()
    return found


def metadata(name: str, number: str, needs: List[str]) -> bytes:
    lines = [
        "Metadata-Version: 2.1",
        "Name: " + name,
        "Version: " + number,
        "Requires-Python: >=3.6",
        "License: Apache-2.0",
    ]
    lines += ["Summary: The azureml interface and a thin client for Lathe servers"] + [
        "Requires-Dist: " + one for one in needs
    ]
    return ("\n".join(lines) + "\n").encode()


def write_wheel(folder: str, name: str, number: str, files: Dict[str, bytes], needs: List[str]) -> str:
    """One wheel; its file name."""
    base = "{}-{}".format(name.replace("-", "_"), number)
    info = base + ".dist-info/"
    files = dict(files)
    files[info + "METADATA"] = metadata(name, number, needs)
    files[info + "WHEEL"] = b"Wheel-Version: 1.0\nGenerator: lathe\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[info + "top_level.txt"] = "".join(package + "\n" for package in PACKAGES if not needs).encode()
    record = ["{},sha256={},{}".format(path, digest(data), len(data)) for path, data in sorted(files.items())]
    files[info + "RECORD"] = ("\n".join(record + [info + "RECORD,,"]) + "\n").encode()
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, base + "-py3-none-any.whl")
    with zipfile.ZipFile(target + ".new", "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(files.items(), key=lambda item: (".dist-info/" in item[0], item[0])):
            entry = zipfile.ZipInfo(path, LONG_AGO)
            entry.external_attr, entry.compress_type, entry.create_system = 0o100644 << 16, zipfile.ZIP_DEFLATED, 3
            archive.writestr(entry, data)
    os.replace(target + ".new", target)
    return os.path.basename(target)


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def build_wheel(
    wheel_directory: str, config_settings: Optional[dict] = None, metadata_directory: Optional[str] = None
) -> str:
    """The hook that pip calls."""
    return write_wheel(wheel_directory, "lathe-sdk", version(), module_files(), [])


def build_sdist(sdist_directory: str, config_settings: Optional[dict] = None) -> str:
    """The other hook that pip may call: the same files with what builds them."""
    import io
    import tarfile

    base = "lathe_sdk-" + version()
    files = module_files()
    for name in ("pyproject.toml", "build_wheel.py"):
        with open(os.path.join(ROOT, name), "rb") as file:
            files[name] = file.read()
    files["PKG-INFO"] = metadata("lathe-sdk", version(), [])
    with tarfile.open(os.path.join(sdist_directory, base + ".tar.gz"), "w:gz") as archive:
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(base + "/" + path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return base + ".tar.gz"


def build_aliases(folder: str) -> List[str]:
    needs = ["lathe-sdk (=={})".format(version())]
    return [write_wheel(folder, name, ALIAS_VERSION, {}, needs) for name in ALIASES]


def main(arguments: List[str]) -> None:
    parser = argparse.ArgumentParser(description="Builds the wheel of the SDK.")
    parser.add_argument("--to", default=os.path.join(ROOT, "dist"), metavar="DIR", help="where to (sdk/python/dist)")
    parser.add_argument("--aliases", action="store_true", help="also the empty wheels under the vendor's names")
    told = parser.parse_args(arguments)
    made = [build_wheel(told.to)] + (build_aliases(told.to) if told.aliases else [])
    for name in made:
        print(os.path.join(told.to, name))


if __name__ == "__main__":
    main(sys.argv[1:])
