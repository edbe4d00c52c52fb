"""Choices in the making of tabular datasets. Example: `header=PromoteHeadersBehavior.NO_HEADERS`"""

from enum import Enum


class PromoteHeadersBehavior(Enum):
    """Which files have a line of column names. Example: `header=PromoteHeadersBehavior.NO_HEADERS`"""

    NO_HEADERS = 0
    ONLY_FIRST_FILE_HAS_HEADERS = 1
    COMBINE_ALL_FILES_HEADERS = 2
    ALL_FILES_HAVE_SAME_HEADERS = 3
