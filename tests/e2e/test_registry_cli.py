"""lathe model, lathe data, lathe datastore: as a person at a terminal uses them."""

import gzip
import json

import pytest

from harness import liar, saved_model
from harness.liar import Liar
from harness.server import Server


@pytest.fixture(scope="module")
def server(binary):
    with Server(
        config={"fetch": {"private": ["127.0.0.0/8"]}}, environment={"http_proxy": "", "no_proxy": ""}
    ) as server:
        yield server.prepare()


@pytest.fixture
def folder(tmp_path):
    contents = {"a.txt": b"one", "sub/ü b.bin": bytes(1000), "sub/empty": b"", ".gitignore": b"*\n"}
    for path, data in contents.items():
        (tmp_path / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / path).write_bytes(data)
    return tmp_path / "in", contents


def read_folder(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_goes_into_a_datastore_and_back(server, folder, tmp_path):
    source, contents = folder
    up = server.cli_json("datastore", "upload", source, "--to", "cli/test")
    assert (up["datastore"], up["written"], up["skipped"]) == ("workspaceblobstore", 4, 0)
    again = server.cli_json("datastore", "upload", source, "--to", "cli/test")
    assert (again["written"], again["skipped"], again["sent_bytes"]) == (0, 4, 0)
    assert server.cli_json("datastore", "upload", source / "a.txt", "--to", "cli/test", "--overwrite")["written"] == 1
    listed = server.cli("datastore", "list", "workspaceblobstore", "cli/").stdout
    assert "cli/test/sub/ü b.bin" in listed
    assert "workspacefilestore" in server.cli("datastore", "list").stdout
    server.cli("datastore", "download", "cli/test/", "--to", tmp_path / "out")
    assert read_folder(tmp_path / "out" / "cli" / "test") == contents
    missing = server.cli("datastore", "download", "absent/", check=False)
    assert missing.returncode == 5 and "hint:" in missing.stderr


def test_a_dataset_of_a_url_and_a_datastore(server, folder, tmp_path):
    source, contents = folder
    server.cli("datastore", "upload", source, "--to", "data")
    packed = gzip.compress(b"digits")
    with Liar({"/d/x.gz": liar.honest(packed)}) as web:
        made = server.cli_json(
            "data", "register", "cli-data", f"{web.url}/d/x.gz", "workspaceblobstore:data/sub", "--tag", "a=b"
        )
        assert (made["version"], made["tags"]) == (1, {"a": "b"})
        assert server.cli("data", "register", "cli-data", f"{web.url}/other", check=False).returncode == 6
        other = server.cli_json("data", "register", "cli-data", "workspaceblobstore:data/a.txt", "--new-version")
        assert other["version"] == 2
        server.cli("data", "download", "cli-data:1", "--to", tmp_path / "one")
        found = read_folder(tmp_path / "one")
        assert found == {
            f"http/127.0.0.1:{web.port}/d/x.gz": packed,
            "ü b.bin": contents["sub/ü b.bin"],
            "empty": b"",
        }
    assert "cli-data" in server.cli("data", "list").stdout
    assert server.cli_json("data", "show", "cli-data")["version"] == 2
    wrong = server.cli("data", "register", "x", "no-colon", check=False)
    assert wrong.returncode == 2 and "datastore upload" in wrong.stderr


def test_models_are_registered_shown_downloaded_and_deleted(server, folder, tmp_path):
    source, contents = folder
    made = server.cli_json(
        "model", "register", "cli-model", source, "--framework", "Custom", "--tag", "k=v", "--property", "p=q"
    )
    assert (made["version"], made["files"], made["tags"], made["properties"]) == (1, 4, {"k": "v"}, {"p": "q"})
    one = server.cli_json("model", "register", "cli-model", source / "a.txt")
    assert (one["version"], one["files"]) == (2, 1)
    server.cli("model", "download", "cli-model:1", "--to", tmp_path / "out")
    assert read_folder(tmp_path / "out" / "in") == contents
    server.cli("model", "download", "cli-model", "--to", tmp_path / "file")
    assert read_folder(tmp_path / "file") == {"a.txt": b"one"}
    assert [m["version"] for m in server.cli_json("model", "list", "--name", "cli-model", "--all")] == [2, 1]
    assert [m["version"] for m in server.cli_json("model", "list", "--name", "cli-model")] == [2]
    assert server.cli("model", "delete", "cli-model", check=False).returncode == 2
    server.cli("model", "delete", "cli-model:2")
    assert server.cli_json("model", "show", "cli-model")["version"] == 1
    assert server.cli("model", "show", "absent", check=False).returncode == 5


def test_a_model_of_a_run_with_its_lineage(server, tmp_path):
    client = server.client()
    (tmp_path / "graph").write_bytes(saved_model.make())
    run = client.submit(f"mkdir -p outputs/model && cp {tmp_path}/graph outputs/model/saved_model.pb")
    client.wait(run, "Completed")
    shown = server.cli(
        "model", "register", "run-model", "outputs/model", "--run", run, "--framework", "TensorFlow"
    ).stdout
    assert "serving_default" in shown and "variables/" in shown
    assert run in server.cli("model", "lineage", "run-model").stdout
    lineage = json.loads(server.cli("-o", "json", "model", "lineage", "run-model:1").stdout)
    assert lineage["run"]["status"] == "Completed"


def submit(server, script, *options, check=True):
    return server.cli("-o", "json", "run", "submit", "--compute", "pool", "--command", *options, "--", "/bin/sh", "-c",
                      script, check=check)  # fmt: skip


def finished(server, *arguments):
    run = json.loads(submit(server, *arguments).stdout)["id"]
    return server.client().wait(run, "Completed")


def test_a_run_reads_datasets_and_datastores_and_writes_a_dataset(server, folder):
    source, contents = folder
    server.cli("datastore", "upload", source, "--to", "cli/data")
    server.cli("data", "register", "cli-run-data", "workspaceblobstore:cli/data/a.txt")
    server.cli("data", "register", "cli-run-data", "workspaceblobstore:cli/data/**", "--new-version")
    script = (
        'cat "$AZUREML_DATAREFERENCE_one" "$AZUREML_DATAREFERENCE_old" here/a.txt; ls "$AZUREML_DATAREFERENCE_new";'
        'cp "$AZUREML_DATAREFERENCE_new/a.txt" "$AZUREML_DATAREFERENCE_made/b.txt"'
    )
    options = ["--input", "old=cli-run-data:1", "--input", "new=cli-run-data@download",
               "--data-reference", "one=workspaceblobstore:cli/data/a.txt@mount",
               "--data-reference", "all=workspaceblobstore:cli/data@download:here",
               "--output-to", "made=workspaceblobstore", "--register-output", "made=cli-made"]  # fmt: skip
    run = finished(server, script, *options)
    inputs = run["inputs"]
    assert {name: each["mode"] for name, each in inputs.items()} == {
        "old": "mount", "new": "download", "one": "mount", "all": "download"}  # fmt: skip
    assert (inputs["old"]["dataset_version"], inputs["new"]["dataset_version"]) == (1, 2)
    assert server.client().log(run["id"]).split() == [b"oneoneonea.txt", b"sub"]
    assert run["outputs"]["made"]["path"] == "dataset/{run-id}/made"
    made = server.cli_json("data", "show", "cli-made")
    assert made["definition"]["sources"][0]["path"].startswith(f"dataset/{run['id']}/made")


def test_an_output_replaces_files_only_when_that_is_said(server):
    client = server.client()

    def content_after(word, *more):
        script = f'echo {word} > "$AZUREML_DATAREFERENCE_out/file"'
        run = json.loads(submit(server, script, "--output-to", "out=workspaceblobstore:cli/fixed@mount", *more).stdout)
        client.wait(run["id"])
        where = client.path("datastores", "workspaceblobstore", "files", "content")
        return client.request("GET", where, query={"path": "cli/fixed/file"}).expect(200).body

    assert content_after("first") == b"first\n"
    assert content_after("second") == b"first\n"
    assert content_after("third", "--overwrite-outputs") == b"third\n"


@pytest.mark.parametrize(
    "options, said",
    [
        (["--input", "x"], "KEY=VALUE"),
        (["--input", "x="], "NAME=DATASET"),
        (["--input", "x=absent-dataset"], "absent-dataset"),
        (["--input", "a b=cli-run-data"], "a b"),
        (["--data-reference", "x=workspaceblobstore"], "DATASTORE:PATH"),
        (["--data-reference", "x=absent:path"], "absent"),
        (["--data-reference", "x=workspaceblobstore:a", "--data-reference", "x=workspaceblobstore:b"], "twice"),
        (["--output-to", "x=:path"], "DATASTORE"),
        (["--output-to", "x=workspaceblobstore@mount:there"], "DATASTORE"),
        (["--register-output", "x=name"], "no output 'x'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_wrong_data_of_a_run_is_told_before_anything_is_sent(server, options, said):
    refused = submit(server, "true", *options, check=False)
    assert refused.returncode in (2, 5) and said in refused.stderr, refused.stderr
