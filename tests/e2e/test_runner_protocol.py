"""The API between runner and server, with the test as the runner: fencing, logs, artifacts, the end of an attempt."""

import threading

import pytest

from harness import processes
from harness.attempt import HeldAttempt, exit_record
from harness.blobs import digest, pack
from harness.client import LOG
from harness.registry import put_files, save_dataset
from harness.server import holding_config


@pytest.fixture
def attempt(holder):
    return holder.submit()


def test_a_claim_gets_the_order_and_starts_the_run(holder, attempt):
    order = attempt.claim().expect(200).json()
    assert (order["run"], order["attempt"], order["node"], order["node_count"]) == (attempt.run, 1, 0, 1)
    assert order["command"] == ["/bin/sh", "-c", "true"] and order["log_name"] == LOG and order["segment_bytes"] > 0
    holder.client.wait(attempt.run, "Running")


def test_a_claim_repeated_by_the_same_runner_gets_the_same_order(attempt):
    assert attempt.claim().expect(200).json() == attempt.claim().expect(200).json()


def test_log_bytes_are_kept_once_however_often_they_are_sent(holder, attempt):
    attempt.claim().expect(200)
    assert attempt.append(b"hello ", 0).expect(200).json()["size"] == 6
    assert attempt.append(b"hello ", 0).expect(200).json()["size"] == 6
    assert attempt.append(b"lo world", 3).expect(200).json()["size"] == 11
    assert holder.client.log(attempt.run) == b"hello world"
    assert attempt.positions()[LOG]["size"] == 11


def test_a_hole_in_a_log_is_refused_and_told_where_to_go_on(attempt):
    attempt.claim().expect(200)
    attempt.append(b"abc", 0).expect(200)
    hole = attempt.append(b"def", 4).expect(409)
    assert hole.headers["lathe-offset"] == "3"
    attempt.append(b"def", 3).expect(200)


def test_sealed_segments_and_the_live_end_are_read_as_one_log(holder, attempt):
    attempt.claim().expect(200)
    attempt.append(b"first ", 0, segment=0, seal=True).expect(200)
    attempt.append(b"first ", 0, segment=0, seal=True).expect(200)
    attempt.append(b"second ", 0, segment=1).expect(200)
    assert holder.client.log(attempt.run) == b"first second "
    assert holder.client.log(attempt.run, offset=3) == b"st second "
    position = attempt.positions()[LOG]
    assert (position["segment"], position["size"], position["sealed_through"]) == (1, 7, 0)
    attempt.append(b"second third", 0, segment=1, seal=True).expect(200)
    attempt.finish(logs={LOG: {"segments": 2, "size": 18}}).expect(200)
    assert holder.client.log(attempt.run) == b"first second third"


def test_a_follower_sees_bytes_as_they_are_appended(holder, attempt):
    attempt.claim().expect(200)
    pieces = holder.client.follow(attempt.run)
    attempt.append(b"one", 0).expect(200)
    assert next(pieces) == b"one"
    attempt.append(b"two", 3).expect(200)
    assert next(pieces) == b"two"
    attempt.finish(logs={LOG: {"segments": 1, "size": 6}}).expect(200)
    assert list(pieces) == []


def test_artifacts_need_their_blobs_first(holder, attempt):
    attempt.claim().expect(200)
    data = attempt.run.encode()
    files = {"files": [{"path": "outputs/a.bin", "digest": digest(data), "size": len(data), "executable": False}]}
    attempt.call("artifacts", files).expect(400, 404, 409)
    assert attempt.client.post("/api/v1/blobs/missing", {"digests": [digest(data)]}).expect(200).json()["missing"] == [
        digest(data)
    ]
    attempt.client.request("POST", "/api/v1/blobs/pack", body=pack(data)).expect(200)
    attempt.call("artifacts", files).expect(200, 204)
    attempt.call("artifacts", files).expect(200, 204)
    assert holder.client.file(attempt.run, "outputs/a.bin").expect(200).body == data


def test_files_of_an_output_become_files_of_its_datastore(holder):
    outputs = {"out": {"datastore": "workspaceblobstore", "path": "made/{run-id}"}}
    attempt = holder.submit(outputs=outputs)
    assert attempt.claim().expect(200).json()["outputs"] == [{"name": "out", "mode": "upload"}]
    file = {"output": "out", "path": "a/b", "digest": digest(b"made"), "size": 4}
    holder.client.request("POST", "/api/v1/blobs/pack", body=pack(b"made")).expect(200)
    attempt.call("outputs", {"files": [file]}).expect(204)
    attempt.call("outputs", {"files": [file]}).expect(204)  # a reply that got lost
    query = {"path": f"made/{attempt.run}/a/b"}
    content = holder.client.path("datastores", "workspaceblobstore", "files", "content")
    assert holder.client.request("GET", content, query=query).expect(200).body == b"made"
    for wrong in ({"output": "none"}, {"path": "../x"}, {"digest": "0" * 64}, {"size": 5}):
        attempt.call("outputs", {"files": [file | wrong]}).expect(400)
    attempt.finish()
    assert attempt.call("outputs", {"files": [file]}).expect(409).error() == "attempt-fenced"


