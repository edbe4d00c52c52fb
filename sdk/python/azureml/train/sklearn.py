"""The estimator of scikit-learn. Example: `from azureml.train.sklearn import SKLearn`"""

from azureml.train._frameworks import SKLEARN
from azureml.train.dnn import _Framework


class SKLearn(_Framework):
    """scikit-learn. Example: `SKLearn(source_directory="src", entry_script="train.py", compute_target=target)`"""

    FRAMEWORK_NAME = "SKLearn"
    _releases = SKLEARN
    _default = "0.20.3"
    _curated = {"0.20.3": "AzureML-Scikit-learn-0.20.3"}
