"""Choosing rows of a table by their time."""

import datetime
from typing import TYPE_CHECKING, Any, Dict, Optional

from azureml.exceptions import UserErrorException


class TimeSeriesPart:
    """A part of TabularDataset. Example: `table.with_timestamp_columns("day").time_after(datetime(2020, 1, 1))`"""

    if TYPE_CHECKING:  # the rest of TabularDataset

        def __getattr__(self, name: str) -> Any: ...

    def with_timestamp_columns(self, timestamp=None, partition_timestamp=None, validate=False, **kwargs):
        # type: (Optional[str], Optional[str], bool, Any) -> Any
        """Say which column holds the time of a row. Example: `table.with_timestamp_columns(timestamp="day")`"""
        column = timestamp or kwargs.pop("fine_grain_timestamp", None)
        if kwargs and set(kwargs) != {"coarse_grain_timestamp"}:
            raise TypeError("with_timestamp_columns() got unexpected arguments: {}".format(", ".join(sorted(kwargs))))
        return self._with({"timestamp": column})

    @property
    def timestamp_columns(self) -> Any:
        """(column, None), or (None, None). Example: `table.timestamp_columns`"""
        return self._timestamp(), None

    def time_after(self, start_time: datetime.datetime, include_boundary: bool = True, validate: bool = True) -> Any:
        """Rows from a time on. Example: `table.time_after(datetime(2020, 1, 1))`"""
        return self._between(start_time, None, include_boundary)

    def time_before(self, end_time: datetime.datetime, include_boundary: bool = True, validate: bool = True) -> Any:
        """Rows up to a time. Example: `table.time_before(datetime(2020, 1, 1))`"""
        return self._between(None, end_time, include_boundary)

    def time_between(self, start_time, end_time, include_boundary=True, validate=True):
        # type: (datetime.datetime, datetime.datetime, bool, bool) -> Any
        """Rows of a span of time. Example: `table.time_between(datetime(2020, 1, 1), datetime(2020, 2, 1))`"""
        return self._between(start_time, end_time, include_boundary)

    def time_recent(self, time_delta: datetime.timedelta, include_boundary: bool = True, validate: bool = True) -> Any:
        """Rows of the last days, counted from now. Example: `table.time_recent(timedelta(days=7))`"""
        return self._between(datetime.datetime.now() - time_delta, None, include_boundary)

    def _timestamp(self) -> Optional[str]:
        found = None
        for step in self._definition.get("steps") or []:
            found = step.get("timestamp", found)
        return found

    def _between(self, start: Optional[datetime.datetime], end: Optional[datetime.datetime], inclusive: bool) -> Any:
        column = self._timestamp()
        if column is None:
            raise UserErrorException(
                "no column holds the time of a row\nhint: dataset.with_timestamp_columns(timestamp=NAME)"
            )
        told = {
            "column": column,
            "from": start and start.isoformat(),
            "to": end and end.isoformat(),
            "inclusive": inclusive,
        }
        return self._with({"time": {key: value for key, value in told.items() if value is not None}})


def rows_in_time(pandas: Any, frame: Any, told: Dict[str, Any]) -> Any:
    """The rows of a frame that a `time` step keeps."""
    times = pandas.to_datetime(frame[told["column"]])
    keep = times == times
    if "from" in told:
        start = pandas.Timestamp(told["from"])
        keep &= times >= start if told["inclusive"] else times > start
    if "to" in told:
        end = pandas.Timestamp(told["to"])
        keep &= times <= end if told["inclusive"] else times < end
    return frame[keep].reset_index(drop=True)
