"""The estimator of scikit-learn. Example: `from azureml.train.sklearn import SKLearn`"""

from typing import List, Optional

from azureml.train.dnn import _Framework


class SKLearn(_Framework):
    """scikit-learn. Example: `SKLearn(source_directory="src", entry_script="train.py", compute_target=target)`"""

    FRAMEWORK_NAME = "SKLearn"
    _versions = ["0.20.3"]
    _default = "0.20.3"

    def _packages_of(self, version: Optional[str], gpu: bool) -> List[str]:
        return ["scikit-learn=={}".format(self._version(version)), "joblib", "scipy", "numpy"]
