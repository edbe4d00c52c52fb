"""The source folder of a run as a zip."""

import os
import zipfile
from typing import Any

from lathe.downloads import read_all
from lathe.tree import decode_tree


def zip_of_tree(api: Any, digest: str, folder: str, name: str) -> str:
    """Write NAME.zip with the files of a tree into `folder`; its path."""
    entries = decode_tree(read_all(api, api.path("trees", digest)))
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, "{}.zip".format(name))
    with zipfile.ZipFile(target + ".new", "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.path.decode("utf-8"), (1980, 1, 1, 0, 0, 0))
            mode = 0o120777 if entry.target else (0o100755 if entry.executable else 0o100644)
            info.external_attr = mode << 16
            data = entry.target if entry.target else read_all(api, api.path("blobs", entry.digest), {"tree": digest})
            archive.writestr(info, data)
    os.replace(target + ".new", target)
    return target
