"""Metric records: what was logged arrives exactly once, in order and as it was, whoever is killed meanwhile."""

import concurrent.futures
import json
import os
import pathlib
import re
import sys
import threading
import uuid

import pytest

from harness import processes
from harness.client import new_id
from harness.wait import wait_for


def begin(client, **fields):
    body = {"id": new_id(), "experiment": "metrics", "kind": "interactive", **fields}
    return client.post(client.path("runs"), body).expect(201).json()["id"]


def record(name="loss", value=0.5, kind="scalar", time=1.5, **more):
    return {"name": name, "kind": kind, "value": value, "time": time, **more}


def lines(*records):
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


def append(client, run, data, offset=0, source="s"):
    query = {"source": source, "offset": offset}
    return client.request("POST", client.path("runs", run, "metrics"), query=query, body=data, timeout=120)


def position(client, run, source="s"):
    return client.get(client.path("runs", run, "metrics", "positions"), source=source).expect(200).json()["offset"]


def read(client, run, **query):
    return list(client.items(client.path("runs", run, "metrics"), **query))


def stream(client, run, **query):
    """All records as they come, one after the other."""
    accept = {"Accept": "application/x-ndjson"}
    with client.open("GET", client.path("runs", run, "metrics"), query, headers=accept, timeout=120) as response:
        assert response.status == 200 and response.headers["content-type"] == "application/x-ndjson"
        for line in response:
            yield json.loads(line)


def python(code):
    return [sys.executable, "-u", "-c", LOGGER + code]


# What the SDK does: one write of one line to a file of its own.
LOGGER = """
import json, os, signal, time
journal = os.open(os.environ["LATHE_METRICS_DIR"] + "/journal.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
def log(name, value, **more):
    line = json.dumps({"name": name, "kind": "scalar", "value": value, "time": time.time(), **more})
    os.write(journal, line.encode() + b"\\n")
"""


# --- the API


def test_what_is_appended_comes_back_in_order(client):
    run = begin(client)
    first, second = lines(record(step=1), record(step=2)), lines(record("accuracy", 1, step=None, description="of 1"))
    assert append(client, run, first).expect(200).json() == {"offset": len(first)}
    assert append(client, run, second, len(first)).expect(200).json()["offset"] == len(first + second)
    assert read(client, run) == [record(step=1), record(step=2), record("accuracy", 1, step=None, description="of 1")]
    assert read(client, run, name="accuracy") == [record("accuracy", 1, step=None, description="of 1")]
    assert read(client, run, name="nothing") == []
    assert list(stream(client, run, name="loss")) == read(client, run, name="loss")
    assert read(client, begin(client)) == []


def test_every_line_arrives_once_however_often_it_is_sent(client):
    run = begin(client)
    data = lines(*(record(step=i) for i in range(10)))
    half = len(lines(*(record(step=i) for i in range(5))))
    assert position(client, run) == 0
    append(client, run, data[:half]).expect(200)
    append(client, run, data[:half]).expect(200)  # the reply got lost
    assert append(client, run, b"", 0).expect(200).json()["offset"] == half, "an empty body only asks"
    assert append(client, run, data, 0).expect(200).json()["offset"] == len(data), "an overlap is cut"
    hole = append(client, run, lines(record()), len(data) + 7).expect(409)
    assert hole.error() == "conflict" and hole.headers["lathe-offset"] == str(len(data))
    assert position(client, run) == len(data) and position(client, run, "other") == 0
    assert [each["step"] for each in read(client, run)] == list(range(10))


def test_a_part_of_a_line_waits_for_its_rest(client):
    run = begin(client)
    data = lines(record(step=1), record(step=2))
    whole = len(lines(record(step=1)))
    assert append(client, run, data[:-5]).expect(200).json()["offset"] == whole
    assert append(client, run, data[whole:], whole).expect(200).json()["offset"] == len(data)
    assert len(read(client, run)) == 2


def test_values_keep_their_type_and_precision(client):
    run = begin(client)
    nan, infinite = {"float": "NaN"}, {"float": "Infinity"}
    numbers = [1, 1.0, -0.0, 1e308, 5e-324, 0.1, 2**53 + 1, -(2**63), nan, infinite, {"float": "-Infinity"}]
    others = ["text", "ü\u2028\"\n", True, None, [], [1, 2.0, "x"], {"x": 1}, {"x": nan, "y": [1, infinite]}]
    values = [*numbers, *others, {"columns": {"a": [1, 2], "b": ["x", "y"]}}]
    kinds = ["scalar", "list", "row", "table", "image", "confusion_matrix", "accuracy_table"]
    sent = [record(f"metric {i} ✓", value, kinds[i % len(kinds)], 1550603361.123456) for i, value in enumerate(values)]
    append(client, run, lines(*sent)).expect(200)
    for found in (read(client, run), list(stream(client, run))):
        assert json.dumps(found) == json.dumps(sent), "equal as text: 1 is not 1.0"


