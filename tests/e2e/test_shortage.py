"""A machine that is short of descriptors or processes: runs wait for them, say so, and then run."""

import json

import pytest

from harness import processes
from harness.client import UnixConnection, make_submit, new_id
from harness.faults import PidsGroup, needs_pids_cgroup, no_more_descriptors
from harness.wait import never, wait_for


class OpenConnection:
    """One connection that is kept: a server without descriptors accepts no other."""

    def __init__(self, client):
        self.client, self.connection = client, UnixConnection(client.socket_path, 30)
        self.call("GET", client.path("runs"))

    def call(self, method, path, value=None):
        headers = {"Authorization": f"Bearer {self.client.token}", "Content-Type": "application/json"}
        self.connection.request(method, path, body=json.dumps(value) if value else None, headers=headers)
        response = self.connection.getresponse()
        body = response.read()
        assert response.status in (200, 201), body
        return json.loads(body)

    def run(self, run):
        return self.call("GET", self.client.path("runs", run))


def waiting_reason(found):
    return (found.get("waiting") or {}).get("reason", "")


def test_a_run_waits_while_the_server_has_no_descriptors(make_server):
    server = make_server().start().prepare()
    client = server.client()
    kept = OpenConnection(client)
    client.wait(client.submit("true"), "Completed")  # whatever is opened once is open
    with no_more_descriptors(server.pid):
        run = kept.call("POST", client.path("runs"), make_submit("echo ran"))["id"]
        wait_for(lambda: "Too many open files" in waiting_reason(kept.run(run)), 20, "descriptors as the reason")
        never(lambda: kept.run(run)["status"] != "Queued", 1, "an end of a run that waits")
    done = client.wait(run, "Completed")
    assert len(done["attempts"]) == 1 and client.log(run) == b"ran\n"


@pytest.fixture
def group():
    with PidsGroup(new_id("lathe-e2e")) as made:
        yield made


def fork_server_of(server):
    found = (pid for pid in processes.pids() if b"fork-server" in processes.arguments(pid))
    return next(pid for pid in found if processes.parent(pid) == server.pid)


@pytest.mark.root
@needs_pids_cgroup
@pytest.mark.parametrize("more", range(5), ids=lambda more: f"{more}-more")
def test_a_run_waits_while_the_machine_has_no_processes(make_server, group, more):
    """None for the runner; or one, and none for its guardian; or none for the script; or none for the runner's threads."""
    server = make_server(config={"providers": {"local": {"enforce_memory": False}}}).start().prepare()
    client = server.client()
    client.wait(client.submit("true"), "Completed")  # the fork server is there from now on
    group.add(fork_server_of(server))
    group.limit(more)
    run = client.submit("echo ran; exec sleep 0.5")
    if more == 0:
        wait_for(lambda: "temporarily unavailable" in waiting_reason(client.run(run)), 20, "processes as the reason")
    never(lambda: client.status(run) in ("Failed", "Canceled"), 1, "the end of a run that waits")
    group.limit(None)
    done = client.wait(run, "Completed")
    assert len(done["attempts"]) == 1 and client.log(run) == b"ran\n"
