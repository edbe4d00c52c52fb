"""MNIST as a dataset of its four original files. Which mirror they come from is the user's to choose."""

import os
from typing import Any, Optional

BASE = "http://yann.lecun.com/exdb/mnist/"
FILES = {
    "train": ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"],
    "test": ["t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"],
}


class MNIST:
    """Handwritten digits. LATHE_MNIST_URL names another folder on the web that holds the four files.

    Example: `MNIST.get_file_dataset().register(ws, "mnist").download("./data")`
    """

    _registry_id = "mnist"

    @staticmethod
    def get_file_dataset(dataset_filter: Optional[str] = None, **_: Any) -> Any:
        """The four files, or those of `train` or `test`. Example: `MNIST.get_file_dataset("train")`"""
        from azureml.core.dataset import Dataset

        base = os.environ.get("LATHE_MNIST_URL", BASE).rstrip("/") + "/"
        wanted = [dataset_filter] if dataset_filter in FILES else sorted(FILES, reverse=True)
        urls = [base + name for part in wanted for name in FILES[part]]
        return Dataset.File.from_files(urls, validate=False)

    @staticmethod
    def get_tabular_dataset(dataset_filter: Optional[str] = None, **_: Any) -> Any:
        """Not offered: the files are images."""
        from azureml._internal.later import not_yet

        raise not_yet("converting datasets", "MNIST.get_tabular_dataset")