BAD_RECORDS = [record(""), record("n" * 256), record(step=1.5), record(run="y"), record(value="x" * (1 << 20)), {}, []]
BAD_LINES = [b"nonsense", b"\xff", b'"text"', b'{"name":"x","kind":"scalar","value":NaN,"time":1}']
BAD_LINES += [lines(each).strip() for each in BAD_RECORDS]


@pytest.mark.parametrize("bad", BAD_LINES, ids=lambda bad: bad[:40].decode(errors="replace"))
def test_a_clients_mistake_is_named_by_its_line_and_nothing_is_kept(client, bad):
    run = begin(client)
    refused = append(client, run, lines(record(), record()) + bad + b"\n" + lines(record())).expect(400).json()
    assert refused["field"] == "line 3" and "line 3" in refused["message"]
    assert read(client, run) == [] and position(client, run) == 0


def test_wrong_questions_are_refused_by_name(client):
    run = begin(client)
    for source in ("", "../x", "a b", "x" * 65, "-x"):
        assert append(client, run, b"", 0, source).expect(400).json()["field"] == "source"
    client.request("POST", client.path("runs", run, "metrics"), query={"source": "s"}, body=b"").expect(400)
    for query in ({"limit": 0}, {"limit": 100_001}, {"cursor": "made-up"}, {"names": "x"}, {"recursive": "maybe"}):
        client.get(client.path("runs", run, "metrics"), **query).expect(400)
    append(client, "absent", lines(record())).expect(404)
    client.get(client.path("runs", "absent", "metrics")).expect(404)


def test_pages_go_on_where_the_last_one_ended(client):
    run = begin(client)
    offset = 0
    for batch in range(7):  # small batches share a block, large ones have their own
        data = lines(*(record(f"m{i % 3}", batch * 1000 + i) for i in range(10 ** (batch % 4))))
        offset = append(client, run, data, offset).expect(200).json()["offset"]
    everything = list(stream(client, run))
    assert len(everything) == 1 + 10 + 100 + 1000 + 1 + 10 + 100
    for limit in (1, 7, 100, 500, 5000):
        if limit > 1:
            assert read(client, run, limit=limit) == everything
        some = [each for each in everything if each["name"] == "m1"]
        assert read(client, run, limit=limit + 2, name="m1") == some
    page = client.get(client.path("runs", run, "metrics"), limit=len(everything)).expect(200).json()
    assert page["next"] is None, "a page that holds all says so"
    cursor = client.get(client.path("runs", run, "metrics"), limit=5).expect(200).json()["next"]
    client.get(client.path("runs", run, "metrics"), limit=5, cursor=cursor, name="m1").expect(400)


def test_a_familys_metrics_come_together_and_say_whose_they_are(client):
    top = begin(client)
    child, other = begin(client, parent=top), begin(client, parent=top)
    grandchild = begin(client, parent=child)
    for i, run in enumerate((grandchild, other, child, top)):
        append(client, run, lines(record(value=i), record("x", i))).expect(200)
    found = read(client, top, recursive="true", name="loss")
    assert [each["run"] for each in found] == [top, child, other, grandchild]
    assert found[0] == {"run": top, **record(value=3)}
    assert read(client, top, recursive="true", limit=3) == list(stream(client, top, recursive="true"))
    assert "run" not in read(client, top)[0] and len(read(client, child, recursive="true")) == 4


def test_the_same_journal_by_two_ways_at_once_is_still_kept_once(client):
    run = begin(client)
    data = lines(*(record(step=i) for i in range(2000)))
    cuts = [0]
    while cuts[-1] < len(data):
        cuts.append(data.index(b"\n", min(cuts[-1] + 500, len(data) - 1)) + 1)

    def send(_):
        for begin_at, end in zip(cuts, cuts[1:]):
            answer = append(client, run, data[begin_at:end], begin_at)
            while answer.status == 409:
                there = int(answer.headers["lathe-offset"])
                answer = append(client, run, data[there:end], there)
            answer.expect(200)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(send, range(4)))
    assert [each["step"] for each in read(client, run)] == list(range(2000))


