"""From a definition to a lock, against indexes that the test makes itself."""

import json
import pathlib
import shutil
import subprocess

import pytest

from harness import environments
from harness.environments import Index, Probe, ProbeError, define, packages, python, sdist, sources, wheel


@pytest.fixture
def index(tmp_path):
    index = Index(tmp_path / "index")
    yield index
    index.close()


@pytest.fixture
def probe(tmp_path, index):
    return Probe(tmp_path, index=index.url)


def test_unpinned_packages_are_of_the_age_of_the_newest_pin(probe, index):
    index.add("old-base", "1.0", date="2024-01-01", requires=["helper"])
    index.add("old-other", "3.0", date="2024-03-01")
    index.add("helper", "1.0", date="2023-06-01")
    index.add("helper", "1.1", date="2024-03-20")
    index.add("helper", "2.0", date="2024-06-01")
    lock = probe.lock("old-base==1.0", "old-other==3.0")
    assert packages(lock) == {"old-base": "1.0", "old-other": "3.0", "helper": "1.1"}
    text = json.loads(pathlib.Path(lock).read_text())
    assert text["era"] == {
        "as_of": "2024-03-31T00:00:00Z",
        "rule": "pins",
        "because": "the newest pin, old-other 3.0 is of 2024-03-01, plus 30 days",
    }
    assert "packages as of 2024-03-31" in probe.log
    assert "old-other 3.0 is of 2024-03-01" in probe.run("explain", lock)


def test_the_era_can_be_chosen_and_switched_off(probe, index):
    index.add("old-base", "1.0", date="2024-01-01", requires=["helper"])
    for version, date in (("1.0", "2023-06-01"), ("2.0", "2024-06-01"), ("3.0", "2025-06-01")):
        index.add("helper", version, date=date)
    assert packages(probe.lock("old-base==1.0"))["helper"] == "1.0"
    assert packages(probe.lock("old-base==1.0", variables={"LATHE_AS_OF": "2025-01-01"}))["helper"] == "2.0"
    assert packages(probe.lock("old-base==1.0", variables={"LATHE_AS_OF": "off"}))["helper"] == "3.0"
    probe.settings["era"] = False
    assert packages(probe.lock("old-base==1.0"))["helper"] == "3.0"
    probe.settings["era"] = True
    assert packages(probe.lock("old-base"))["helper"] == "3.0", "without pins it is today"


def test_one_definition_gives_one_lock_and_no_path_of_the_machine(probe, index, tmp_path):
    index.add("thing", "1.0")
    first, second = probe.lock("thing"), probe.lock("thing")
    text = pathlib.Path(first).read_text()
    assert text == pathlib.Path(second).read_text()
    assert str(tmp_path) not in text and "127.0.0.1" not in text
    assert json.loads(text)["sdk"]["version"]


def test_a_package_that_nobody_has_is_named(probe):
    with pytest.raises(ProbeError, match="no-such-package was not found") as failure:
        probe.lock("no-such-package==1.0")
    assert failure.value.code == "invalid"


def test_a_conda_package_comes_from_the_index_under_its_name_there(probe, index):
    index.add("torch", "1.6.0", date="2025-01-01")
    assert packages(probe.lock(conda=["pytorch=1.6", "cudatoolkit=10.1"])) == {"torch": "1.6.0"}


def test_another_python_is_given_by_the_table_and_refused_when_strict(probe, index):
    index.add("native", "1.0", date="2019-01-01", tag="cp36-cp36m-linux_x86_64")
    index.take(sdist(index.folder, "native", "1.0"), date="2019-01-01")
    index.add("native", "2.0", date="2023-01-01", tag="cp311-cp311-linux_x86_64")
    index.add("native", "3.0", date="2024-01-01", tag="cp311-cp311-linux_x86_64")
    probe.settings["pythons"] = ["/usr/bin"]
    lock = probe.lock("native==1.0", python="3.6.2")
    text = json.loads(pathlib.Path(lock).read_text())
    assert text["python"] == {"asked": "3.6.2", "given": "3.11", "interpreter": ""}
    assert packages(lock) == {"native": "2.0"}, "the nearest newer version that has a wheel"
    assert [(one["asked"], one["given"]) for one in text["substitutions"]] == [
        ("python 3.6.2", "python 3.11"),
        ("native==1.0", "native==2.0"),
    ]
    assert "replaced: native==1.0 -> native==2.0" in probe.log
    assert "native==1.0 -> native==2.0" in probe.run("explain", lock)
    probe.settings["strict"] = True
    with pytest.raises(ProbeError, match="no Python 3.6"):
        probe.lock("native==1.0", python="3.6.2")


