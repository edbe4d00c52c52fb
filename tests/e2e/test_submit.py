"""Submitting, finding and changing runs through the API."""

import base64
import sqlite3
import threading

import pytest

from harness.client import make_submit, new_id
from harness.pages import editing
from harness.wait import wait_for


def fresh_experiment():
    return new_id("exp")[:20]


def test_the_same_submit_again_is_the_same_run(client):
    submit = make_submit("true", tags={"a": "1"})
    first = client.post(client.path("runs"), submit).expect(201).json()
    again = client.post(client.path("runs"), submit).expect(200).json()
    assert (again["id"], again["sequence"], again["created"]) == (first["id"], first["sequence"], first["created"])
    reordered = dict(reversed(list(submit.items())))
    client.post(client.path("runs"), reordered).expect(200)
    client.wait(first["id"], "Completed")
    client.post(client.path("runs"), submit).expect(200)
    assert len(client.run(first["id"])["attempts"]) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"command": ["false"]},
        {"tags": {"a": "2"}},
        {"priority": 1},
        {"experiment": "other-one"},
        {"environment": {"variables": {"A": "1"}}},
        {"retries": {"user": 1}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_same_id_with_other_content_is_a_conflict(client, change):
    submit = make_submit("true")
    client.post(client.path("runs"), submit).expect(201)
    answer = client.post(client.path("runs"), submit | change).expect(409)
    assert answer.error() == "conflict" and answer.json()["field"] == "id"


def test_the_same_id_in_another_workspace_is_a_conflict(server, client):
    submit = make_submit("true")
    client.post(client.path("runs"), submit).expect(201)
    client.put("/api/v1/workspaces/other-one", {}).expect(200, 201)
    server.client(workspace="other-one").post("/api/v1/workspaces/other-one/runs", submit).expect(400, 404, 409)


def test_concurrent_duplicates_make_one_run(server, client):
    submit, statuses = make_submit("true"), []

    def send():
        statuses.append(server.client().post(client.path("runs"), submit).status)

    threads = [threading.Thread(target=send) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 15 + [201]
    done = client.wait(submit["id"], "Completed")
    assert len(done["attempts"]) == 1


def test_concurrent_submits_of_different_content_give_one_winner(server, client):
    run, statuses = new_id(), []

    def send(number):
        statuses.append(server.client().post(client.path("runs"), make_submit("true", id=run, priority=number)).status)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [201] + [409] * 7


@pytest.mark.parametrize(
    "change, field",
    [
        ({"experiment": ""}, "experiment"),
        ({"node_count": 0}, "node_count"),
        ({"node_count": "1"}, "node_count"),
        ({"grace_seconds": -1}, "grace_seconds"),
        ({"tags": {"a": 1}}, "tags"),
        ({"snapshot": "00"}, "snapshot"),
        ({"unknown_field": 1}, "unknown_field"),
        ({"command": []}, "script"),
        ({"command": "true"}, "command"),
        ({"script": "train.py"}, "script"),
        ({"priority": 1.5}, "priority"),
        ({"retries": {"user": -1}}, "retries"),
        ({"max_run_duration_seconds": 0}, "max_run_duration_seconds"),
        ({"tags": {f"k{i}": "" for i in range(51)}}, "tags"),
        ({"environment": {"variables": {"A=B": "1"}}}, "environment"),
        ({"environment": {"variables": {"A": "\0"}}}, "environment"),
        ({"command": ["a\0b"]}, "command"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_submit_names_its_field(client, change, field):
    answer = client.post(client.path("runs"), make_submit("true") | change).expect(400, 413)
    assert answer.error() in ("invalid", "too-large")
    assert answer.json()["field"].split(".")[0].split("[")[0] == field and answer.json()["hint"]


def test_a_submit_with_an_unknown_snapshot_is_refused(client):
    answer = client.submit_answer(None, script="train.py", snapshot="ab" * 32, environment={"interpreter": "/usr/bin/python3"})
    assert answer.status in (400, 404, 409) and answer.json()["field"] == "snapshot"


def test_lists_are_newest_first_and_paged_without_gap_or_double(client):
    experiment = fresh_experiment()
    runs = [client.submit("true", experiment=experiment) for _ in range(23)]
    for limit in (1, 7, 23, 500):
        found = [run["id"] for run in client.items(client.path("runs"), experiment=experiment, limit=limit)]
        assert found == runs[::-1]


def test_a_page_stays_right_while_runs_are_added(client):
    experiment = fresh_experiment()
    runs = [client.submit("true", experiment=experiment) for _ in range(6)]
    first = client.get(client.path("runs"), experiment=experiment, limit=3).expect(200).json()
    client.submit("true", experiment=experiment)
    second = client.get(client.path("runs"), experiment=experiment, limit=3, cursor=first["next"]).expect(200).json()
    assert [run["id"] for run in first["items"] + second["items"]] == runs[::-1]


def test_filters_select_by_experiment_status_tag_and_time(client):
    experiment = fresh_experiment()
    good = client.submit("true", experiment=experiment, tags={"kind": "good", "only": "a=b"})
    bad = client.submit("false", experiment=experiment, tags={"kind": "bad"})
    client.wait(good, "Completed"), client.wait(bad, "Failed")

    def find(**query):
        return [run["id"] for run in client.items(client.path("runs"), experiment=experiment, **query)]

    assert find() == [bad, good]
    assert find(status="Failed") == [bad] and find(status="Completed") == [good] and find(status="Running") == []
    assert (
        find(tag="kind") == [bad, good]
        and find(tag="kind=good") == [good]
        and find(tag="only=a=b") == [good]
        and find(tag="none") == []
    )
    created = client.run(bad)["created"]
    assert find(since=created) == [bad] and find(until=created) == [good]
    assert find(since=created, status="Completed") == []


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": 501},
        {"limit": -1},
        {"limit": 2**31},
        {"limit": "x"},
        {"limit": ""},
        {"status": "Sleeping"},
        {"since": "yesterday"},
        {"since": "2019-13-01T00:00:00Z"},
        {"archived": "maybe"},
        {"experiment": "../x"},
        {"tag": "k" * 5000},
    ],
    ids=lambda query: str(query)[:30],
)
def test_a_wrong_query_is_refused(client, query):
    answer = client.get(client.path("runs"), **query).expect(400, 413)
    assert answer.json()["field"] == next(iter(query))


def test_forged_cursors_are_refused(client):
    for _ in range(3):
        client.submit("true")
    real = client.get(client.path("runs"), limit=1).expect(200).json()["next"]
    forged = [
        "x",
        "0",
        "-1",
        "9" * 30,
        "null",
        "' OR 1=1 --",
        "../../etc/passwd",
        real + "x",
        real[:-1],
        real[::-1],
        "A" * 513,
        "\u00ff",
        base64.urlsafe_b64encode(b'{"sequence":-1}').decode(),
        base64.urlsafe_b64encode(bytes(64)).decode(),
    ]
    for cursor in forged:
        if cursor != real:
            answer = client.get(client.path("runs"), cursor=cursor, limit=1)
            assert answer.status in (400, 413), f"cursor {cursor!r}: {answer.status}"


def test_a_cursor_of_one_list_is_no_cursor_of_another(client):
    for _ in range(3):
        client.submit("true")
    cursor = client.get(client.path("runs"), limit=1).expect(200).json()["next"]
    answer = client.get("/api/v1/audit", cursor=cursor)
    assert answer.status in (200, 400) and answer.status != 500


def test_tags_are_set_changed_and_removed(client):
    run = client.submit("true", tags={"keep": "1", "drop": "2"})
    answer = client.request(
        "PATCH", client.path("runs", run, "tags"), json_body={"drop": None, "new": "ü", "keep": "3"}
    ).expect(200)
    assert answer.json()["tags"] == client.run(run)["tags"] == {"keep": "3", "new": "ü"}
    assert "tags" in {event["kind"] for event in client.events(run)}
    client.request("PATCH", client.path("runs", run, "tags"), json_body={f"k{i}": "v" for i in range(60)}).expect(400, 413)
    assert client.run(run)["tags"] == {"keep": "3", "new": "ü"}
    client.request("PATCH", client.path("runs", run, "tags"), json_body={"": "x"}).expect(400)
    client.request("PATCH", client.path("runs", run, "tags"), json_body={"a": 1}).expect(400)


def test_changed_tags_do_not_make_a_repeated_submit_a_conflict(client):
    submit = make_submit("true", tags={"a": "1"})
    client.post(client.path("runs"), submit).expect(201)
    client.request("PATCH", client.path("runs", submit["id"], "tags"), json_body={"a": "2"}).expect(200)
    assert client.post(client.path("runs"), submit).expect(200).json()["tags"] == {"a": "2"}


def test_an_archived_run_leaves_the_list_and_comes_back(client):
    experiment = fresh_experiment()
    run = client.submit("true", experiment=experiment)
    client.wait(run, "Completed")

    def listed(**query):
        return [item["id"] for item in client.items(client.path("runs"), experiment=experiment, **query)]

    assert client.post(client.path("runs", run, "archive"), {"archived": True}).expect(200).json()["archived"] is True
    assert listed() == [] and listed(archived="true") == [run] and client.run(run)["archived"] is True
    client.post(client.path("runs", run, "archive"), {"archived": False}).expect(200)
    assert listed() == [run] and listed(archived="true") == []


def test_a_live_run_is_not_deleted(client):
    run = client.submit("echo ready; sleep 600")
    client.wait(run, "Running")
    assert client.delete(client.path("runs", run)).expect(409).error() == "conflict"
    client.cancel(run).expect(200, 202)
    client.wait(run, "Canceled")
    client.delete(client.path("runs", run)).expect(204)


def test_a_deleted_run_is_gone_with_its_files_and_its_blobs_are_collected(server, client):
    body = new_id("unique")
    run = client.submit(f"mkdir -p outputs; printf {body} > outputs/only.txt; echo {body}")
    client.wait(run, "Completed")
    digest = client.files(run)["outputs/only.txt"]["digest"]
    client.get(f"/api/v1/blobs/{digest}").expect(200)
    client.delete(client.path("runs", run)).expect(204)
    for path in ("", "events", "files", "logs"):
        client.get(client.path("runs", run, *([path] if path else []))).expect(404)
    assert run not in [item["id"] for item in client.items(client.path("runs"))]
    client.delete(client.path("runs", run)).expect(404)
    dry = client.post("/api/v1/store/gc", {"dry_run": True}).expect(200).json()
    assert dry["dry_run"] is True
    client.get(f"/api/v1/blobs/{digest}").expect(200)
    client.post("/api/v1/store/gc", {"dry_run": False}).expect(200)


def test_a_late_duplicate_of_a_deleted_runs_submit_begins_nothing(server, client, tmp_path):
    """A request that was under way for a long time must not run the script again."""
    submit = make_submit(f"echo x >> {tmp_path}/ran")
    run = client.post(client.path("runs"), submit).expect(201).json()["id"]
    client.wait(run, "Completed")
    client.delete(client.path("runs", run)).expect(204)
    for _ in range(2):
        refused = client.post(client.path("runs"), submit).expect(409).json()
        assert refused["field"] == "id" and "deleted" in refused["message"] and refused["hint"]
        client.get(client.path("runs", run)).expect(404)
        server.restart()
    again = client.submit(**{**submit, "id": new_id()})
    client.wait(again, "Completed")
    assert (tmp_path / "ran").read_text() == "x\nx\n"


def test_deleted_ids_are_forgotten_after_a_month(make_server):
    server = make_server().start().prepare()
    client = server.client()
    runs = [client.submit("true") for _ in range(2)]
    for run in runs:
        client.wait(run, "Completed")
    client.delete(client.path("runs", runs[0])).expect(204)
    server.stop()
    with editing(server.state / "lathe.db") as database:
        database.execute("UPDATE deleted_runs SET deleted = deleted - 31 * 86400 * 1000000")
    client = server.start().client()
    client.delete(client.path("runs", runs[1])).expect(204)
    server.stop()
    with sqlite3.connect(server.state / "lathe.db") as database:
        assert database.execute("SELECT id FROM deleted_runs").fetchall() == [(runs[1],)]


def test_every_change_has_an_audit_row(client):
    run = client.submit("true")
    client.wait(run, "Completed")
    client.request("PATCH", client.path("runs", run, "tags"), json_body={"a": "b"}).expect(200)
    client.post(client.path("runs", run, "archive"), {"archived": True}).expect(200)
    client.delete(client.path("runs", run)).expect(204)
    rows = [row for row in client.items("/api/v1/audit", limit=500) if run in row["object"] + row["detail"]]
    runner = f"run {run}"
    assert {row["action"]: row["actor"] for row in rows} == {
        "run.submit": "admin",
        "run.place": "server",
        "run.claim": runner,
        "run.finish": runner,
        "run.tags": "admin",
        "run.archive": "admin",
        "run.delete": "admin",
    }
    assert [row["id"] for row in rows] == sorted((row["id"] for row in rows), reverse=True)


def test_experiments_count_their_runs(client):
    experiment = fresh_experiment()
    client.get(client.path("experiments", experiment)).expect(404)
    client.submit("true", experiment=experiment)
    last = client.submit("true", experiment=experiment)
    found = client.get(client.path("experiments", experiment)).expect(200).json()
    assert (found["name"], found["run_count"], found["last_run"]) == (experiment, 2, last)
    assert experiment in [item["name"] for item in client.items(client.path("experiments"), limit=500)]


def test_workspaces_are_made_once_and_keep_their_runs_apart(server, client):
    name = new_id("ws")[:20]
    made = client.put(f"/api/v1/workspaces/{name}", {"subscription_id": "s-1", "resource_group": "g-1"}).expect(201).json()
    assert (made["name"], made["subscription_id"], made["resource_group"]) == (name, "s-1", "g-1")
    assert (
        client.put(f"/api/v1/workspaces/{name}", {"subscription_id": "s-1", "resource_group": "g-1"}).expect(200).json() == made
    )
    assert client.get(f"/api/v1/workspaces/{name}").expect(200).json() == made
    assert name in [item["name"] for item in client.items("/api/v1/workspaces", limit=500)]
    run = client.submit("true")
    server.client(workspace=name).get(f"/api/v1/workspaces/{name}/runs/{run}").expect(404)
    client.get("/api/v1/workspaces/no-such-one").expect(404)
    client.get("/api/v1/workspaces/no-such-one/runs").expect(404)


def test_compute_targets_are_made_changed_and_deleted(client):
    path = client.path("computes", "to-change")
    made = client.put(path, {"vm_size": "machine", "max_nodes": 2, "idle_seconds": 60}).expect(201).json()
    assert made["min_nodes"] == 0 and made["priority"] == "dedicated" and made["node"]["cores"] > 0
    changed = client.put(path, {"vm_size": "machine", "max_nodes": 4, "priority": "lowpriority"}).expect(200).json()
    assert changed["max_nodes"] == 4 and changed["priority"] == "lowpriority"
    assert client.get(path).expect(200).json()["max_nodes"] == 4
    assert "to-change" in [item["name"] for item in client.items(client.path("computes"))]
    assert client.put(path, {"min_nodes": 3, "max_nodes": 2}).expect(400).json()["field"] in ("min_nodes", "max_nodes")
    client.put(path, {"vm_size": "NO_SUCH_SIZE"}).expect(400)
    client.delete(path).expect(204)
    client.get(path).expect(404)


def test_a_size_larger_than_the_machine_is_cut_and_says_so(client):
    made = client.put(client.path("computes", "big-gpu"), {"vm_size": "STANDARD_NC24", "max_nodes": 1}).expect(201).json()
    assert made["notes"]
    run = client.submit("true", compute="big-gpu")
    assert client.wait(run, "Completed")["notes"]


def test_a_compute_target_in_use_is_not_deleted(client):
    client.put(client.path("computes", "in-use"), {"max_nodes": 2}).expect(201)
    run = client.submit("echo ready; sleep 600", compute="in-use")
    client.wait(run, "Running")
    nodes = client.get(client.path("computes", "in-use")).expect(200).json()["nodes"]
    assert nodes["running"] == 1
    client.delete(client.path("computes", "in-use")).expect(409)
    client.cancel(run).expect(200, 202)
    client.wait(run, "Canceled")
    wait_for(lambda: client.get(client.path("computes", "in-use")).json()["nodes"]["running"] == 0, 20, "a free node")


def test_a_higher_priority_starts_first(client):
    client.put(client.path("computes", "prio"), {"max_nodes": 1}).expect(201)
    first = client.submit("echo ready; sleep 600", compute="prio")
    client.wait(first, "Running")
    low = client.submit("true", compute="prio", priority=1)
    high = client.submit("true", compute="prio", priority=2)
    client.cancel(first).expect(200, 202)
    low_run, high_run = client.wait(low, "Completed"), client.wait(high, "Completed")
    assert high_run["started"] < low_run["started"]