def test_metrics_go_with_their_run(server, client):
    run = begin(client)
    append(client, run, lines(record())).expect(200)
    client.post(client.path("runs", run, "complete")).expect(200)
    append(client, run, lines(record()), 0, "late").expect(200)  # what a client has left to say after the end
    client.delete(client.path("runs", run)).expect(204)
    client.get(client.path("runs", run, "metrics")).expect(404)


def test_followers_hear_of_new_metrics_but_not_of_every_one(client):
    run = begin(client)
    heard, ready = [], threading.Event()

    def follow():
        with client.open("GET", client.path("events"), {"run": run, "after": 0}, timeout=60) as response:
            ready.set()
            for line in response:
                if line.startswith(b"event:"):
                    heard.append(line.split()[1].decode())
                if b"Completed" in line:
                    return

    follower = threading.Thread(target=follow)
    follower.start()
    assert ready.wait(20)
    data = lines(record())
    for i in range(50):
        append(client, run, data, i * len(data)).expect(200)
    wait_for(lambda: heard.count("metrics") >= 2, 20, "the event for what came after the first")
    client.post(client.path("runs", run, "complete")).expect(200)
    follower.join(30)
    assert not follower.is_alive() and 2 <= heard.count("metrics") < 50
    assert [event["kind"] for event in client.events(run)].count("metrics") == 1, "the history keeps only the last"


def test_a_runs_token_logs_for_its_own_run_and_children(holder):
    attempt, other = holder.submit(), holder.submit()
    attempt.claim().expect(200)
    child = begin(attempt.script, parent=attempt.run)
    for run in (attempt.run, child):
        append(attempt.script, run, lines(record())).expect(200)
        assert read(holder.client, run) == [record()]
    append(attempt.script, other.run, lines(record())).expect(403)


def test_a_runner_may_ship_journals_until_its_attempt_is_over(holder):
    attempt = holder.submit()
    attempt.claim().expect(200)

    def ship(data, offset=0):
        query = {"source": "j", "offset": offset}
        return attempt.client.request("POST", f"{attempt.path}/metrics", query=query, body=data)

    data = lines(record(), record())
    assert ship(data).expect(200).json()["offset"] == len(data)
    assert ship(data).expect(200).json()["offset"] == len(data)
    assert ship(data, 10_000).expect(409).headers["lathe-offset"] == str(len(data))
    attempt.finish().expect(200)
    assert ship(data, len(data)).expect(409).error() == "attempt-fenced"
    assert len(read(holder.client, attempt.run)) == 2


# --- scripts


def test_what_a_script_logs_is_seen_while_it_runs_and_all_of_it_at_the_end(any_server, meeting_place):
    client, gate = any_server.client(), meeting_place / "gate"
    os.mkfifo(gate)
    rest = "for i in range(1, 1000): log('loss', float(i), step=i)"
    run = client.submit(python(f"log('loss', 1.0, step=0)\nopen({str(gate)!r}).read()\n{rest}"))
    wait_for(lambda: len(read(client, run)) == 1, 30, "the first record while the script runs")
    assert client.status(run) == "Running"
    gate.write_text("go")
    client.wait(run, "Completed")
    assert [each["step"] for each in read(client, run)] == list(range(1000))


def test_every_process_of_a_script_has_a_journal_of_its_own(client):
    code = """
for worker in range(4):
    if os.fork() == 0:
        name = os.environ["LATHE_METRICS_DIR"] + f"/worker-{worker}.jsonl"
        own = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(own, journal)
        for i in range(100): log(f"w{worker}", i)
        os._exit(0)
for _ in range(4): os.wait()
"""
    run = client.submit(python(code))
    client.wait(run, "Completed")
    for worker in range(4):
        assert [each["value"] for each in read(client, run, name=f"w{worker}")] == list(range(100))


def test_nonsense_in_a_journal_costs_only_itself_and_is_noted(client):
    nonsense, torn = b"nonsense\n\xff\n{}\n\n", b'{"name": "torn'
    code = f"log('a', 1)\nos.write(journal, {nonsense!r})\nlog('a', 2)\nos.write(journal, {torn!r})"
    run = client.submit(python(code))
    done = client.wait(run, "Completed")
    assert [each["value"] for each in read(client, run)] == [1, 2]
    notes = [note for note in done["notes"] if note.startswith("metrics: ")]
    assert len(notes) == 1 and "line 2" in notes[0], done["notes"]
    assert b"[lathe: metrics not kept: journal.jsonl: its last" in client.log(run)