def test_pins_that_do_not_go_with_what_was_replaced_move_too(probe, index):
    index.add("native", "1.0", date="2019-01-01", tag="cp36-cp36m-linux_x86_64", requires=["helper"])
    index.add("native", "2.0", date="2023-01-01", tag="cp311-cp311-linux_x86_64", requires=["helper>=2"])
    index.add("helper", "1.0", date="2019-01-01")
    index.add("helper", "2.1", date="2023-01-02")
    probe.settings["pythons"] = ["/usr/bin"]
    lock = probe.lock("native==1.0", "helper==1.0", python="3.6")
    assert packages(lock) == {"native": "2.0", "helper": "2.1"}
    text = json.loads(pathlib.Path(lock).read_text())
    assert ("helper==1.0", "helper==2.1") in [(one["asked"], one["given"]) for one in text["substitutions"]]


def test_what_needs_a_gpu_is_left_out_or_replaced_where_there_is_none(probe, index):
    for name in ("tensorflow-gpu", "tensorflow-cpu", "cupy-cuda90"):
        index.add(name, "2.2.0")
    assert packages(probe.lock("tensorflow-gpu==2.2.0", "cupy-cuda90==2.2.0")) == {"tensorflow-cpu": "2.2.0"}
    probe.settings["has_gpu"] = True
    assert set(packages(probe.lock("tensorflow-gpu==2.2.0", "cupy-cuda90"))) == {"tensorflow-gpu", "cupy-cuda90"}


def test_pandas_of_before_versions_had_a_grammar_can_be_locked(probe, index):
    index.add("pandas", "0.24.2", date="2019-03-12", requires=["pytz (>=2011k)", "numpy (>=1.12.0)", "python-dateutil (>=2.5.0)"])
    index.add("pandas", "0.11.0", date="2013-04-23")
    for name in ("pytz", "numpy", "python-dateutil"):
        index.add(name, "2018.9", date="2019-01-01")
    lock = probe.lock("pandas")
    assert packages(lock)["pandas"] == "0.24.2"
    assert python(probe.realise(lock), "import pandas; print(pandas.version)") == "0.24.2"


def test_vendor_images_are_left_out_and_others_need_an_engine(probe, index):
    index.add("thing", "1.0")
    probe.settings["engine"] = "none"
    vendor = {"enabled": True, "baseImage": "mcr.microsoft.com/azureml/openmpi3.1.2-ubuntu18.04"}
    text = json.loads(pathlib.Path(probe.lock("thing", docker=vendor)).read_text())
    assert [one["rule"] for one in text["substitutions"]] == ["image"]
    with pytest.raises(ProbeError, match="podman or docker") as failure:
        probe.lock("thing", docker={"enabled": True, "baseImage": "example.org/my-image:1"})
    assert failure.value.hint
    probe.settings["substitutions"] = "images: [{asked: 'example.org/*', given: none, why: it is only a base}]"
    probe.lock("thing", docker={"enabled": True, "baseImage": "example.org/my-image:1"})


def test_a_private_index_gets_its_password_and_nobody_else(probe, index, tmp_path):
    index.credential = ("me", "open-sesame-9")
    index.add("private-thing", "1.0")
    with pytest.raises(ProbeError):
        probe.lock("private-thing")
    probe.settings.update(user="me", password="open-sesame-9")
    lock = probe.lock("private-thing")
    prefix = probe.realise(lock)
    assert python(prefix, "import private_thing; print(private_thing.version)") == "1.0"
    probe.settings["password"] = "wrong-password-1"
    (tmp_path / "other").mkdir()
    other = Probe(tmp_path / "other", **{**probe.settings, "cache": tmp_path / "other/cache"})
    with pytest.raises(ProbeError) as failure:
        other.realise(lock)
    assert "wrong-password-1" not in failure.value.log
    assert "open-sesame-9" not in pathlib.Path(lock).read_text() + probe.log
    left = subprocess.run(["grep", "-rl", "open-sesame-9", probe.cache], capture_output=True, text=True)
    assert left.stdout == "", "the password is in no file of the cache"


