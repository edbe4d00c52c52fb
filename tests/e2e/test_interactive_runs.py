"""Runs that their client drives, families of runs, properties, and files that a client adds."""

import hashlib
import sys

import pytest

from harness.client import make_submit, new_id


def interactive(client, **fields):
    body = {"id": new_id(), "experiment": "e2e-tests", "kind": "interactive", **fields}
    return client.post(client.path("runs"), body)


def begin(client, **fields):
    return interactive(client, **fields).expect(201).json()["id"]


def call(client, run, name, value=None):
    return client.post(client.path("runs", run, name), value)


def set_properties(client, run, **values):
    return client.request("PATCH", client.path("runs", run, "properties"), json_body={"set": values})


def patch_tags(client, run, tags, **query):
    return client.request("PATCH", client.path("runs", run, "tags"), query=query, json_body=tags)


def put_blob(client, data):
    digest = hashlib.sha256(data).hexdigest()
    client.request("PUT", f"/api/v1/blobs/{digest}", query={"offset": 0, "size": len(data)}, body=data).expect(200, 201)
    return {"digest": digest, "size": len(data)}


def listed(client, **query):
    return [run["id"] for run in client.items(client.path("runs"), **query)]


# --- the life of an interactive run


def test_an_interactive_run_is_running_at_once_and_is_completed_by_its_client(client):
    run = begin(client, display_name="by hand", run_type="azureml.interactive")
    shown = client.run(run)
    assert shown["status"] == "Running" and shown["kind"] == "interactive" and shown["compute"] == ""
    assert shown["attempt"] == 0 and shown["attempts"] == [] and shown["started"] and shown["waiting"] is None
    assert shown["run_type"] == "azureml.interactive" and shown["parent"] is None and shown["root"] is None
    done = call(client, run, "complete").expect(200).json()
    assert done["status"] == "Completed" and done["ended"]
    assert call(client, run, "complete").expect(200).json()["generation"] == done["generation"], "idempotent"
    assert client.moves(run)[-2:] == [("Running", "Finalizing"), ("Finalizing", "Completed")]
    assert call(client, run, "fail", {}).expect(409).error() == "conflict"


def test_an_interactive_run_fails_with_what_its_client_says(client):
    run = begin(client)
    body = {"error_code": "UserError", "message": "the loss is nan", "details": "Traceback\n  line 1"}
    error = call(client, run, "fail", body).expect(200).json()["error"]
    assert error == {"code": "UserError", "message": "the loss is nan", "details": "Traceback\n  line 1"}
    assert call(client, run, "fail", body).expect(200).json()["status"] == "Failed"
    call(client, run, "complete").expect(409)
    bare = begin(client)
    assert call(client, bare, "fail").expect(200).json()["error"]["code"] == "UserError"
    too_long = begin(client)
    assert call(client, too_long, "fail", {"details": "x" * 70_000}).expect(413).json()["field"] == "details"


def test_an_interactive_run_is_canceled_at_once(client):
    run = begin(client)
    assert client.cancel(run).expect(200).json()["status"] == "Canceled"


def test_a_submit_is_idempotent_and_bound_to_its_content(client):
    definition = {"a": [1, 2.5, None, {"b": "ü"}]}
    body = {"id": new_id(), "experiment": "e2e-tests", "kind": "interactive", "definition": definition}
    client.post(client.path("runs"), body).expect(201)
    again = client.post(client.path("runs"), body).expect(200).json()
    assert again["definition"] == body["definition"]
    client.post(client.path("runs"), body | {"definition": {"a": 2}}).expect(409)
    client.post(client.path("runs"), body | {"run_type": "other"}).expect(409)


def test_the_definition_is_shown_with_the_run_and_not_in_lists(client):
    definition = {"script": "train.py", "arguments": ["--lr", 0.1 + 0.2], "n": 3, "x": None, "y": 1e-7}
    run = begin(client, definition=definition, experiment="definitions")
    assert client.run(run)["definition"] == definition
    assert client.run(begin(client))["definition"] is None
    items = client.get(client.path("runs"), experiment="definitions").expect(200).json()["items"]
    assert items and all("definition" not in item for item in items)
    assert interactive(client, definition={"x": "y" * (1 << 20)}).expect(413).json()["field"] == "definition"
    assert interactive(client, definition=[1]).expect(400).json()["field"] == "definition"


@pytest.mark.parametrize(
    "field, value",
    [
        ("script", "a.py"),
        ("command", ["true"]),
        ("arguments", ["x"]),
        ("compute", "pool"),
        ("node_count", 2),
        ("kind", "other"),
    ],
)
def test_what_an_interactive_run_cannot_have_is_refused_by_name(client, field, value):
    assert interactive(client, **{field: value}).expect(400).json()["field"] == field