def test_a_full_or_hostile_metrics_folder_harms_nobody(client):
    code = """
folder = os.environ["LATHE_METRICS_DIR"]
os.symlink("/etc/passwd", folder + "/link.jsonl"); os.mkfifo(folder + "/pipe.jsonl"); os.mkdir(folder + "/folder.jsonl")
open(folder + "/bad name.jsonl", "w").write("{}\\n"); open(folder + "/" + "x" * 200 + ".jsonl", "w").write("{}\\n")
log("a", 1)
"""
    run = client.submit(python(code))
    client.wait(run, "Completed")
    assert [each["value"] for each in read(client, run)] == [1]
    assert b"root:" not in client.log(run)


def test_a_killed_script_loses_nothing_that_log_returned_from(client):
    run = client.submit(python("for i in range(500): log('loss', i)\nos.kill(os.getpid(), signal.SIGKILL)"))
    client.wait(run, "Failed")
    assert [each["value"] for each in read(client, run)] == list(range(500))


COUNTER = """
said = open(os.environ["SAID"], "a", 1)
for i in range(1_000_000):
    log("n", i)
    if i % 50 == 0: said.write(f"{i}\\n"); time.sleep(0.001)
    if os.path.exists(os.environ["SAID"] + ".stop"): break
log("end", i)
"""


def last_said(file):
    said = re.findall(r"(\d+)\n", file.read_text()) if file.exists() else []
    return int(said[-1]) if said else 0


def test_killing_the_server_again_and_again_loses_and_doubles_nothing(make_server, meeting_place):
    server, said = make_server().start().prepare(), meeting_place / "said"
    run = server.client().submit(python(COUNTER), environment={"variables": {"SAID": str(said)}})
    for _ in range(5):
        before = last_said(said)
        wait_for(lambda: last_said(said) > before + 500, 30, "more records")
        server.kill()
        during = last_said(said)
        wait_for(lambda: last_said(said) > during + 200, 30, "a script that goes on without the server")
        server.start()
    (meeting_place / "said.stop").touch()
    client = server.client()
    client.wait(run, "Completed")
    values = [each["value"] for each in stream(client, run, name="n")]
    assert values == list(range(len(values))) and len(values) > last_said(said)
    assert [each["value"] for each in read(client, run, name="end")] == [values[-1]]


def test_killing_the_runner_loses_and_doubles_nothing(make_server, meeting_place):
    server, said = make_server().start().prepare(), meeting_place / "said"
    client = server.client()
    run = client.submit(python(COUNTER), environment={"variables": {"SAID": str(said)}})
    wait_for(lambda: last_said(said) > 1000, 30, "some records")
    runners = processes.runners_of(server.state)
    (runner,) = [pid for pid in runners if processes.name(pid) != "lathe-guardian"]
    processes.kill(runner)
    failed = client.wait(run, "Failed")
    assert failed["error"]["code"] == "node-lost"
    values = [each["value"] for each in stream(client, run, name="n")]
    assert values == list(range(len(values))) and len(values) > last_said(said)


# --- size


def test_a_hundred_thousand_records_of_a_script_arrive(client):
    run = client.submit(python("for i in range(100_000): log('loss', i * 0.5, step=i)"))
    client.wait(run, "Completed", deadline=120)
    assert [each["step"] for each in stream(client, run)] == list(range(100_000))


def peak_memory(pid):
    return int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


@pytest.mark.root
def test_a_million_points_are_read_back_in_bounded_memory(make_server):
    server = make_server().start()
    client, source, offset = server.client(), str(uuid.uuid4()), 0
    run = begin(client)
    for start in range(0, 1_000_000, 100_000):
        data = b"".join(
            b'{"name":"loss","kind":"scalar","value":%d.5,"time":%d.25,"step":%d}\n' % (i % 97, 1550603361 + i, i)
            for i in range(start, start + 100_000)
        )
        offset = append(client, run, data, offset, source).expect(200).json()["offset"]
    pathlib.Path(f"/proc/{server.pid}/clear_refs").write_text("5")  # the peak starts anew
    before = peak_memory(server.pid)
    accept = {"Accept": "application/x-ndjson"}
    with client.open("GET", client.path("runs", run, "metrics"), headers=accept, timeout=120) as response:
        count = sum(1 for _ in response)
    assert count == 1_000_000
    pages, cursor = 0, None
    while pages == 0 or cursor:
        page = client.get(client.path("runs", run, "metrics"), limit=100_000, cursor=cursor).expect(200).json()
        pages, cursor = pages + 1, page["next"]
        count -= len(page["items"])
    assert count == 0 and pages >= 10
    assert peak_memory(server.pid) - before < 64 << 20
