"""What `framework_version=` of an estimator stands for: exact packages of that version's time, and its Python."""

from typing import Any, Dict, List, NamedTuple, Optional

from azureml.exceptions import TrainingException

Release = NamedTuple("Release", [("packages", List[str]), ("python", str), ("horovod", Optional[str])])


def tensorflow(version: str, python: str, horovod: Optional[str]) -> Release:
    return Release(["tensorflow==" + version], python, horovod)


# The versions that the estimator knew, and those since. Horovod comes with MPI alone: it is built from its source.
TENSORFLOW = {
    "1.10": tensorflow("1.10.0", "3.6.2", "0.15.2"),
    "1.12": tensorflow("1.12.0", "3.6.2", "0.15.2"),
    "1.13": tensorflow("1.13.1", "3.6.2", "0.16.1"),
    "2.0": tensorflow("2.0.0", "3.6.2", "0.18.1"),
    "2.1": tensorflow("2.1.0", "3.6.2", "0.19.1"),
    "2.2": tensorflow("2.2.0", "3.6.2", "0.19.5"),
    "2.3": tensorflow("2.3.0", "3.6.2", "0.20.0"),
    "2.4": tensorflow("2.4.1", "3.7.9", "0.21.3"),
    "2.5": tensorflow("2.5.0", "3.8.13", "0.22.1"),
    "2.6": tensorflow("2.6.2", "3.8.13", "0.23.0"),
    "2.7": tensorflow("2.7.0", "3.8.13", "0.23.0"),
    "2.8": tensorflow("2.8.4", "3.8.13", "0.24.3"),
    "2.9": tensorflow("2.9.3", "3.8.13", "0.26.1"),
    "2.10": tensorflow("2.10.1", "3.8.13", "0.26.1"),
    "2.11": tensorflow("2.11.1", "3.8.13", "0.28.1"),
    "2.12": tensorflow("2.12.1", "3.10", "0.28.1"),
    "2.13": tensorflow("2.13.1", "3.10", "0.28.1"),
    "2.14": tensorflow("2.14.1", "3.10", "0.28.1"),
    "2.15": tensorflow("2.15.1", "3.10", "0.28.1"),
    "2.16": tensorflow("2.16.2", "3.10", None),  # Horovod does not build with it, nor with later ones
    "2.17": tensorflow("2.17.1", "3.10", None),
    "2.18": tensorflow("2.18.1", "3.11", None),
    "2.19": tensorflow("2.19.1", "3.11", None),
    "2.20": tensorflow("2.20.0", "3.11", None),
}
LAST_WITH_A_GPU_PACKAGE = "2.10"  # later ones have one package for both


def pytorch(version: str, vision: str, horovod: str) -> Release:
    return Release(["torch==" + version, "torchvision==" + vision], "3.6.2", horovod)


PYTORCH = {
    "1.0": pytorch("1.0.1.post2", "0.2.2.post3", "0.16.1"),
    "1.1": pytorch("1.1.0", "0.3.0", "0.16.1"),
    "1.2": pytorch("1.2.0", "0.4.0", "0.18.1"),
    "1.3": pytorch("1.3.1", "0.4.2", "0.18.1"),
    "1.4": pytorch("1.4.0", "0.5.0", "0.18.1"),
    "1.5": pytorch("1.5.1", "0.6.1", "0.19.5"),
    "1.6": pytorch("1.6.0", "0.7.0", "0.20.0"),
}
SKLEARN = {"0.20.3": Release(["scikit-learn==0.20.3", "scipy==1.2.1", "joblib==0.13.2"], "3.6.2", None)}
CHAINER = {"5.1.0": Release(["chainer==5.1.0"], "3.6.2", None), "7.0.0": Release(["chainer==7.0.0"], "3.6.2", None)}
CUPY = {"5.1.0": "cupy-cuda90==5.1.0", "7.0.0": "cupy-cuda101==7.0.0"}


def order(version: str) -> List[int]:
    """Example: `sorted(["2.10", "2.2"], key=order)` is ["2.2", "2.10"]."""
    return [int(part) for part in version.split(".")]


def release_of(estimator: str, known: Dict[str, Release], version: Optional[Any], default: str) -> Release:
    """The release of a version; a number is the text that it shows."""
    asked = default if version is None else str(version)
    if asked not in known:
        raise TrainingException(
            "{}: framework_version={!r} is not known; {} are\nhint: for another version give environment_definition=, or "
            "submit a ScriptRunConfig with an environment of your own".format(
                estimator, version, ", ".join(sorted(known, key=order))
            )
        )
    return known[asked]


def gpu_name(packages: List[str], version: str) -> List[str]:
    """TensorFlow's package for GPUs, as long as there was one of its own."""
    if order(version) > order(LAST_WITH_A_GPU_PACKAGE):
        return packages
    return [package.replace("tensorflow==", "tensorflow-gpu==") for package in packages]