def test_a_script_is_not_ended_by_a_word(client):
    run = client.submit("sleep 60")
    assert call(client, run, "complete").expect(409).error() == "conflict"
    call(client, run, "fail", {}).expect(409)
    client.cancel(run).expect(200)
    client.wait(run)


def test_interactive_runs_survive_restarts_and_kills_and_are_never_lost(make_server):
    server = make_server().start().prepare()
    client = server.client()
    run, ended = begin(client), begin(client)
    child = begin(client, parent=run)
    call(client, ended, "complete").expect(200)
    for end in (server.stop, server.kill):
        end()
        client = server.start().client()
        assert [client.status(each) for each in (run, child, ended)] == ["Running", "Running", "Completed"]
    # The dispatcher leaves them alone, and other runs go on.
    client.wait(client.submit("true"), "Completed")
    call(client, child, "complete").expect(200)
    assert call(client, run, "complete").expect(200).json()["status"] == "Completed"
    client.delete(client.path("computes", "pool")).expect(204)


def test_an_interactive_run_keeps_no_compute_target_from_being_deleted(client):
    client.put(client.path("computes", "other"), {"vm_size": "machine", "max_nodes": 1}).expect(200, 201)
    begin(client)
    client.delete(client.path("computes", "other")).expect(204)


# --- families


def test_children_know_their_family_and_are_listed_by_it(client):
    top = begin(client)
    children = [begin(client, parent=top, run_type="child", properties={"fold": str(i)}) for i in range(3)]
    grandchild = begin(client, parent=children[0], run_type="deep")
    assert client.run(grandchild)["parent"] == children[0] and client.run(grandchild)["root"] == top
    assert client.run(top)["children_count"] == 3 and client.run(children[0])["children_count"] == 1
    assert listed(client, parent=top) == children[::-1]
    assert listed(client, parent=top, recursive="true") == [grandchild, *children[::-1]]
    assert listed(client, parent=top, recursive="true", run_type="deep") == [grandchild]
    assert listed(client, parent=top, property="fold=1") == [children[1]]
    assert listed(client, parent=top, limit=1) == children[::-1], "page by page"
    assert listed(client, parent="nobody") == []
    assert interactive(client, parent="nobody").expect(400).json()["field"] == "parent"
    client.get(client.path("runs"), recursive="true").expect(400)


def test_a_parent_of_another_workspace_does_not_exist(client):
    client.put("/api/v1/workspaces/island", {}).expect(200, 201)
    run = begin(client)
    body = {"id": new_id(), "experiment": "e", "kind": "interactive", "parent": run}
    assert client.post("/api/v1/workspaces/island/runs", body).expect(400).json()["field"] == "parent"


def test_a_run_with_children_is_deleted_only_together_with_them(client):
    top = begin(client)
    child = begin(client, parent=top)
    grandchild = begin(client, parent=child)
    for run in (top, child):
        call(client, run, "complete").expect(200)
    refused = client.delete(client.path("runs", top)).expect(409).json()
    assert "recursive" in refused["hint"]
    everything = client.path("runs", top) + "?recursive=true"
    client.delete(everything).expect(409)  # one of them is not over
    assert client.status(top) == "Completed" and client.status(child) == "Completed", "all or nothing"
    call(client, grandchild, "complete").expect(200)
    client.delete(everything).expect(204)
    for run in (top, child, grandchild):
        client.get(client.path("runs", run)).expect(404)


def test_the_command_line_deletes_families_when_asked_to(server, client):
    top = begin(client)
    child = begin(client, parent=top)
    for run in (child, top):
        call(client, run, "complete").expect(200)
    assert "--recursive" in server.cli("run", "delete", top, check=False).stderr
    server.cli("run", "delete", "--recursive", top)
    client.get(client.path("runs", child)).expect(404)


# --- what a run's own token may do


