"""The exceptions that scripts catch. `str(e)` says what happened and, where it is known, what to do.

Example:

    from azureml.exceptions import ComputeTargetException
    try:
        ComputeTarget(ws, "gpu-cluster")
    except ComputeTargetException:
        print("not there yet")
"""

from typing import Any, Optional


class AzureMLException(Exception):
    """What all of them are. `message` is the text."""

    def __init__(self, exception_message: str = "", inner_exception: Optional[BaseException] = None, **_: Any) -> None:
        super(AzureMLException, self).__init__(exception_message)
        self.message = exception_message
        self.inner_exception = inner_exception

    def __str__(self) -> str:
        return str(self.message)


class UserErrorException(AzureMLException):
    """What was asked for cannot be, whatever the server does."""


class ServiceException(AzureMLException):
    """The server refused or failed. `status_code` is that of HTTP."""

    status_code = 0


class AuthenticationException(AzureMLException):
    """No valid token, or one without the permission."""


class WorkspaceException(AzureMLException):
    """No such workspace, or no config.json that names one."""


class ProjectSystemException(UserErrorException):
    """A file of the project is missing or wrong."""


class ComputeTargetException(AzureMLException):
    """No such compute target, or it cannot be made."""


class ExperimentException(AzureMLException):
    """The experiment cannot be used so."""


class ExperimentExecutionException(AzureMLException):
    """The run could not be submitted."""


class TrainingException(UserErrorException):
    """An estimator was given what does not fit together."""


class ActivityFailedException(AzureMLException):
    """A run failed; the text has the end of its output. `error_details` is the error part of get_details()."""

    def __init__(self, exception_message: str = "", error_details: Any = None, **more: Any) -> None:
        super(ActivityFailedException, self).__init__(exception_message, **more)
        self.error_details = error_details


class RunEnvironmentException(AzureMLException):
    """This is not inside a submitted run."""


class SnapshotException(AzureMLException):
    """The source folder cannot be sent."""


class WebserviceException(AzureMLException):
    """No such web service, or it failed. `status_code` is that of HTTP."""

    status_code = 0


class ImageException(AzureMLException):
    """No such image."""


class ModelNotFoundException(AzureMLException):
    """No such model or version."""


class ModelPathNotFoundException(AzureMLException):
    """Nothing is at the path of the model."""


class DatasetValidationError(UserErrorException):
    """The data of a dataset cannot be read as it says."""


class ArgumentException(UserErrorException):
    """An argument is wrong."""