def test_an_extra_index_of_the_definition_is_asked_and_locked(probe, index, tmp_path):
    other = Index(tmp_path / "more")
    index.add("thing", "1.0", requires=["extra-thing"])
    other.add("extra-thing", "2.0")
    lock = probe.lock(f"--extra-index-url {other.url}", "thing")
    assert packages(lock) == {"thing": "1.0", "extra-thing": "2.0"}
    assert python(probe.realise(lock), "import extra_thing; print(extra_thing.version)") == "2.0"
    other.close()


def test_a_wheelhouse_serves_a_site_without_network(probe, index, tmp_path):
    index.close()
    wheel(tmp_path / "wheels", "thing", "1.0", requires=["helper>=1"])
    wheel(tmp_path / "wheels", "helper", "1.5")
    probe.settings.update(wheelhouse=str(tmp_path / "wheels"), offline=True)
    lock = probe.lock("thing==1.0")
    assert packages(lock) == {"thing": "1.0", "helper": "1.5"}
    assert python(probe.realise(lock), "import helper; print(helper.version)") == "1.5"
    with pytest.raises(ProbeError) as failure:
        probe.lock("missing-thing")
    assert failure.value.code == "unavailable" and "missing-thing" in failure.value.message


def test_files_of_the_source_folder_are_read_and_kept(probe, index, tmp_path):
    source = tmp_path / "source"
    wheel(source / "wheels", "own-thing", "4.0", requires=["thing"])
    index.add("thing", "1.0")
    index.add("thing", "2.0")
    (source / "requirements.txt").write_text("./wheels/own_thing-4.0-py3-none-any.whl\n-c limits.txt\n")
    (source / "limits.txt").write_text("thing<2\n")
    probe.settings["source_folder"] = str(source)
    lock = probe.lock("-r requirements.txt")
    assert packages(lock) == {"own-thing": "4.0", "thing": "1.0"}
    subprocess.run(["rm", "-r", source], check=True)
    assert python(probe.realise(lock), "import own_thing; print(own_thing.version)") == "4.0"
    with pytest.raises(ProbeError, match="source folder"):
        probe.lock("-r requirements.txt")


def test_a_source_package_of_the_source_folder_is_built(probe, tmp_path):
    sdist(tmp_path / "source", "own-source", "3.0")
    probe.settings["source_folder"] = str(tmp_path / "source")
    lock = probe.lock("./own_source-3.0.tar.gz")
    assert python(probe.realise(lock), "import own_source; print(own_source.version)") == "3.0"


