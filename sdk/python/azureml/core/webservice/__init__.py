"""Web services: the names. They come with the feature 'web services'.

Example: `from azureml.core.webservice import Webservice`
"""

from azureml._internal.later import later_class as _class
from azureml.exceptions import WebserviceException  # noqa: F401

FEATURE = "web services"

Webservice = _class(FEATURE, "Webservice")
AciWebservice = _class(FEATURE, "AciWebservice")
AksWebservice = _class(FEATURE, "AksWebservice")
LocalWebservice = _class(FEATURE, "LocalWebservice")
AksEndpoint = _class(FEATURE, "AksEndpoint")
