"""Errors of the client: what a server answered, or why there was no answer. `str(e)` ends with what to do next."""

import json
from typing import Optional


class LatheError(Exception):
    """What went wrong: `code`, `message`, and, where known, `hint`, `field` and the HTTP `status`.

    Example:

        try:
            client.get("/api/v1/workspaces/nowhere")
        except LatheError as error:
            print(error.code, error.hint)
    """

    def __init__(self, message, code="internal", hint=None, field=None, status=0):
        # type: (str, str, Optional[str], Optional[str], int) -> None
        super(LatheError, self).__init__(message)
        self.message, self.code, self.hint, self.field, self.status = message, code, hint, field, status

    def __str__(self) -> str:
        return self.message + ("\nhint: " + self.hint if self.hint else "")


class NotFound(LatheError):
    """There is no such thing (404)."""


class Conflict(LatheError):
    """The same name or id with other content, or a state that does not allow it (409)."""


class Unavailable(LatheError):
    """No answer: the server is away, stopping or busy. Such calls are tried again for a while."""


CLASSES = {404: NotFound, 409: Conflict, 429: Unavailable, 503: Unavailable}


def error_of_answer(status: int, body: bytes, what: str) -> LatheError:
    """The error that an answer stands for. A body that is not ours (a proxy's page) is quoted."""
    try:
        told = json.loads(body.decode("utf-8"))
        message, code = told["message"], told["code"]
        hint, field = told.get("hint"), told.get("field")
    except (ValueError, KeyError, TypeError, AttributeError):
        text = body[:200].decode("utf-8", "replace").strip()
        message, code, hint, field = "{} was answered with {}: {}".format(what, status, text), "internal", None, None
    return CLASSES.get(status, LatheError)(message, code, hint, field, status)
