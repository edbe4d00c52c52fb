"""The server as the package index of its own SDK."""

import base64
import hashlib
import io
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from harness.paths import REPOSITORY


def pip_install(url, folder, *packages):
    index = [f"--index-url={url}/sdk/simple/", "--no-cache-dir", "--disable-pip-version-check", "--isolated"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", *index, f"--target={folder}", *packages]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def pip():
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
        pytest.skip("the test tools have no pip")


def import_version(folder):
    code = "import azureml.core, lathe; print(lathe.__version__)"
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(folder)!r}); {code}"],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_sdk_installs_from_the_server_without_a_token(server, client, pip, tmp_path):
    done = pip_install(client.url, tmp_path, "lathe-sdk")
    assert done.returncode == 0, done.stderr
    assert import_version(tmp_path) == client.get("/api/v1/server").expect(200).json()["version"]


def test_the_vendors_names_bring_our_sdk(server, client, pip, tmp_path):
    done = pip_install(client.url, tmp_path, "azureml-defaults", "azureml-sdk")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "azureml" / "core").is_dir() and (tmp_path / "lathe").is_dir()


@pytest.mark.parametrize(
    "wanted",
    ["azureml-defaults==1.15.0", "azureml-core~=1.30", "azureml-sdk==1.0.43", "azureml-train-core==1.6.0.post1",
     "azureml-core>=1.0.2,<1.1", "azureml-dataprep==1.1.38", "azureml-widgets[x]==1.47.0"],
)  # fmt: skip
@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_pins_of_the_vendors_packages_are_met(server, client, pip, tmp_path, tool, wanted):
    if tool == "uv":
        uv = shutil.which("uv") or REPOSITORY / ".lathe-tools/uv/bin/uv"
        if not pathlib.Path(uv).exists():
            pytest.skip("there is no uv")
        done = subprocess.run([uv, "pip", "install", "--quiet", "--no-cache", f"--default-index={client.url}/sdk/simple/", "--python", sys.executable,
                               f"--target={tmp_path}", wanted], capture_output=True, text=True, timeout=120)  # fmt: skip
    else:
        done = pip_install(client.url, tmp_path, wanted)
    assert done.returncode == 0, done.stderr
    assert import_version(tmp_path) == client.get("/api/v1/server").expect(200).json()["version"]
    if "==" in wanted:
        name, version = re.match(r"([\w-]+).*==(.*)", wanted).groups()
        assert (tmp_path / f"{name.replace('-', '_')}-{version}.dist-info").is_dir()


def test_a_version_that_never_was_is_not_met(server, client, pip, tmp_path):
    done = pip_install(client.url, tmp_path, "azureml-core==7.0.0")
    assert done.returncode != 0 and "No matching distribution" in done.stderr
    for name in ("azureml_core-7.0.0-py3-none-any.whl", "numpy-1.15.0-py3-none-any.whl", "lathe_sdk-1.15.0-py3-none-any.whl"):
        client.request("GET", f"/sdk/files/{name}").expect(404)


def test_an_alias_is_a_sound_wheel_and_the_same_each_time(server, client):
    fetch = "/sdk/files/azureml_defaults-1.15.0-py3-none-any.whl"
    wheel = client.request("GET", fetch).expect(200).body
    assert wheel == client.request("GET", fetch).expect(200).body
    archive = zipfile.ZipFile(io.BytesIO(wheel))
    assert archive.testzip() is None
    info = "azureml_defaults-1.15.0.dist-info/"
    for line in archive.read(info + "RECORD").decode().splitlines()[:-1]:
        path, digest, size = line.split(",")
        data = archive.read(path)
        shown = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert (digest, int(size)) == (f"sha256={shown}", len(data))


def test_the_same_sources_give_the_same_wheel(server, client):
    page = client.request("GET", "/sdk/simple/lathe-sdk/").expect(200).body.decode()
    name = page.split("../../files/")[1].split("#")[0]
    wheel = client.request("GET", f"/sdk/files/{name}").expect(200).body
    assert hashlib.sha256(wheel).hexdigest() == page.split("#sha256=")[1].split('"')[0]
    assert zipfile.ZipFile(io.BytesIO(wheel)).testzip() is None


def test_other_packages_are_not_found(server, client):
    answer = client.request("GET", "/sdk/simple/numpy/").expect(404).json()
    assert answer["field"] == "project" and "--extra-index-url" in answer["hint"]
    client.request("GET", "/sdk/files/..%2Ftoken").expect(404)
