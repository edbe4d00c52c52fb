"""Environments that are really built: on a server without an interpreter of its own, from wheels that the test makes."""

import sys
import threading

import pytest
from azureml.core import Environment, ScriptRunConfig
from azureml.exceptions import ActivityFailedException, UserErrorException
from harness import paths
from harness.server import Server
from harness.wait import wait_for
from harness.wheels import make_source_package, make_wheel

BUILD_LOG = "azureml-logs/20_image_build_log.txt"
STREAMING = "Streaming " + BUILD_LOG


@pytest.fixture(scope="module")
def wheelhouse(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheelhouse")
    make_wheel(folder, "tiny", "1.0", requires=["tinier"])
    make_wheel(folder, "tinier", "2.5")
    make_wheel(folder, "another", "3.0")
    return folder


@pytest.fixture(scope="module")
def site(wheelhouse, tmp_path_factory):
    """In place of the session's: one that builds, offline."""
    rules = {"cache": str(tmp_path_factory.mktemp("cache")), "wheelhouse": str(wheelhouse), "offline": True}
    with Server(config={"environments": rules}, environment=paths.uv_environment()) as server:
        yield server


def packages(name, *pip):
    env = Environment(name)
    env.python.conda_dependencies.set_python_version("{}.{}".format(*sys.version_info[:2]))
    for package in pip:
        env.python.conda_dependencies.add_pip_package(package)
    return env


def config(folder, env, script="train.py"):
    return ScriptRunConfig(source_directory=folder, script=script, environment=env)


def test_a_build_is_followed_to_its_end_and_done_once(ws, capsys):
    env = packages("built", "tiny==1.0")
    build = env.build(ws)
    assert build.wait_for_completion(show_output=True) is build
    printed = capsys.readouterr().out
    assert "tinier" in printed and "Image Build Status: Succeeded" in printed
    assert build.status == "Succeeded" and build.environment_name == "built"
    again = env.build(ws).wait_for_completion(show_output=True)
    assert again.lock == build.lock and "tinier" not in capsys.readouterr().out, "what is here is looked at, not made again"
    details = env.get_image_details(ws)
    assert details.ready and {"tiny", "tinier"} <= {package["name"] for package in details.lock["packages"]}
    assert "python" in str(details).lower()


def test_a_run_gets_the_packages_and_shows_their_build_first(ws, exp, source, capsys):
    folder = source("import tiny, tinier, azureml.core; print('seen', tiny.__version__, tinier.__version__)")
    run = exp.submit(config(folder, packages("for-a-run", "tiny==1.0", "another==3.0")))
    run.wait_for_completion(show_output=True)
    printed = capsys.readouterr().out
    assert printed.index(STREAMING) < printed.index("Streaming azureml-logs/70_driver_log.txt")
    assert "another" in printed[printed.index(STREAMING) : printed.index("Streaming azureml-logs/70")]
    assert "seen 1.0 2.5" in printed
    assert BUILD_LOG in run.get_file_names() and "another" in run._read_text(BUILD_LOG)
    assert BUILD_LOG in run.get_details()["logFiles"]

    second = exp.submit(config(folder, packages("for-a-run", "tiny==1.0", "another==3.0")))
    second.wait_for_completion(show_output=True)
    printed = capsys.readouterr().out
    assert STREAMING not in printed and "seen 1.0 2.5" in printed, "a cached environment is not built again"


def test_the_build_is_shown_while_it_goes_on(exp, source, wheelhouse, tmp_path, capsys):
    make_source_package(wheelhouse, "slow", "1.0", tmp_path / "gate")
    run = exp.submit(config(source("import slow; print('seen', slow.__version__)"), packages("slow-to-build", "slow==1.0")))
    printed = []
    follower = threading.Thread(target=run.wait_for_completion, kwargs={"show_output": True})
    follower.start()

    def shown(text):
        printed.append(capsys.readouterr().out)
        return text in "".join(printed)

    try:
        wait_for(lambda: shown("Python {}.{}".format(*sys.version_info[:2])), 60, "a line of the build")
        assert STREAMING in "".join(printed) and run.get_status() == "Preparing"
    finally:
        (tmp_path / "gate").touch()
        follower.join(60)
    assert shown("seen 1.0") and run.get_status() == "Completed"


def test_what_was_replaced_is_told_with_the_run(ws, exp, source):
    env = packages("old-python", "tiny==1.0")
    env.python.conda_dependencies.set_python_version("3.99")
    run = exp.submit(config(source("import tiny"), env))
    run.wait_for_completion()
    told = run.get_details()["warnings"]
    assert any("3.99" in warning["message"] for warning in told), told
    assert any(item["asked"].endswith("3.99") for item in env.build(ws).wait_for_completion(False).substitutions)


def test_a_package_that_cannot_be_had_fails_the_run_with_its_name(ws, exp, source, capsys):
    run = exp.submit(config(source("print('never')"), packages("wrong", "no-such-package==1.0")))
    with pytest.raises(ActivityFailedException, match="no-such-package"):
        run.wait_for_completion(show_output=True)
    assert STREAMING in capsys.readouterr().out
    assert run.get_status() == "Failed" and "no-such-package" in run._read_text(BUILD_LOG)
    with pytest.raises(ActivityFailedException, match="no-such-package"):
        packages("wrong", "no-such-package==1.0").build(ws).wait_for_completion(show_output=False)


def test_without_an_environment_there_is_the_sdk_and_nothing_else(exp, source):
    folder = source("""
        import importlib.util, azureml.core
        print(importlib.util.find_spec('tiny'), importlib.util.find_spec('pytest'))
        """)
    run = exp.submit(ScriptRunConfig(source_directory=folder, script="train.py"))
    run.wait_for_completion()
    assert run._read_text("azureml-logs/70_driver_log.txt") == "None None\n"


def test_a_wheel_of_the_source_folder_is_installed(exp, source, surroundings):
    folder = source("import own; print('own', own.__version__)")
    make_wheel(surroundings / "src" / "wheels", "own", "7.0")
    env = packages("with-own-wheel", "./wheels/own-7.0-py3-none-any.whl")
    run = exp.submit(config(folder, env))
    run.wait_for_completion()
    assert run._read_text("azureml-logs/70_driver_log.txt") == "own 7.0\n"


def test_a_changed_curated_environment_is_refused_until_it_is_cloned(ws, exp, source):
    env = Environment.get(ws, "AzureML-Minimal")
    env.environment_variables["OWN"] = "1"
    env.python.conda_dependencies.set_python_version("{}.{}".format(*sys.version_info[:2]))
    for call in (lambda: exp.submit(config(source("pass"), env)), lambda: env.build(ws)):
        with pytest.raises(UserErrorException, match="clone"):
            call()
    run = exp.submit(config(source("import os; print(os.environ['OWN'])"), env.clone("minimal-of-our-own")))
    run.wait_for_completion()
    assert run._read_text("azureml-logs/70_driver_log.txt") == "1\n"
    with pytest.raises(UserErrorException, match="no curated environment"):
        exp.submit(config(source("pass"), Environment("AzureML-none-of-theirs")))
