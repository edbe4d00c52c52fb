"""Workspaces: found by config.json as the documents say, made, isolated."""

import json

import pytest

from azureml.core import Experiment, Workspace
from azureml.core.authentication import InteractiveLoginAuthentication, ServicePrincipalAuthentication
from azureml.exceptions import AzureMLException, UserErrorException, WorkspaceException


def write_config(folder, **more):
    folder.mkdir(parents=True, exist_ok=True)
    azure = {"subscription_id": "s", "resource_group": "g", "workspace_name": "sdk-tests"}
    (folder / "config.json").write_text(json.dumps({**azure, **more}))


@pytest.mark.parametrize("inner", ["", ".azureml", "aml_config"])
def test_from_config_looks_here_and_in_parents(ws, surroundings, monkeypatch, inner):
    write_config(surroundings / inner)
    below = surroundings / "a" / "b"
    below.mkdir(parents=True)
    assert Workspace.from_config().name == "sdk-tests"
    monkeypatch.chdir(below)
    assert Workspace.from_config().name == "sdk-tests"


def test_from_config_takes_a_file_a_folder_and_a_file_name(ws, surroundings):
    write_config(surroundings / "elsewhere")
    (surroundings / "elsewhere" / "config.json").rename(surroundings / "elsewhere" / "mine.json")
    assert Workspace.from_config(path="elsewhere/mine.json").name == "sdk-tests"
    assert Workspace.from_config(path="elsewhere", _file_name="mine.json").name == "sdk-tests"
    assert Workspace.from_config(path="elsewhere/mine.json", auth=InteractiveLoginAuthentication()).name == "sdk-tests"


def test_without_config_the_error_says_what_to_do(surroundings):
    with pytest.raises(UserErrorException, match="lathe workspace init"):
        Workspace.from_config()


def test_written_config_finds_the_server_without_variables(ws, surroundings, monkeypatch):
    ws.write_config()
    written = json.loads((surroundings / ".azureml" / "config.json").read_text())
    assert written["workspace_name"] == "sdk-tests" and "lathe_" not in json.dumps(written["lathe"])
    monkeypatch.delenv("LATHE_STATE")
    assert Workspace.from_config().name == "sdk-tests"


def test_no_server_is_said_with_the_way_out(surroundings, monkeypatch):
    write_config(surroundings)
    monkeypatch.setenv("LATHE_STATE", str(surroundings / "nothing"))
    monkeypatch.setattr("azureml.core.workspace.FIRST_PATIENCE", 0.1)
    with pytest.raises(AzureMLException, match="lathe up"):
        Workspace.from_config()


def test_create_get_list_and_absent(ws):
    with pytest.raises(WorkspaceException, match="exist_ok"):
        Workspace.create("sdk-tests")
    with pytest.raises(WorkspaceException, match="nowhere"):
        Workspace.get("nowhere")
    assert "sdk-tests" in Workspace.list()
    other = Workspace.create("sdk-other", subscription_id="sub", resource_group="grp", exist_ok=True)
    assert (other.subscription_id, other.resource_group) == ("sub", "grp")


def test_names_are_text_and_details_have_the_known_keys(ws):
    assert all(isinstance(part, str) and part for part in (ws.name, ws.location, ws.subscription_id, ws.resource_group))
    assert {"id", "name", "location", "workspaceid", "creationTime", "keyVault"} <= set(ws.get_details())
    assert "sdk-tests" in ws._repr_html_()


def test_workspaces_do_not_see_each_other(ws):
    other = Workspace.create("sdk-other", exist_ok=True)
    run = Experiment(ws, "only-here").start_logging(snapshot_directory=None)
    run.complete()
    assert "only-here" in ws.experiments and "only-here" not in other.experiments
    with pytest.raises(AzureMLException):
        other.get_run(run.id)


def test_unknown_arguments_are_type_errors_and_unused_ones_warn_once(ws):
    with pytest.raises(TypeError):
        Workspace.create("x", no_such_argument=1)
    with pytest.warns(UserWarning, match="hbi_workspace"):
        Workspace.create("sdk-tests", exist_ok=True, hbi_workspace=True)
    ServicePrincipalAuthentication("tenant", "id", "password")