def test_a_commit_of_git_is_locked_and_built(probe, tmp_path):
    repository = tmp_path / "repository"
    repository.mkdir()
    for name, text in sources("git-thing", "7.0").items():
        (repository / name).write_text(text)
    run = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", "-C", repository]
    subprocess.run(["git", "init", "-q", "-b", "main", repository], check=True)
    subprocess.run([*run, "add", "."], check=True)
    subprocess.run([*run, "commit", "-q", "-m", "first"], check=True)
    lock = probe.lock(f"git-thing @ git+file://{repository}")
    locked = json.loads(pathlib.Path(lock).read_text())["packages"][0]
    commit = subprocess.run([*run, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    assert (locked["source"], locked["commit"]) == ("git", commit)
    assert python(probe.realise(lock), "import git_thing; print(git_thing.version)") == "7.0"


def test_a_source_package_is_built_here(probe, index):
    index.take(sdist(index.folder, "source-thing", "1.0"))
    lock = probe.lock("source-thing")
    assert json.loads(pathlib.Path(lock).read_text())["packages"][0]["source"] == "built"
    assert python(probe.realise(lock), "import source_thing; print(source_thing.version)") == "1.0"


def counted_builds(monkeypatch, file):
    """Source packages made from here on write a line to FILE for each build: the date of its tools."""
    tell = f"import os\nopen({str(file)!r}, 'a').write(os.environ.get('LATHE_AS_OF', '-') + chr(10))\n"
    build = environments.BACKEND.replace("    name =", "    tell()\n    name =", 1)
    monkeypatch.setattr(environments, "BACKEND", "def tell():\n    " + tell.replace("\n", "\n    ") + build)
    return lambda: file.read_text().splitlines() if file.exists() else []


def test_a_source_package_is_built_once_for_many_environments(probe, index, monkeypatch, tmp_path):
    builds = counted_builds(monkeypatch, tmp_path / "builds")
    index.take(sdist(index.folder, "source-thing", "1.0"))
    for number in range(3):
        index.add(f"beside{number}", "1.0")
        lock = probe.lock("source-thing", f"beside{number}")
        prefix = probe.realise(lock)
        assert python(prefix, "import source_thing; print(source_thing.version)") == "1.0"
        assert builds() == ["today"]
    (info,) = prefix.glob("lib/python*/site-packages/source_thing-1.0.dist-info")
    assert not (info / "direct_url.json").exists(), "a package does not speak of a path of this machine"
    # Nor is it built again when the index is away.
    index.close()
    shutil.rmtree(probe.cache / "realised")
    assert probe.realise(lock) == prefix
    assert builds() == ["today"]


def test_a_source_package_is_built_with_the_tools_of_each_era(probe, index, monkeypatch, tmp_path):
    builds = counted_builds(monkeypatch, tmp_path / "builds")
    index.take(sdist(index.folder, "source-thing", "1.0"), date="2018-01-01")
    index.add("old-thing", "1.0", date="2024-01-01")
    index.add("new-thing", "1.0", date="2025-01-01")
    for beside in ("old-thing==1.0", "new-thing==1.0", "old-thing==1.0"):
        probe.realise(probe.lock("source-thing==1.0", beside))
    assert [line[:4] for line in builds()] == ["2024", "2025"]


def test_sources_that_were_fetched_again_do_not_pile_up(probe, index):
    index.take(sdist(index.folder, "source-thing", "1.0"))
    for number in range(3):
        index.add(f"beside{number}", "1.0")
        probe.realise(probe.lock("source-thing", f"beside{number}"))
    probe.run("gc", 3600)
    (package,) = probe.cache.glob("uv/sdists-*/index/*/source-thing/1.0")
    assert len([path for path in package.iterdir() if path.is_dir()]) == 1


def test_what_a_build_lacks_on_the_machine_is_named_with_the_command(probe, index, monkeypatch, tmp_path):
    index.take(sdist(index.folder, "horovod", "0.28.1"))
    index.add("tensorflow", "2.12.0")
    lock = probe.lock("tensorflow", "horovod")
    (tmp_path / "bin").mkdir()
    for program in ("git", "sh"):
        (tmp_path / "bin" / program).symlink_to(f"/usr/bin/{program}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(ProbeError, match="horovod must be built from source, and this machine lacks g") as failure:
        probe.realise(lock)
    assert "sudo apt-get install -y" in failure.value.hint and "libopenmpi-dev" in failure.value.hint


def test_horovod_is_refused_where_it_cannot_build(probe, index):
    index.take(sdist(index.folder, "horovod", "0.28.1"))
    index.add("tensorflow", "2.16.1")
    with pytest.raises(ProbeError, match="Horovod does not build with TensorFlow 2.16"):
        probe.lock("tensorflow==2.16.1", "horovod==0.28.1")
    with pytest.raises(ProbeError, match="Horovod does not build with TensorFlow 2.16"):
        probe.lock("tensorflow", "horovod")


def test_without_any_package_there_is_the_sdk(probe):
    definition = define(python="3.11")
    definition["python"]["condaDependencies"]["dependencies"] = []
    prefix = probe.realise(probe.lock_of(definition))
    assert python(prefix, "import azureml.core; print('ok')") == "ok"
