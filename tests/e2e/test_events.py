"""Changes stream by server-sent events; a client that comes back misses nothing and sees nothing twice."""

import json
import threading

from harness.pages import editing
from harness.wait import wait_for


def blocks(response):
    """(id, data) of each event of a stream."""
    fields = {}
    for raw in response:
        line = raw.decode().rstrip("\r\n")
        if not line:
            if "data" in fields:
                yield int(fields["id"]), json.loads(fields["data"])
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")


def stream(client, headers=None, timeout=30, **query):
    return client.open("GET", client.path("events"), query, headers=headers, timeout=timeout)


def read_until_end_of(client, run, **options):
    """All (id, event) of one run, until its last state."""
    found = []
    with stream(client, **options) as response:
        assert response.status == 200
        assert response.getheader("Content-Type").startswith("text/event-stream")
        for number, event in blocks(response):
            if event["run_id"] == run:
                found.append((number, event))
                if event["to"] in ("Completed", "Failed", "Canceled"):
                    return found


def test_the_stream_tells_what_the_event_list_tells(client):
    run = client.submit("true")
    found = read_until_end_of(client, run, after=0)
    listed = client.events(run)
    assert [number for number, _ in found] == [event["id"] for event in listed][: len(found)]
    assert [(event["from"], event["to"]) for _, event in found if event["kind"] == "state"] == client.moves(run)


def test_a_stream_without_a_start_tells_only_what_is_new(server, client):
    old = client.submit("true")
    client.wait(old, "Completed")
    fresh = []
    with stream(client) as response:
        fresh.append(client.submit("true"))
        for _, event in blocks(response):
            assert event["run_id"] != old
            if event["run_id"] == fresh[0] and event["to"] == "Completed":
                return
    raise AssertionError("the stream ended")


def test_a_client_that_comes_back_gets_the_rest_exactly_once(client):
    run = client.submit("true")
    whole = read_until_end_of(client, run, after=0)
    for cut in range(len(whole) - 1):
        last = whole[cut][0]
        by_header = read_until_end_of(client, run, headers={"Last-Event-ID": str(last)})
        by_query = read_until_end_of(client, run, after=last)
        assert by_header == by_query == whole[cut + 1 :]


def test_the_stream_goes_on_after_a_restart_of_the_server(make_server):
    server = make_server().start().prepare()
    client = server.client()
    first = client.submit("true")
    client.wait(first, "Completed")
    last = client.events(first)[-1]["id"]
    server.kill()
    server.start()
    client = server.client()
    second = client.submit("true")
    found = read_until_end_of(client, second, after=last)
    assert all(number > last for number, _ in found)
    assert [event["to"] for _, event in found if event["kind"] == "state"][-1] == "Completed"


def test_many_streams_see_the_same(server, client):
    results, ready = [], threading.Barrier(9)

    def listen():
        with stream(server.client()) as response:
            ready.wait(20)
            seen = []
            for number, event in blocks(response):
                seen.append(number)
                if event["run_id"] == names[0] and event["to"] == "Completed":
                    results.append(seen)
                    return

    names = ["stream_" + __name__]
    threads = [threading.Thread(target=listen) for _ in range(8)]
    for thread in threads:
        thread.start()
    ready.wait(20)
    client.submit("true", id=names[0])
    for thread in threads:
        thread.join(30)
    assert len(results) == 8 and all(result == results[0] for result in results)


def test_a_wrong_position_is_refused(client):
    for after in ("x", "-1", "1.5", str(2**64)):
        assert client.get(client.path("events"), after=after).status == 400
    with stream(client, headers={"Last-Event-ID": "x"}) as response:
        assert response.status == 400


def test_a_position_from_before_a_restore_starts_anew(client):
    with stream(client, after=10**15) as response:
        run = client.submit("true")
        assert next(blocks(response))[1]["run_id"] == run


def test_events_of_another_workspace_are_not_in_the_stream(server, client):
    client.put("/api/v1/workspaces/elsewhere", {}).expect(200, 201)
    other = server.client(workspace="elsewhere")
    foreign = other.submit("true", compute="local")
    other.wait(foreign, "Completed")
    run = client.submit("true")
    with stream(client, after=0) as response:
        for _, event in blocks(response):
            assert event["run_id"] != foreign
            if event["run_id"] == run and event["to"] == "Completed":
                return


def test_events_of_runs_that_have_been_over_for_long_are_trimmed(make_server):
    server = make_server(config={"events": {"keep_days": 2}, "audit": {"keep_days": 2}}).start().prepare()
    client = server.client()
    old = client.submit("true")
    client.wait(old, "Completed")
    young = client.submit("true")
    client.wait(young, "Completed")
    last = client.events(young)[-1]["id"]
    assert server.stop() == 0
    three_days = 3 * 86_400_000_000
    with editing(server.state / "lathe.db") as database:
        database.execute("UPDATE events SET at = at - ? WHERE run_id = ?", (three_days, old))
        database.execute("UPDATE runs SET ended = ended - ? WHERE id = ?", (three_days, old))
    server.start()
    client = server.client()
    wait_for(lambda: not client.events(old), 20, "the end of the old events")
    assert client.run(old)["status"] == "Completed" and client.moves(young)[-1][1] == "Completed"
    assert client.events(client.submit("true"))[0]["id"] > last, "no id is given twice"


def test_the_events_of_a_run_come_in_pages(client):
    run = client.submit("true")
    client.wait(run, "Completed")
    for number in range(5):
        client.request("PATCH", client.path("runs", run, "tags"), json_body={"n": str(number)}).expect(200)
    whole = client.events(run)
    pages, cursor = [], None
    while not pages or cursor:
        page = client.get(client.path("runs", run, "events"), limit=2, cursor=cursor).expect(200).json()
        assert len(page["items"]) <= 2
        pages, cursor = pages + page["items"], page["next"]
    assert pages == whole and len(whole) > 5
    assert client.get(client.path("runs", run, "events"), cursor="ff").status == 400
