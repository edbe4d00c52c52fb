"""Documents and the wheel say what is there."""

import hashlib
import pathlib
import subprocess
import sys
import zipfile

SDK = pathlib.Path(__file__).resolve().parents[2]


def test_the_list_of_names_is_up_to_date():
    subprocess.run([sys.executable, SDK / "make_reference.py", "--check"], check=True)


def test_the_version_is_that_of_the_repository():
    from lathe import __version__

    assert __version__ == (SDK.parents[1] / "VERSION").read_text().strip()


def test_the_wheel_is_whole_and_the_same_every_time(tmp_path):
    digests = []
    for name in ("first", "second"):
        subprocess.run(
            [sys.executable, SDK / "build_wheel.py", "--to", tmp_path / name, "--aliases"],
            check=True,
            capture_output=True,
        )
        (wheel,) = (tmp_path / name).glob("lathe_sdk-*.whl")
        digests.append(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert digests[0] == digests[1]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        recorded = archive.read(next(name for name in names if name.endswith("RECORD"))).decode().splitlines()
    assert {line.split(",")[0] for line in recorded} == set(names)
    for name in ("azureml/core/run.py", "azureml/py.typed", "lathe/py.typed", "azureml/core/compute/vm_sizes.csv"):
        assert name in names
    assert not [name for name in names if "test" in name or "__pycache__" in name]
    assert len(list((tmp_path / "first").glob("azureml_*.whl"))) > 10


def test_an_installed_wheel_works_without_network(tmp_path):
    wheels = tmp_path / "wheels"
    subprocess.run(
        [sys.executable, SDK / "build_wheel.py", "--to", wheels, "--aliases"], check=True, capture_output=True
    )
    with zipfile.ZipFile(next(wheels.glob("lathe_sdk-*.whl"))) as archive:
        archive.extractall(tmp_path / "site")
    program = (
        "from azureml.core import Workspace, Run, Dataset, Model, Environment; import lathe; print(lathe.__file__)"
    )
    told = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n{program}"],
                          check=True, capture_output=True, text=True)  # fmt: skip
    assert told.stdout.strip().startswith(str(tmp_path / "site"))
