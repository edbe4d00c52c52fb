"""The version of this package: that of the server it was built with (a test compares it with the file VERSION)."""

__version__ = "0.1.0"