def test_notes_of_a_runner_are_shown_once(holder, attempt):
    for _ in range(2):
        attempt.call("notes", {"notes": ["an input was copied instead of mounted"]}).expect(204)
    assert holder.client.run(attempt.run)["notes"].count("an input was copied instead of mounted") == 1
    for wrong in ({"notes": []}, {"notes": "x"}, {}):
        attempt.call("notes", wrong).expect(400)


def test_the_order_names_what_inputs_turned_out_to_be(holder):
    put_files(holder.client, "workspaceblobstore", {"order/a": b"1", "order/b": b"2"})
    saved = save_dataset(holder.client, {"datastore": "workspaceblobstore", "path": "order"})
    attempt = holder.submit(inputs={"data": {"dataset": saved}, "id": {"dataset": saved, "mode": "direct"}})
    first = attempt.claim().expect(200).json()["inputs"]
    assert [(item["name"], item["mode"]) for item in first] == [("data", "mount"), ("id", "direct")]
    assert first[0]["tree"] == holder.client.run(attempt.run)["inputs"]["data"]["tree"]
    assert first[0]["folder"].endswith(f"views/{first[0]['tree']}"), "over the socket, to the server's own user"
    attempt.client = attempt.client.over_tcp()
    assert attempt.claim().expect(200).json()["inputs"][0]["folder"] == "", "to nobody else"


def test_finish_is_idempotent_and_final(holder, attempt):
    attempt.claim().expect(200)
    attempt.call("state", {"state": "finalizing", "exit": exit_record()}).expect(200, 204)
    assert holder.client.status(attempt.run) == "Finalizing"
    assert attempt.finish().expect(200).json()["status"] == "Completed"
    assert attempt.finish().expect(200).json()["status"] == "Completed"
    other = attempt.finish(exit_code=1)
    assert other.status in (200, 409) and holder.client.status(attempt.run) == "Completed"
    assert [to for _, to in holder.client.moves(attempt.run)].count("Completed") == 1


def test_an_attempt_does_not_finish_before_its_whole_log_has_arrived(holder, attempt):
    attempt.claim().expect(200)
    attempt.append(b"half", 0).expect(200)
    refused = attempt.finish(logs={LOG: {"segments": 1, "size": 9}}).expect(409)
    assert refused.error() == "conflict" and refused.json()["field"] == "logs" and refused.json()["hint"]
    holder.client.wait(attempt.run, "Running")  # the claim is written behind its answer
    attempt.finish(logs={"azureml-logs/other.txt": {"segments": 1, "size": 9}}).expect(400)
    attempt.append(b" half", 4, seal=True).expect(200)
    attempt.finish(logs={LOG: {"segments": 1, "size": 9}}).expect(200)
    attempt.finish(logs={LOG: {"segments": 1, "size": 9}}).expect(200)
    assert holder.client.log(attempt.run) == b"half half"


def test_finish_straight_from_running_passes_through_finalizing(holder, attempt):
    attempt.claim().expect(200)
    attempt.finish(exit_code=2).expect(200)
    assert [to for _, to in holder.client.moves(attempt.run)][-2:] == ["Finalizing", "Failed"]


def test_an_attempt_that_is_over_is_fenced(holder):
    attempt = holder.submit(retries={"user": 1})
    attempt.claim().expect(200)
    attempt.append(b"old", 0).expect(200)
    attempt.finish(exit_code=1, logs={LOG: {"segments": 1, "size": 3}}).expect(200)
    second = holder.attempt(attempt.run, 2)
    second.claim().expect(200)
    for late in (
        attempt.claim(),
        attempt.append(b"late", 3),
        attempt.finish(exit_code=0),
        attempt.call("artifacts", {"files": []}),
        attempt.call("state", {"state": "finalizing", "exit": exit_record()}),
    ):
        assert late.status in (401, 403, 409), late.body
        if late.status == 409:
            assert late.error() == "attempt-fenced"
    assert holder.client.status(attempt.run) == "Running"
    assert holder.client.log(attempt.run, attempt=1) == b"old"
    second.append(b"new", 0).expect(200)
    second.finish(logs={LOG: {"segments": 1, "size": 3}}).expect(200)
    done = holder.client.wait(attempt.run, "Completed")
    assert [a["exit_code"] for a in done["attempts"]] == [1, 0]


def test_a_runner_is_told_to_stop_when_the_run_is_cancelled(holder, attempt):
    attempt.claim().expect(200)
    wishes = attempt.desired()
    assert next(wishes)["desired"] == "run"
    holder.client.cancel(attempt.run).expect(200, 202)
    assert next(wishes) == {"desired": "stop", "reason": "canceled"}
    assert next(attempt.desired()) == {"desired": "stop", "reason": "canceled"}, "a new watch begins with what is wanted now"
    attempt.finish(reason="canceled").expect(200)
    holder.client.wait(attempt.run, "Canceled")


