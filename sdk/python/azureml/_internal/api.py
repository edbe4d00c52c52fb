"""The client with the vendor's exceptions: a script that catches AzureMLException catches everything the server says."""

import contextlib
from typing import Any

from lathe.client import Client
from lathe.errors import Conflict, LatheError, NotFound, Unavailable

from azureml.exceptions import AuthenticationException, ServiceException, UserErrorException


class ApiError(ServiceException, LatheError):
    """A refusal of the server."""

    def __init__(self, told: LatheError) -> None:
        LatheError.__init__(self, told.message, told.code, told.hint, told.field, told.status)
        self.status_code = told.status
        self.inner_exception = told

    def __str__(self) -> str:
        return LatheError.__str__(self)


class ApiNotFound(ApiError, NotFound):
    """404"""


class ApiConflict(ApiError, Conflict):
    """409"""


class ApiUnavailable(ApiError, Unavailable):
    """No answer."""


class ApiInvalid(ApiError, UserErrorException):
    """400, 413, 422: the request is wrong."""


class ApiForbidden(ApiError, AuthenticationException):
    """401, 403"""


BY_STATUS = {400: ApiInvalid, 413: ApiInvalid, 422: ApiInvalid, 401: ApiForbidden, 403: ApiForbidden}
BY_KIND = ((NotFound, ApiNotFound), (Conflict, ApiConflict), (Unavailable, ApiUnavailable))


def translated(problem: LatheError) -> ApiError:
    """The exception that scripts know for an error of the client."""
    if isinstance(problem, ApiError):
        return problem
    for kind, ours in BY_KIND:
        if isinstance(problem, kind):
            return ours(problem)
    if problem.code == "unauthorized":
        return ApiForbidden(problem)
    return BY_STATUS.get(problem.status, ApiInvalid if problem.code in ("invalid", "conflict") else ApiError)(problem)


class Api(Client):
    """The client of the azureml layer. Example: `Api(find_server()).get(Api.path("server"))`"""

    def retry(self, exchange: Any, patience: Any = None) -> Any:
        try:
            return super(Api, self).retry(exchange, patience)
        except LatheError as problem:
            raise translated(problem) from problem.__cause__

    @contextlib.contextmanager
    def stream(self, *args: Any, **kwargs: Any) -> Any:
        try:
            with super(Api, self).stream(*args, **kwargs) as response:
                yield response
        except LatheError as problem:
            raise translated(problem) from problem.__cause__
