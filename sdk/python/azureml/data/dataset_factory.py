"""The makers behind Dataset.File and Dataset.Tabular."""

from typing import Any, Dict, Optional

from azureml._data.sources import check_urls, sources_of
from azureml.data.dataset_type_definitions import PromoteHeadersBehavior
from azureml.data.file_dataset import FileDataset
from azureml.data.tabular_dataset import TabularDataset
from azureml.exceptions import UserErrorException


class DataType:
    """Types of columns. Example: `set_column_types={"day": DataType.to_datetime()}`"""

    @staticmethod
    def to_string() -> str:
        """Text. Example: `DataType.to_string()`"""
        return "string"

    @staticmethod
    def to_long() -> str:
        """Whole numbers. Example: `DataType.to_long()`"""
        return "long"

    @staticmethod
    def to_float(*_: Any, **__: Any) -> str:
        """Numbers. Example: `DataType.to_float()`"""
        return "float"

    @staticmethod
    def to_bool(*_: Any, **__: Any) -> str:
        """True and false. Example: `DataType.to_bool()`"""
        return "bool"

    @staticmethod
    def to_datetime(*_: Any, **__: Any) -> str:
        """Times. Example: `DataType.to_datetime()`"""
        return "datetime"


class FileDatasetFactory:
    """Dataset.File. Example: `Dataset.File.from_files("https://host/a.gz")`"""

    @staticmethod
    def from_files(path, validate=True, partition_format=None, is_file=False):
        # type: (Any, bool, Optional[str], bool) -> FileDataset
        """Files by URL, by (datastore, path), with `*` and `**`, or lists of those.

        Example: `Dataset.File.from_files((store, "images/**/*.png"))`
        """
        sources, workspace = sources_of(path)
        if validate:
            check_urls(sources)
        definition = {"kind": "file", "sources": sources}  # type: Dict[str, Any]
        if partition_format:
            definition["options"] = {"partition_format": partition_format}
        return FileDataset(definition, workspace)

    @staticmethod
    def upload_directory(src_dir, target, pattern=None, overwrite=False, show_progress=True):
        # type: (str, Any, Optional[str], bool, bool) -> FileDataset
        """Send a folder and make a dataset of it.

        Example: `Dataset.File.upload_directory("./data", (store, "data"))`
        """
        import fnmatch
        import os

        from azureml._run.files import existing_folder, files_below
        from azureml.data.datapath import DataPath

        if isinstance(target, DataPath):
            target = (target._datastore, target.path_on_datastore)
        store, path = target if isinstance(target, tuple) else (target, "")
        names = [
            name for name in files_below(existing_folder(src_dir)) if not pattern or fnmatch.fnmatch(name, pattern)
        ]
        if not names:
            raise UserErrorException("there are no files to upload in {}".format(src_dir))
        files = [os.path.join(src_dir, name) for name in names]
        store.upload_files(
            files, relative_root=src_dir, target_path=path, overwrite=overwrite, show_progress=show_progress
        )
        return FileDatasetFactory.from_files((store, path), validate=False)


class TabularDatasetFactory:
    """Dataset.Tabular. Example: `Dataset.Tabular.from_delimited_files((store, "weather/*.csv"))`"""

    @staticmethod
    def from_delimited_files(
        path, validate=True, include_path=False, infer_column_types=True, set_column_types=None, separator=",",
        header=PromoteHeadersBehavior.ALL_FILES_HAVE_SAME_HEADERS, partition_format=None, support_multi_line=False,
        empty_as_string=False, encoding="utf8",
    ):  # fmt: skip
        # type: (...) -> TabularDataset
        """Rows of text files. Example: `Dataset.Tabular.from_delimited_files("https://host/a.csv", separator=";")`"""
        plain = header in (False, PromoteHeadersBehavior.NO_HEADERS)
        options = {"format": "delimited", "separator": separator, "infer_column_types": bool(infer_column_types),
                   "header": "NO_HEADERS" if plain else "HEADERS", "encoding": encoding}  # fmt: skip
        return table(path, validate, include_path, set_column_types, options)

    @staticmethod
    def from_parquet_files(path, validate=True, include_path=False, set_column_types=None, partition_format=None):
        # type: (Any, bool, bool, Any, Optional[str]) -> TabularDataset
        """Rows of Parquet files. Example: `Dataset.Tabular.from_parquet_files((store, "a.parquet"))`"""
        return table(path, validate, include_path, set_column_types, {"format": "parquet"})

    @staticmethod
    def from_json_lines_files(path, validate=True, include_path=False, set_column_types=None, partition_format=None,
                              invalid_lines="error", encoding="utf8"):  # fmt: skip
        # type: (...) -> TabularDataset
        """One JSON object per line. Example: `Dataset.Tabular.from_json_lines_files((store, "a.jsonl"))`"""
        return table(path, validate, include_path, set_column_types, {"format": "json_lines", "encoding": encoding})

    @staticmethod
    def register_pandas_dataframe(dataframe, target, name, description=None, tags=None, show_progress=True):
        # type: (Any, Any, str, Optional[str], Any, bool) -> TabularDataset
        """Keep a DataFrame as a registered dataset.

        Example: `register_pandas_dataframe(frame, (store, "t"), "table")`
        """
        import os
        import tempfile
        import uuid

        store, path = target if isinstance(target, tuple) else (target, "managed-dataset")
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, uuid.uuid4().hex + ".csv")
            dataframe.to_csv(file, index=False)
            store.upload_files([file], relative_root=folder, target_path=path, show_progress=show_progress)
            made = TabularDatasetFactory.from_delimited_files((store, "{}/{}".format(path, os.path.basename(file))))
        return made.register(store.workspace, name, description, tags, create_new_version=True)

    @staticmethod
    def from_sql_query(query: Any, validate: bool = True, set_column_types: Any = None, query_timeout: int = 30) -> Any:
        """Comes with databases."""
        from azureml._internal.later import not_yet

        raise not_yet("databases", "Dataset.Tabular.from_sql_query")


def table(path: Any, validate: bool, include_path: bool, types: Any, options: Dict[str, Any]) -> TabularDataset:
    sources, workspace = sources_of(path)
    if validate:
        check_urls(sources)
    if include_path:
        options["include_path"] = True
    if types:
        options["set_column_types"] = dict(types)
    return TabularDataset({"kind": "tabular", "sources": sources, "options": options}, workspace)
