"""Many clients that change the same runs and models at once: submit, cancel, delete, register, promote, collect. Every client
sees one order of events: what was told is not taken back, and nobody reads a value that was replaced before it asked."""

import os
import random
import threading
import time
import uuid

import pytest

from harness import campaign
from harness.checker import check_events, check_files, check_machine, check_processes
from harness.client import TERMINAL, make_submit, new_id
from harness.deeds import content
from harness.blobs import digest
from harness.registry import send

SECONDS = float(os.environ.get("LATHE_RACE_SECONDS", 8))
CLIENTS, RUNS = 6, 4


class History:
    """What was asked and answered, with the times before and after: (began, ended, what, value)."""

    def __init__(self):
        self.rows, self.lock = [], threading.Lock()

    def note(self, what, call, value=None):
        began = time.monotonic()
        answer = call()
        row = (began, time.monotonic(), what, value if value is not None else answer, answer)
        with self.lock:
            self.rows.append(row)
        return answer

    def of(self, what):
        return [row for row in self.rows if row[2] == what]


def in_parallel(count, work):
    failures = []

    def guarded(number):
        try:
            work(number)
        except Exception as failure:  # told below
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS + 120)
        assert not thread.is_alive(), "a client is stuck"
    assert not failures, failures[0]


class SharedRun:
    """One run that all clients want to submit, look at, cancel and delete."""

    def __init__(self, mark, chance):
        line = chance.choice(["echo done", "echo done; sleep 0.2", "sleep 600", "[ -e again ] || { touch again; exit 1; }"])
        self.body = make_submit(line, grace_seconds=0, retries={"user": 1}, environment={"variables": {"E2E_MARK": mark}})
        self.id, self.history, self.over = self.body["id"], History(), threading.Event()

    def step(self, client, chance):
        place, note = client.path("runs", self.id), self.history.note
        action = chance.choice(["submit", "look", "look", "cancel", "delete"])
        if action == "submit" and not self.over.is_set():
            note("submit", lambda: client.post(client.path("runs"), self.body).status)
        elif action == "cancel":
            note("cancel", lambda: client.cancel(self.id).status)
        elif action == "delete" and self.history.of("submit"):
            self.over.set()  # nobody submits it again: that would be another history
            note("delete", lambda: client.delete(place).status)
        else:
            note("look", lambda: look(client, place))

    def check(self):
        submits = [row[4] for row in self.history.of("submit")]
        deletes = self.history.of("delete")
        late = {404, 409, 410} if deletes else set()  # one that comes after the delete makes nothing, and is told so
        assert set(submits) <= {200, 201} | late and submits.count(201) <= 1, f"one run was made more than once: {submits}"
        assert [row[4] for row in deletes].count(204) <= 1, "one run was deleted twice"
        gone = min((row[1] for row in deletes if row[4] == 204), default=None)
        looks = sorted(self.history.of("look"))
        for earlier, later in ((a, b) for a in looks for b in looks if a[1] < b[0]):
            self.check_pair(earlier[4], later[4])
        if gone is not None:
            seen = [row for row in looks if row[0] > gone and row[4] is not None]
            assert not seen, f"{self.id} was seen after it was deleted: {seen[:2]}"

    def check_pair(self, earlier, later):
        if earlier is None or later is None:
            return
        assert later["generation"] >= earlier["generation"], f"{self.id} went back: {earlier} {later}"
        if earlier["status"] in TERMINAL:
            assert later["status"] == earlier["status"], f"a terminal state changed: {earlier} {later}"


def look(client, place):
    answer = client.get(place)
    if answer.status == 404:
        return None
    found = answer.expect(200).json()
    return {"status": found["status"], "generation": found["generation"], "attempts": len(found["attempts"])}


def check_register(history):
    """Every read gives a value whose write had begun, and that no later write had replaced before the read began."""
    writes = {row[3]: row for row in history.of("write")}
    for began, ended, _, value, _ in history.of("read"):
        if value is None or value == "":
            continue
        write = writes[value]
        assert write[0] < ended, f"{value} was read before it was written"
        replaced = [other for other in writes.values() if other[0] > write[1] and other[1] < began]
        assert not replaced, f"{value} was read although {replaced[0][3]} had replaced it"


