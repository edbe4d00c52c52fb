"""LogCopy: copies a log of the server to a stream while it grows, across restarts of the server."""

import codecs
import time
from typing import Any, Dict, Optional

from lathe.client import TROUBLE
from lathe.errors import NotFound, Unavailable
from lathe.events import GIVE_UP, QUIET


class LogCopy:
    """Goes on where it was after trouble. Example: `LogCopy(api, run._path("logs"), sys.stdout).until_over()`"""

    def __init__(self, api: Any, path: str, out: Any, **query: Any) -> None:
        self.api, self.path, self.out, self.query = api, path, out, query  # type: Any, str, Any, Dict[str, Any]
        self.offset = 0
        self.decode = codecs.getincrementaldecoder("utf-8")("replace")

    def until_over(self) -> bool:
        """Until the server says that no more will come; False where there is no such log."""
        silent_since = time.monotonic()
        while True:
            before = self.offset
            try:
                self._copy()
                break
            except NotFound:
                return False
            except (Unavailable,) + TROUBLE:
                if self.offset > before:
                    silent_since = time.monotonic()
                if time.monotonic() - silent_since > GIVE_UP:
                    raise
                time.sleep(0.2)
        self._show(self.decode.decode(b"", True))
        return True

    def _copy(self) -> None:
        query = dict(self.query, offset=self.offset, follow=True)
        with self.api.stream("GET", self.path, query, timeout=QUIET) as stream:
            while True:
                piece = stream.read1(65536)
                if not piece:
                    return
                self.offset += len(piece)
                self._show(self.decode.decode(piece))

    def _show(self, text: str) -> None:
        if self.out is not None:
            say(self.out, text, end="")


def say(out: Optional[Any], text: str, end: str = "\n") -> None:
    if out is not None:
        out.write(text + end)
        out.flush()
