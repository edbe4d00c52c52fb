"""TabularDataset: rows of delimited, Parquet or JSON files. Reading them needs pandas where it happens."""

from typing import Any, List, Union

from azureml._data.time_series import TimeSeriesPart
from azureml.data.abstract_dataset import AbstractDataset


class TabularDataset(TimeSeriesPart, AbstractDataset):
    """Rows.

    Example:

        table = Dataset.Tabular.from_delimited_files((store, "weather/*.csv"))
        frame = table.keep_columns(["day", "rain"]).take(100).to_pandas_dataframe()
    """

    def to_pandas_dataframe(self, on_error: str = "null", out_of_range_datetime: str = "null") -> Any:
        """All rows as a DataFrame. Example: `table.to_pandas_dataframe().head()`"""
        from azureml._data.frames import read_frame

        return read_frame(self, self._need_workspace("reading"))

    def keep_columns(self, columns: Union[str, List[str]], validate: bool = False) -> "TabularDataset":
        """Only these columns. Example: `table.keep_columns(["day", "rain"])`"""
        return self._with({"keep_columns": names_of(columns)})

    def drop_columns(self, columns: Union[str, List[str]]) -> "TabularDataset":
        """Without these columns. Example: `table.drop_columns("id")`"""
        return self._with({"drop_columns": names_of(columns)})

    def to_csv_files(self, separator: str = ",") -> Any:
        """Not offered: to_pandas_dataframe().to_csv() does it."""
        from azureml._internal.later import not_yet

        raise not_yet("converting datasets", "TabularDataset.to_csv_files")

    def filter(self, expression: Any) -> "TabularDataset":
        """Not offered yet: filter the DataFrame."""
        from azureml._internal.later import not_yet

        raise not_yet("filtering rows", "TabularDataset.filter")


def names_of(columns: Union[str, List[str]]) -> List[str]:
    return [columns] if isinstance(columns, str) else [str(name) for name in columns]
