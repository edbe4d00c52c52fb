"""Widgets for notebooks. Example: `from azureml.widgets import RunDetails`"""

from lathe.lazy import export as _export

_export(__name__, {"RunDetails": "azureml.widgets.run_details"})