@pytest.mark.campaign
def test_racing_clients_see_one_history_of_each_run(make_server):
    server, mark = make_server().start().prepare(), new_id("mark")
    seed, made, end = int(os.environ.get("LATHE_SEED", random.SystemRandom().randrange(2**31))), [], time.monotonic() + SECONDS
    number = 0
    while time.monotonic() < end:
        chance = random.Random(f"{seed}.{number}")
        runs = [SharedRun(mark, chance) for _ in range(RUNS)]
        made, number = made + runs, number + 1

        def work(client_number):
            own, client = random.Random(f"{seed}.{number}.{client_number}"), server.client()
            for _ in range(30):
                own.choice(runs).step(client, own)

        in_parallel(CLIENTS, work)
        finish(server.client(), runs)
    check_processes(server.state, mark)
    check_machine(server, [run.id for run in made])
    check_files(server)
    campaign.say(f"races: {len(made)} runs, {sum(len(run.history.rows) for run in made)} calls, one history each; seed {seed}")


def finish(client, runs):
    for run in runs:
        if client.get(client.path("runs", run.id)).status == 200:
            client.cancel(run.id).expect(200, 202, 409)
            done = client.wait(run.id)
            check_events(client, run.id)
            assert len(done["attempts"]) <= 2, done["attempts"]
        run.check()


@pytest.mark.campaign
def test_racing_registrations_promotions_and_collections(make_server):
    """Versions are dense, a promotion that was told is seen by whoever asks after it, and no collection takes what is named."""
    server = make_server().start().prepare()
    history, names, versions, end = History(), ["a", "b"], {}, time.monotonic() + SECONDS / 2

    def work(number):
        client, chance, counter = server.client(), random.Random(number), 0
        while time.monotonic() < end:
            counter += 1
            action = chance.choice(["register", "write", "read", "read", "collect"])
            stage = client.path("models", "a", "versions", "1")
            if action == "register":
                name, data = chance.choice(names), content(f"{number}.{counter}")
                send(client, data)
                body = {"id": str(uuid.uuid4()), "name": name, "blob": digest(data), "file_name": "x"}
                model = client.post(client.path("models"), body).expect(201).json()
                versions[(name, model["version"])] = model["id"]
                assert client.get(f"/api/v1/blobs/{digest(data)}").expect(200).body == data
            elif ("a", 1) not in versions:
                continue
            elif action == "write":
                value = f"{number}.{counter}"
                history.note("write", lambda: client.request("PATCH", stage, json_body={"tags": {"stage": value}}).expect(200).status, value)
            elif action == "read":
                history.note("read", lambda: client.get(stage).expect(200).json()["tags"].get("stage", ""))
            else:
                client.post("/api/v1/store/gc").expect(200, 409)

    in_parallel(CLIENTS, work)
    check_register(history)
    client = server.client()
    for name in names:
        stored = {model["version"]: model["id"] for model in client.items(client.path("models"), name=name, limit=500)}
        assert sorted(stored) == list(range(1, len(stored) + 1))
        assert {number: made for (of, number), made in versions.items() if of == name} == stored
    assert len(history.of("write")) > 5 and len(history.of("read")) > 5
    check_files(server)


def test_the_check_of_a_register_sees_a_stale_read():
    history = History()
    history.rows = [(0, 1, "write", "old", 200), (2, 3, "write", "new", 200), (4, 5, "read", "old", "old")]
    with pytest.raises(AssertionError, match="had replaced it"):
        check_register(history)


def test_the_check_of_a_run_sees_an_end_that_changed():
    run = SharedRun("none", random.Random(1))
    state = {"generation": 5, "attempts": 1}
    run.history.rows = [(0, 1, "look", 0, state | {"status": "Completed"}), (2, 3, "look", 0, state | {"status": "Canceled"})]
    with pytest.raises(AssertionError, match="terminal state changed"):
        run.check()
