"""Images to log: a file of the user's, or what pyplot shows, saved for a moment."""

import contextlib
import os
import tempfile
from typing import Any, Iterator, Optional, Tuple


@contextlib.contextmanager
def image_file(path: Optional[str], plot: Any) -> Iterator[Tuple[str, str]]:
    """(file, suffix). `plot` is the module matplotlib.pyplot, or a figure: both can savefig."""
    if path is not None:
        yield path, os.path.splitext(path)[1] or ".png"
        return
    folder = tempfile.mkdtemp(prefix="lathe-image-")
    file = os.path.join(folder, "plot.png")
    try:
        plot.savefig(file)
        yield file, ".png"
    finally:
        if os.path.exists(file):
            os.remove(file)
        os.rmdir(folder)
