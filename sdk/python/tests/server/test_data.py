"""Datastores and datasets."""

import http.server
import os
import sys
import threading

import pytest
from harness.server import Server

from azureml.core import Dataset, Datastore, Workspace
from azureml.data import DataPath, DataReference, OutputFileDatasetConfig
from azureml.data.datapath import DataPathComputeBinding
from azureml.exceptions import AzureMLException, UserErrorException


@pytest.fixture
def store(ws):
    return ws.get_default_datastore()


@pytest.fixture
def folder(surroundings):
    """data/train/{a,b}.csv, data/test/c.csv, data/empty"""
    for name, text in {
        "train/a.csv": "x,y\n1,2\n3,4\n",
        "train/b.csv": "x,y\n5,6\n",
        "test/c.csv": "x,y\n7,8\n",
        "empty": "",
    }.items():
        file = surroundings / "data" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return str(surroundings / "data")


@pytest.fixture
def web():
    """A web server that counts what it is asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.command, self.path))
            found = self.path.startswith("/files/")
            body = b"bytes of " + self.path.encode() if found else b"nothing"
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", '"{}"'.format(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.asked, server.url = asked, f"http://127.0.0.1:{server.server_port}"
    yield server
    server.shutdown()


def test_every_workspace_has_its_datastores(ws, store):
    assert {"workspaceblobstore", "workspaceartifactstore", "workspacefilestore"} <= set(ws.datastores)
    assert (store.name, store.datastore_type) == ("workspaceblobstore", "AzureBlob")
    assert store.container_name.startswith("azureml-blobstore-") and store.account_name
    assert Datastore(ws, "workspacefilestore").datastore_type == "AzureFile"
    with pytest.raises(UserErrorException, match="workspaceblobstore"):
        Datastore.get(ws, "nowhere")


def test_upload_prints_its_lines_and_download_brings_back(store, folder, surroundings, capsys):
    reference = store.upload(src_dir=folder, target_path="up", overwrite=True, show_progress=True)
    printed = capsys.readouterr().out
    assert "Uploading an estimated of 4 files\n" in printed and "Uploaded 4 files\n" in printed
    for name in ("train/a.csv", "empty"):
        assert f"Uploading {folder}/{name}\n" in printed
    assert ", 4 files out of an estimated total of 4\n" in printed
    assert isinstance(reference, DataReference) and reference.path_on_datastore == "up"
    assert store.download("here", prefix="up/train", show_progress=False) == 2
    assert (surroundings / "here" / "up" / "train" / "a.csv").read_text() == "x,y\n1,2\n3,4\n"
    assert store.download("here", prefix="up/train", show_progress=False) == 0


def test_upload_without_overwrite_skips(store, folder, surroundings, capsys):
    store.upload_files([f"{folder}/train/a.csv"], target_path="skip", show_progress=False)
    (surroundings / "data" / "train" / "a.csv").write_text("changed")
    store.upload_files([f"{folder}/train/a.csv"], target_path="skip")
    assert "Skipping upload for skip/a.csv" in capsys.readouterr().out
    store.download("before", prefix="skip", show_progress=False)
    store.upload_files([f"{folder}/train/a.csv"], target_path="skip", overwrite=True, show_progress=False)
    store.download("after", prefix="skip", show_progress=False)
    assert (surroundings / "before" / "skip" / "a.csv").read_text().startswith("x,y")
    assert (surroundings / "after" / "skip" / "a.csv").read_text() == "changed"
    with pytest.raises(UserErrorException, match="there is no file"):
        store.upload_files(["nothing"])


def test_a_cloud_store_is_kept_and_says_what_it_needs(ws):
    kept = Datastore.register_azure_blob_container(ws, "cloud", "container", "account")
    assert (kept.datastore_type, kept.container_name, kept.account_name) == ("AzureBlob", "container", "account")
    with pytest.raises(AzureMLException, match="object stores"):
        kept.download("here", show_progress=False)
    kept.unregister()
    assert "cloud" not in ws.datastores


def test_a_folder_of_the_site(surroundings, monkeypatch, folder):
    config = {"datastores": {"roots": [folder]}}
    with Server(config=config) as server:
        monkeypatch.setenv("LATHE_STATE", str(server.state))
        ws = Workspace.create("with-folder", exist_ok=True)
        local = Datastore.register_local(ws, "scans", os.path.join(folder, "train"))
        assert Dataset.File.from_files((local, "*.csv")).to_path() == ["/a.csv", "/b.csv"]
        assert local.download("scans-here", show_progress=False) == 2
        with pytest.raises(AzureMLException):
            Datastore.register_local(ws, "bad", "/etc")


def test_references_stand_for_variables(store):
    reference = store.path("mnist", "digits").as_download()
    assert str(reference) == "$AZUREML_DATAREFERENCE_digits" and reference.mode == "download"
    assert str(store.as_mount()) == "$AZUREML_DATAREFERENCE_workspaceblobstore"
    path = DataPath(store, "mnist").create_data_reference("bound", DataPathComputeBinding(mode="mount"))
    assert path.to_config().data_store_name == "workspaceblobstore" and path.data_reference_name == "bound"
    assert len(store.path("x").data_reference_name) == 32


def test_arguments_become_inputs_and_outputs(ws, store, folder):
    from azureml._submit.arguments import Resolved

    store.upload(folder, "args", show_progress=False, overwrite=True)
    dataset = Dataset.File.from_files((store, "args"))
    table = Dataset.Tabular.from_delimited_files((store, "args/train/*.csv"))
    out = (
        OutputFileDatasetConfig("made", (store, "made"))
        .as_upload(overwrite=True)
        .register_on_complete("made", tags={"a": "b"})
    )
    resolved = Resolved(ws)
    named = dataset.as_named_input("digits")
    found = resolved.arguments(
        ["--a", named.as_mount(), "--b", table, "--c", out, "--d", store.path("args", "ref").as_download()]
    )
    assert found == ["--a", "$AZUREML_DATAREFERENCE_digits", "--b", table.id, "--c", "$AZUREML_DATAREFERENCE_made",
                     "--d", "$AZUREML_DATAREFERENCE_ref"]  # fmt: skip
    assert resolved.inputs["digits"] == {"dataset": dataset.id, "mode": "mount"}
    assert resolved.inputs["ref"] == {"datastore": "workspaceblobstore", "path": "args", "mode": "download"}
    assert resolved.outputs["made"]["register"] == {"name": "made", "tags": {"a": "b"}}
    with pytest.raises(UserErrorException, match="two different inputs"):
        resolved.text(named.as_download())
    with pytest.raises(UserErrorException, match="read by rows"):
        table.as_named_input("t").as_mount()
    with pytest.raises(UserErrorException, match="Hadoop"):
        dataset.as_hdfs()


def test_paths_globs_and_parts_of_a_dataset(store, folder):
    store.upload(folder, "parts", show_progress=False, overwrite=True)
    everything = Dataset.File.from_files((store, "parts"))
    assert everything.to_path() == ["/empty", "/test/c.csv", "/train/a.csv", "/train/b.csv"]
    assert Dataset.File.from_files((store, "parts/**/*.csv")).to_path()[0].endswith("c.csv")
    assert everything.take(1).to_path() == ["/empty"]
    assert everything.skip(3).to_path() == ["/train/b.csv"]
    first, second = everything.random_split(0.5, seed=3)
    assert sorted(first.to_path() + second.to_path()) == everything.to_path()
    assert everything.filter(everything.file_metadata["Size"] == 0).to_path() == ["/empty"]


def test_registering_versions(ws, store, folder):
    store.upload(folder, "versions", show_progress=False, overwrite=True)
    first = Dataset.File.from_files((store, "versions/train")).register(
        ws, "versions", description="d", tags={"a": "b"}
    )
    again = Dataset.File.from_files((store, "versions/train")).register(ws, "versions")
    assert (first.name, first.version, again.version, first.tags) == ("versions", 1, 1, {"a": "b"})
    other = Dataset.File.from_files((store, "versions/test"))
    with pytest.raises(UserErrorException, match="create_new_version"):
        other.register(ws, "versions")
    assert other.register(ws, "versions", create_new_version=True).version == 2
    assert Dataset.get_by_name(ws, "versions").version == 2
    assert Dataset.get_by_name(ws, "versions", version=1).id == first.id
    assert Dataset.get_by_id(ws, first.id).to_path() == first.to_path()
    first.add_tags({"c": "d"})
    assert Dataset.get_by_name(ws, "versions", version=1).tags == {"a": "b", "c": "d"}
    assert "versions" in Dataset.get_all(ws)
    first.unregister_all_versions()
    with pytest.raises(UserErrorException, match="no dataset"):
        Dataset.get_by_name(ws, "versions")


def test_urls_are_fetched_once(web, monkeypatch):
    """Of a server that may fetch from this machine; others refuse addresses of private networks."""
    with Server(config={"fetch": {"private": ["127.0.0.0/8"]}}) as server:
        monkeypatch.setenv("LATHE_STATE", str(server.state))
        check_fetched_once(Workspace.create("web", exist_ok=True), web)


def check_fetched_once(ws, web):
    urls = [web.url + "/files/a.bin", web.url + "/files/sub/b.bin"]
    dataset = Dataset.File.from_files(urls)
    host = web.url[len("http://") :]
    assert dataset.to_path() == [f"/http/{host}/files/a.bin", f"/http/{host}/files/sub/b.bin"]
    dataset = dataset.register(ws, "from-web", create_new_version=True)
    assert dataset.to_path() == [f"/http/{host}/files/a.bin", f"/http/{host}/files/sub/b.bin"]
    assert not [path for method, path in web.asked if method == "GET"]
    files = dataset.download("fetched")
    assert sorted(path for method, path in web.asked if method == "GET") == ["/files/a.bin", "/files/sub/b.bin"]
    assert [open(file, "rb").read() for file in files] == [b"bytes of /files/a.bin", b"bytes of /files/sub/b.bin"]
    with pytest.raises(UserErrorException, match="overwrite"):
        dataset.download("fetched")
    with dataset.mount() as context:
        assert os.path.exists(os.path.join(context.mount_point, f"http/{host}/files/a.bin"))
    assert not os.path.exists(context.mount_point)


def test_wrong_urls_and_paths_are_said(ws, web):
    from azureml.exceptions import DatasetValidationError

    with pytest.raises(DatasetValidationError, match="404"):
        Dataset.File.from_files(web.url + "/none")
    with pytest.raises(UserErrorException, match="upload_directory"):
        Dataset.File.from_files("local/path")
    missing = Dataset.File.from_files(web.url + "/none", validate=False).register(
        ws, "missing-web", create_new_version=True
    )
    with pytest.raises(AzureMLException, match="/none"):
        missing.download("x")


def test_local_files_through_upload_directory(store, folder):
    made = Dataset.File.upload_directory(
        folder, (store, "uploaded"), pattern="*.csv", overwrite=True, show_progress=False
    )
    assert made.to_path() == ["/test/c.csv", "/train/a.csv", "/train/b.csv"]


def test_tables_say_what_they_need_or_read(store, folder):
    store.upload(folder, "tables", show_progress=False, overwrite=True)
    table = Dataset.Tabular.from_delimited_files((store, "tables/**/*.csv")).keep_columns("x")
    if "pandas" not in sys.modules and not pandas_is_there():
        with pytest.raises(UserErrorException, match="pip install pandas"):
            table.to_pandas_dataframe()
        return
    assert sorted(table.to_pandas_dataframe()["x"]) == [1, 3, 5, 7]
    assert len(table.take(2).to_pandas_dataframe()) == 2
    first, second = table.random_split(0.5, seed=1)
    assert len(first.to_pandas_dataframe()) + len(second.to_pandas_dataframe()) == 4


@pytest.mark.skipif("not pandas_is_there()", reason="needs pandas")
def test_rows_by_their_time(store, surroundings):
    from datetime import datetime

    (surroundings / "t").mkdir()
    (surroundings / "t" / "days.csv").write_text("day,n\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n")
    store.upload("t", "days", show_progress=False, overwrite=True)
    table = Dataset.Tabular.from_delimited_files((store, "days/*.csv"))
    with pytest.raises(UserErrorException, match="with_timestamp_columns"):
        table.time_after(datetime(2020, 1, 2))
    table = table.with_timestamp_columns("day")
    assert list(table.time_after(datetime(2020, 1, 2)).to_pandas_dataframe()["n"]) == [2, 3]
    assert list(table.time_before(datetime(2020, 1, 2), include_boundary=False).to_pandas_dataframe()["n"]) == [1]
    assert list(table.time_between(datetime(2020, 1, 2), datetime(2020, 1, 2)).to_pandas_dataframe()["n"]) == [2]
    assert table.timestamp_columns == ("day", None)


def pandas_is_there():
    import importlib.util

    return importlib.util.find_spec("pandas") is not None
