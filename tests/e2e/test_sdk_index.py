"""The server as the package index of its own SDK."""

import subprocess
import sys
import zipfile

import pytest


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


def test_the_same_sources_give_the_same_wheel(server, client):
    page = client.request("GET", "/sdk/simple/lathe-sdk/").expect(200).body.decode()
    name = page.split("../../files/")[1].split("#")[0]
    wheel = client.request("GET", f"/sdk/files/{name}").expect(200).body
    import hashlib
    import io

    assert hashlib.sha256(wheel).hexdigest() == page.split("#sha256=")[1].split('"')[0]
    assert zipfile.ZipFile(io.BytesIO(wheel)).testzip() is None


def test_other_packages_are_not_found(server, client):
    answer = client.request("GET", "/sdk/simple/numpy/").expect(404).json()
    assert answer["field"] == "project" and "--extra-index-url" in answer["hint"]
    client.request("GET", "/sdk/files/..%2Ftoken").expect(404)
