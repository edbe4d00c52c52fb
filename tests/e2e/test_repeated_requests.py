"""Every request that changes something is sent several times, at once, one after the other, and much later, by a proxy
between client and server: each has its effect once, whatever the client was told."""

import collections

import pytest

from harness.campaign import Campaign
from harness.checker import check_audit, check_events, check_files, check_slots
from harness.client import TERMINAL, UnixConnection, make_submit, new_id
from harness.deeds import DEEDS, check_model_numbers, find
from harness.proxy import RepeatingProxy


@pytest.fixture
def repeated(make_server):
    """(server, client behind the proxy, proxy)"""
    server = make_server().start().prepare()
    client = server.client()
    with RepeatingProxy(client.socket_path, lambda: UnixConnection(client.socket_path, 30)) as proxy:
        behind = server.tcp_client()
        behind.url = proxy.url
        yield server, behind, proxy


def one_life(client, chance):
    """A run from its submit to its end with a deed, all behind the proxy. What was done: (run, deed, whether it was deleted)."""
    cancelled = chance.random() < 0.3
    body = make_submit("sleep 600" if cancelled else "echo once >> outputs/once", id=new_id(), grace_seconds=0)
    client.post(client.path("runs"), body).expect(200, 201)
    if cancelled:
        client.cancel(body["id"]).expect(200, 202, 409)
    client.wait(body["id"], *TERMINAL)
    deed = chance.choice(list(DEEDS))
    DEEDS[deed](client, body["id"])
    deleted = deed in ("tag", "metrics") and chance.random() < 0.4
    if deleted:
        assert client.delete(client.path("runs", body["id"])).status in (204, 404)  # the second of two has nothing to do
    return body["id"], deed, deleted


@pytest.mark.campaign
def test_requests_that_come_twice_late_and_in_another_order_have_one_effect(repeated):
    server, client, proxy = repeated
    campaign, lives = Campaign("repeated", "LATHE_REPEATS", 60), []
    for block in campaign.blocks(20):
        for _, chance in block:
            lives.append(one_life(client, chance))
        late = proxy.send_late()
        statuses = collections.Counter(status // 100 for _, _, status in late)
        assert set(statuses) <= {2, 4}, [row for row in late if row[2] >= 500]
        check_lives(server, lives)
        campaign.add(late=len(late))
    campaign.add(requests=sum(len(statuses) for _, _, statuses in proxy.answers))
    bad = [row for row in proxy.answers if any(status >= 500 for status in row[2])]
    assert not bad, bad[:3]
    check_slots(server.client())
    check_files(server)
    check_audit(server.state)


def check_lives(server, lives):
    client = server.client()
    stored = collections.Counter(run["id"] for run in client.items(client.path("runs"), limit=500))
    wanted = {run for run, _, deleted in lives if not deleted}
    assert set(stored.values()) <= {1} and set(stored) == wanted, f"too many: {set(stored) - wanted}, lost: {wanted - set(stored)}"
    models = check_model_numbers(client)
    for run, deed, deleted in lives:
        if deleted:
            client.get(client.path("runs", run)).expect(404)
            continue
        done = client.wait(run, *TERMINAL)
        check_events(client, run)
        assert len(done["attempts"]) <= 1
        assert done["status"] != "Completed" or client.file(run, "outputs/once").expect(200).body == b"once\n"
        assert find(client, run, deed, models), f"{deed} of {run}"


def test_a_repeat_during_a_long_poll_reaches_the_same_run(repeated):
    """Followers of the log and of events wait while the submit that made the run is repeated."""
    server, client, _ = repeated
    body = make_submit("echo one; sleep 1; echo two")
    client.post(client.path("runs"), body).expect(200, 201)
    pieces = server.client().follow(body["id"])
    seen = b""
    for _ in range(5):
        client.post(client.path("runs"), body).expect(200)
    for piece in pieces:
        seen += piece
    assert seen == b"one\ntwo\n" and len(client.wait(body["id"], "Completed")["attempts"]) == 1


def test_the_proxy_sees_a_second_effect(repeated):
    """What the campaign relies on: a request that is not idempotent, sent twice, is told apart."""
    server, client, proxy = repeated
    for _ in range(20):
        client.post("/api/v1/tokens", {"name": new_id("twice"), "role": "viewer"})
    names = [token["name"] for token in server.client().items("/api/v1/tokens")]
    sent = sum(len(statuses) for method, target, statuses in proxy.answers)
    assert sent > 20 and len(names) > len(set(names)), "no request was doubled"
