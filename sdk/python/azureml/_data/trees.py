"""Fetching a whole tree: a dataset's files or a model."""

import os
from typing import Any, List

from lathe.downloads import download_blob, read_all
from lathe.parallel import in_parallel
from lathe.tree import TreeEntry, decode_tree

from azureml.exceptions import UserErrorException


def entries_of(api: Any, digest: str) -> List[TreeEntry]:
    return decode_tree(read_all(api, api.path("trees", digest)))


def fetch_tree(
    api: Any, tree: str, entries: List[TreeEntry], folder: str, overwrite: bool, leave_existing: bool = False
) -> List[str]:
    """Write these files of a tree into a folder, several at a time; their paths in order."""
    targets = [os.path.join(folder, entry.path.decode("utf-8")) for entry in entries]
    if not overwrite and not leave_existing:
        there = [target for target in targets if os.path.lexists(target)]
        if there:
            raise UserErrorException("{} exists already\nhint: overwrite=True".format(there[0]))

    def fetch(pair):
        # type: (Any) -> None
        entry, target = pair
        if leave_existing and os.path.lexists(target):
            return
        if not entry.target:
            download_blob(api, entry.digest, target, entry.executable, entry.size, tree)
            return
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        if os.path.lexists(target):
            os.remove(target)
        os.symlink(entry.target.decode("utf-8"), target)

    in_parallel(fetch, zip(entries, targets))
    return targets
