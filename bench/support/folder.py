"""Where benchmarks write: a folder on the disk of the checkout (or $LATHE_BENCH_DIR), removed at the end."""

import contextlib
import os
import pathlib
import shutil
import tempfile


@contextlib.contextmanager
def bench_folder():
    # /var/tmp, because /tmp may be memory, and its path is short enough for a Unix socket.
    parent = pathlib.Path(os.environ.get("LATHE_BENCH_DIR", "/var/tmp"))
    parent.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lathe-bench-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