def test_a_script_drives_children_of_its_own_run_and_nothing_else(holder):
    attempt, stranger = holder.submit(), holder.submit()
    attempt.claim().expect(200)
    mine = attempt.script
    child = begin(mine, parent=attempt.run)
    grandchild = begin(mine, parent=child)
    assert holder.client.run(child)["submitted_by"] == f"run {attempt.run}"
    patch_tags(mine, child, {"fold": "1"}).expect(200)
    patch_tags(mine, attempt.run, {"seen": "yes"}).expect(200)
    set_properties(mine, child, a="b").expect(200)
    call(mine, grandchild, "fail", {"message": "bad"}).expect(200)
    call(mine, child, "complete").expect(200)
    foreign = begin(holder.client)
    for run in (stranger.run, foreign):
        assert patch_tags(mine, run, {"x": "y"}).expect(403).error() == "forbidden"
        set_properties(mine, run, a="b").expect(403)
        mine.cancel(run).expect(403)
        call(mine, run, "fail", {}).expect(403)
        mine.post(mine.path("runs", run, "artifacts"), {"artifacts": []}).expect(403)
        interactive(mine, parent=run).expect(403)
    interactive(mine).expect(403)
    mine.post(mine.path("runs"), make_submit("true", parent=attempt.run)).expect(403)
    call(mine, attempt.run, "complete").expect(409)


@pytest.mark.parametrize("code, state", [(0, "Completed"), (1, "Canceled")])
def test_children_that_a_script_leaves_open_end_with_it(holder, code, state):
    attempt = holder.submit()
    attempt.claim().expect(200)
    left, done = begin(attempt.script, parent=attempt.run), begin(attempt.script, parent=attempt.run)
    by_user = begin(holder.client, parent=attempt.run)
    call(attempt.script, done, "fail", {}).expect(200)
    attempt.finish(exit_code=code).expect(200)
    assert holder.client.status(left) == state
    assert holder.client.status(done) == "Failed" and holder.client.status(by_user) == "Running"


# --- tags, properties, environment, files


def test_properties_are_added_and_never_changed(client):
    run = begin(client, properties={"a": "1"})
    assert set_properties(client, run, b="2", a="1").expect(200).json()["properties"] == {"a": "1", "b": "2"}
    refused = set_properties(client, run, c="3", a="other").expect(409).json()
    assert refused["field"] == "a" and client.run(run)["properties"] == {"a": "1", "b": "2"}, "all or nothing"
    assert listed(client, property="b=2", experiment="e2e-tests")[0] == run
    for body in ({}, {"set": {"": "x"}}, {"set": {"x": 1}}, {"set": {"x": "y" * 1001}}, {"a": "b"}):
        client.request("PATCH", client.path("runs", run, "properties"), json_body=body).expect(400)


def test_a_tag_may_have_no_value(client):
    run = begin(client, tags={"best": None, "k": "v"})
    assert client.run(run)["tags"] == {"best": None, "k": "v"}
    assert run in listed(client, tag="best")
    kept = patch_tags(client, run, {"k": None}, null_removes="false").expect(200).json()
    assert kept["tags"] == {"best": None, "k": None}
    assert patch_tags(client, run, {"best": None}).expect(200).json()["tags"] == {"k": None}


def test_a_client_adds_files_to_a_run_that_is_over(client):
    run = begin(client)
    call(client, run, "complete").expect(200)
    blob = put_blob(client, b"weights")
    files = {"artifacts": [{"path": "outputs/model/w.bin", **blob, "executable": True}]}
    client.post(client.path("runs", run, "artifacts"), files).expect(204)
    assert client.file(run, "outputs/model/w.bin").expect(200).body == b"weights"
    assert client.files(run)["outputs/model/w.bin"]["executable"]
    absent = {"artifacts": [{"path": "outputs/x", "digest": "ab" * 32, "size": 1}]}
    assert client.post(client.path("runs", run, "artifacts"), absent).expect(400).json()["field"] == "artifacts"
    for path in ("../x", "/x", "a//b", "", "a/./b"):
        client.post(client.path("runs", run, "artifacts"), {"artifacts": [{"path": path, **blob}]}).expect(400)


def submit_script(snapshot, **fields):
    return make_submit(None, script="a.py", snapshot=snapshot, **fields)


def test_a_named_environment_is_the_sites_interpreter(make_server, tmp_path):
    (tmp_path / "a.py").write_text("import os, sys; print(sys.executable, os.environ['LATHE_SERVER'] != '')")
    server = make_server(config={"environments": {"interpreter": sys.executable}}).start().prepare()
    client = server.client()
    snapshot = client.run(server.submit_folder(tmp_path, script="a.py"))["snapshot"]
    body = submit_script(snapshot, environment={"name": "AzureML-TensorFlow-2.2-GPU", "version": "3"})
    run = client.post(client.path("runs"), body).expect(201).json()
    assert run["environment"]["name"] == "AzureML-TensorFlow-2.2-GPU" and run["environment"]["version"] == "3"
    assert any(sys.executable in note for note in run["notes"])
    client.wait(run["id"], "Completed")
    assert client.log(run["id"]).decode().split() == [sys.executable, "True"]
