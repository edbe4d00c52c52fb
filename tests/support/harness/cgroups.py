"""Control groups that Lathe has made, in every hierarchy. They may go while they are looked for."""

import contextlib
import os
import pathlib


def starting_with(*prefixes):
    found = (pathlib.Path(path) for path, _, _ in os.walk("/sys/fs/cgroup"))
    return [path for path in found if path.name.startswith(prefixes)]


def of_runs(runs):
    return starting_with(*(f"lathe-{run}-" for run in runs))


def are_removed(groups):
    """Removes what is empty. The kernel lets go of a group a moment after its last process: ask again until it is true."""
    for group in groups:
        with contextlib.suppress(OSError):
            group.rmdir()
    return not any(group.exists() for group in groups)