def test_a_process_that_ended_by_itself_after_cancel_was_asked_ends_as_it_exited(holder, attempt):
    attempt.claim().expect(200)
    holder.client.cancel(attempt.run).expect(200, 202)
    attempt.finish(exit_code=0, reason="exited").expect(200)
    holder.client.wait(attempt.run, "Completed")


def test_racing_finish_and_cancel_give_one_end(holder):
    for _ in range(10):
        attempt = holder.submit()
        attempt.claim().expect(200)
        threads = [threading.Thread(target=attempt.finish), threading.Thread(target=holder.client.cancel, args=(attempt.run,))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        holder.client.wait(attempt.run)
        ends = [to for _, to in holder.client.moves(attempt.run) if to in ("Completed", "Failed", "Canceled")]
        assert len(ends) == 1


def spool_of(holder, attempt):
    return holder.server.state / "work" / f"{holder.client.run(attempt.run)['sequence']}.{attempt.number}.0" / "spool"


def linked(attempt, size, segment=0, seal=False):
    return attempt.call("logs/linked", {"name": LOG, "segment": segment, "size": size, "seal": seal})


def test_a_linked_log_is_read_from_the_spool_as_far_as_it_was_told(holder, attempt):
    attempt.claim().expect(200)
    (spool_of(holder, attempt) / "log.0").write_bytes(b"linked and more")
    assert linked(attempt, 6).expect(200).json()["size"] == 6
    assert holder.client.log(attempt.run) == b"linked"
    linked(attempt, 6).expect(200)
    assert linked(attempt, 15, seal=True).expect(200).json()["size"] == 15
    (spool_of(holder, attempt) / "log.1").write_bytes(b", twice")
    linked(attempt, 7, segment=1, seal=True).expect(200)
    attempt.finish(logs={LOG: {"segments": 2, "size": 22}}).expect(200)
    assert holder.client.log(attempt.run) == b"linked and more, twice"


def test_a_log_that_cannot_be_linked_is_not_taken_and_its_bytes_may_be_sent(holder, attempt):
    """It is not there, shorter than was said, or no plain file; or other bytes have come before."""
    attempt.claim().expect(200)
    spool = spool_of(holder, attempt)
    assert linked(attempt, 1).expect(501).error() == "unsupported"
    (spool / "log.0").write_bytes(b"abc")
    assert linked(attempt, 4).expect(501).error() == "unsupported"
    (spool / "log.0").unlink()
    (spool / "log.0").symlink_to("/etc/passwd")
    assert linked(attempt, 1).expect(501).error() == "unsupported"
    assert holder.client.log(attempt.run) == b""
    attempt.append(b"sent", 0).expect(200)
    (spool / "log.0").unlink()
    (spool / "log.0").write_bytes(b"other")
    assert linked(attempt, 5).expect(501).error() == "unsupported"
    assert holder.client.log(attempt.run) == b"sent"


def test_a_linked_log_cannot_name_a_file_of_its_choice(attempt):
    attempt.claim().expect(200)
    for name in ("../../token", "/etc/passwd", "a/../../b", "..", ""):
        attempt.call("logs/linked", {"name": name, "segment": 0, "size": 10, "seal": True}).expect(400)


def test_the_size_of_an_append_is_bounded(holder, attempt):
    """At its right place, so that only its size can be the reason."""
    attempt.claim().expect(200)
    attempt.append(bytes((16 << 20) + 1), 0).expect(413)
    assert attempt.positions()[LOG]["size"] == 0 and holder.client.log(attempt.run) == b""
    attempt.append(bytes(1 << 20), 0).expect(200)


def test_the_size_of_a_segment_is_bounded(make_server, tmp_path, request):
    """What the order says holds for the server, too: a runner that goes on in a full segment is refused."""
    config = holding_config(tmp_path) | {"logs": {"segment_mb": 1}}
    server = make_server(config=config).start().prepare()
    attempt = HeldAttempt(server, tmp_path, server.client().submit("true"))
    for pid in processes.with_environment("LATHE_HOLD", str(tmp_path)):
        request.addfinalizer(lambda pid=pid: processes.kill(pid))
    order = attempt.claim().expect(200).json()
    assert order["segment_bytes"] == 1 << 20
    attempt.append(bytes(1 << 20), 0).expect(200)
    assert attempt.append(b"x", 1 << 20).status in (400, 409, 413)
    assert attempt.positions()[LOG]["size"] == 1 << 20
    attempt.append(b"", 1 << 20, seal=True).expect(200)
    attempt.append(b"x", 0, segment=1).expect(200)


def test_an_order_survives_a_restart_of_the_server(holder, attempt):
    order = attempt.claim().expect(200).json()
    attempt.append(b"before ", 0).expect(200)
    holder.server.kill()
    holder.server.start()
    assert attempt.claim().expect(200).json() == order
    assert attempt.positions()[LOG]["size"] == 7
    attempt.append(b"after", 7).expect(200)
    attempt.finish(logs={LOG: {"segments": 1, "size": 12}}).expect(200)
    assert holder.client.log(attempt.run) == b"before after"
