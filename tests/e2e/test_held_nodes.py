"""Processes that cannot be killed: their run is over and says so, and their node is given to nobody until they are gone."""

import pytest

from harness import processes
from harness.attempt import HeldAttempt, exit_record
from harness.server import holding_config
from harness.wait import never, wait_for


@pytest.fixture
def held(make_server, tmp_path):
    """The test is the runner. The process in its place, which holds the spool, stands for what cannot be killed."""
    server = make_server(config=holding_config(tmp_path)).start().prepare()
    client = server.client()
    client.put(client.path("computes", "single"), {"vm_size": "machine", "max_nodes": 1}).expect(201)
    attempt = HeldAttempt(server, tmp_path, client.submit("true", compute="single"))
    attempt.claim().expect(200)
    yield server, client, attempt, tmp_path
    for pid in processes.with_environment("LATHE_HOLD", str(tmp_path)):
        processes.kill(pid)


def finish(attempt, unkillable):
    exit = exit_record(reason="canceled") | {"unkillable": unkillable}
    return attempt.call("finish", {"node": 0, "exit": exit, "logs": {}})


def held_nodes(client):
    return client.get(client.path("computes", "single")).expect(200).json()["held"]


def test_a_node_is_held_until_its_last_process_is_gone(held):
    server, client, attempt, folder = held
    (unkillable,) = processes.with_environment("LATHE_HOLD", str(folder))
    client.cancel(attempt.run).expect(200)
    finish(attempt, 2).expect(200)
    done = client.wait(attempt.run, "Canceled")
    assert done["attempts"][0]["unkillable"] == 2
    assert any("2 processes" in note and "cannot be killed" in note for note in done["notes"]), done["notes"]
    second = client.submit("true", compute="single")
    for _ in range(2):  # also after a restart of the server
        assert held_nodes(client) == [{"node": "single/0", "run": attempt.run}]
        waiting = client.run(second)["waiting"]
        assert attempt.run in waiting["reason"] and "cannot be killed" in waiting["reason"], waiting
        never(lambda: client.run(second)["attempts"], 1, "a second run on the node")
        assert attempt.run in server.cli("compute", "show", "single").stdout
        assert "cannot be killed" in server.cli("run", "show", attempt.run).stdout
        refused = client.delete(client.path("runs", attempt.run)).expect(409)
        assert refused.json()["hint"]
        server.restart()
    processes.kill(unkillable)
    HeldAttempt(server, folder, second).claim().expect(200)
    assert held_nodes(client) == []
    client.delete(client.path("runs", attempt.run)).expect(204)


def test_a_run_whose_processes_are_gone_holds_nothing(held):
    server, client, attempt, folder = held
    finish(attempt, 0).expect(200)
    second = client.submit("true", compute="single")
    HeldAttempt(server, folder, second).claim().expect(200)
    assert held_nodes(client) == []
    for wrong in (-1, "two", 1.5):
        finish(HeldAttempt(server, folder, second), wrong).expect(400)
