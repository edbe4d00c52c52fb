"""Compute targets on a machine whose size the test chooses: GPUs, site rules, preemption, nodes that leave."""

import pytest

from harness.server import Server
from harness.wait import wait_for

GPUS = ["GPU-aaaa", "GPU-bbbb"]
UNTIL_GATE = "while [ ! -e {gate} ]; do sleep 0.02; done"


def machine(**rules):
    """Site configuration with a fixed inventory instead of the real machine."""
    return {"providers": {"local": {"machine": {"cores": 4, "memory_gb": 4, "gpus": GPUS}, "enforce_memory": False, **rules}}}


@pytest.fixture(scope="module")
def sized(binary):
    with Server(config=machine()) as server:
        yield server.client()


def make(client, name, **fields):
    return client.put(client.path("computes", name), fields)


def nodes(client, name):
    return client.get(client.path("computes", name)).expect(200).json()["nodes"]


def test_the_server_tells_its_inventory(sized):
    found = sized.get("/api/v1/server").expect(200).json()["machine"]
    assert found == {"cores": 4, "memory_bytes": 4 << 30, "gpus": GPUS}


def test_a_gpu_is_given_to_one_run_at_a_time(sized, meeting_place):
    gate = meeting_place / "gate"
    made = make(sized, "gpus", vm_size="STANDARD_NC6", max_nodes=3).expect(201).json()
    assert made["node"]["gpus"] == 1 and made["notes"]
    line = f"echo $CUDA_VISIBLE_DEVICES; {UNTIL_GATE.format(gate=gate)}"
    first, second = sized.submit(line, compute="gpus"), sized.submit(line, compute="gpus")
    for run in (first, second):
        wait_for(lambda: sized.log(run), 20, "the first line")
    third = sized.submit(line, compute="gpus")
    waiting = sized.run(third)
    assert waiting["status"] == "Queued" and waiting["waiting"]["would_start_when"]
    assert "waits for 1 GPU (0 of 2 free)" in waiting["waiting"]["reason"], waiting["waiting"]
    gate.touch()
    for run in (first, second, third):
        sized.wait(run, "Completed")
    assert {sized.log(first).decode().strip(), sized.log(second).decode().strip()} == set(GPUS)
    assert sized.log(third).decode().strip() in GPUS
    sized.delete(sized.path("computes", "gpus")).expect(204)


def test_every_run_says_what_the_machine_could_not_give(sized):
    make(sized, "cut", vm_size="STANDARD_NC24", max_nodes=1).expect(201)
    done = sized.wait(sized.submit("true", compute="cut"), "Completed")
    assert any("GPU" in note for note in done["notes"]) and any("memory" in note for note in done["notes"])
    sized.delete(sized.path("computes", "cut")).expect(204)


@pytest.mark.parametrize("rules", [{"gpu": "required"}, {"size": "exact"}], ids=str)
def test_a_strict_site_refuses_what_the_machine_cannot_give(make_server, rules):
    client = make_server(config=machine(**rules)).start().client()
    refused = make(client, "cut", vm_size="STANDARD_NC24", max_nodes=1).expect(400)
    assert refused.json()["field"] == "vm_size" and refused.json()["hint"]
    make(client, "fits", vm_size="STANDARD_D1_V2", max_nodes=1).expect(201)


def test_a_dedicated_run_takes_the_place_of_a_low_priority_one_which_comes_back(sized, meeting_place):
    gate = meeting_place / "gate"
    make(sized, "cheap", vm_size="machine", max_nodes=1, priority="lowpriority").expect(201)
    make(sized, "dear", vm_size="machine", max_nodes=1).expect(201)
    line = f"mkdir -p outputs; echo kept > outputs/checkpoint; echo try; {UNTIL_GATE.format(gate=gate)}"
    cheap = sized.submit(line, compute="cheap", retries={"infrastructure": 1}, grace_seconds=1)
    wait_for(lambda: b"try" in sized.log(cheap), 20, "the cheap run")
    dear = sized.submit("true", compute="dear")
    sized.wait(dear, "Completed")
    wait_for(lambda: len(sized.run(cheap)["attempts"]) == 2, 20, "a second attempt")
    gate.touch()
    done = sized.wait(cheap, "Completed")
    assert [attempt["reason"] for attempt in done["attempts"]] == ["preempted", "exited"]
    assert sized.log(cheap, attempt=1) == sized.log(cheap, attempt=2) == b"try\n"
    assert sized.file(cheap, "outputs/checkpoint").expect(200).body == b"kept\n"
    for name in ("cheap", "dear"):
        sized.delete(sized.path("computes", name)).expect(204)


def test_a_preempted_run_without_retries_ends_failed_and_keeps_its_outputs(sized):
    make(sized, "cheap", vm_size="machine", max_nodes=1, priority="lowpriority").expect(201)
    make(sized, "dear", vm_size="machine", max_nodes=1).expect(201)
    cheap = sized.submit("mkdir -p outputs; echo kept > outputs/x; echo ready; sleep 600", compute="cheap", grace_seconds=1)
    wait_for(lambda: b"ready" in sized.log(cheap), 20, "the cheap run")
    sized.wait(sized.submit("true", compute="dear"), "Completed")
    done = sized.wait(cheap, "Failed")
    assert done["error"]["code"] == "preempted" and len(done["attempts"]) == 1
    assert sized.file(cheap, "outputs/x").expect(200).body == b"kept\n"
    for name in ("cheap", "dear"):
        sized.delete(sized.path("computes", name)).expect(204)


def test_idle_nodes_leave_down_to_the_least_number(sized):
    make(sized, "shrinks", vm_size="machine", min_nodes=1, max_nodes=3, idle_seconds=1).expect(201)
    runs = [sized.submit("sleep 0.2", compute="shrinks") for _ in range(3)]
    for run in runs:
        sized.wait(run, "Completed")
    wait_for(lambda: nodes(sized, "shrinks")["current"] == 1, 20, "one node")
    found = nodes(sized, "shrinks")
    assert (found["idle"], found["running"], found["target"]) == (1, 0, 1)
    sized.delete(sized.path("computes", "shrinks")).expect(204)


def test_all_nodes_of_a_run_start_or_none(sized, meeting_place):
    gate = meeting_place / "gate"
    make(sized, "gang", vm_size="machine", max_nodes=2).expect(201)
    single = sized.submit(UNTIL_GATE.format(gate=gate), compute="gang")
    sized.wait(single, "Running")
    pair = sized.submit("echo $AZUREML_RUN_ID", compute="gang", node_count=2)
    small = sized.submit("true", compute="gang")
    waiting = sized.run(pair)
    assert waiting["status"] == "Queued" and waiting["attempts"] == []
    gate.touch()
    done = sized.wait(pair, "Completed")
    assert len(done["attempts"][0]["nodes"]) == 2
    for node in (0, 1):
        assert sized.log(pair, name=f"azureml-logs/70_driver_log_{node}.txt").decode().strip() == pair
    sized.wait(small, "Completed")
    sized.delete(sized.path("computes", "gang")).expect(204)


def test_runs_of_a_target_that_no_longer_fits_wait_with_the_reason_and_block_nobody(make_server, meeting_place):
    """The machine has shrunk between two starts of the server, and the site does not cut sizes."""
    gate = meeting_place / "gate"
    exact = machine(size="exact")
    exact["providers"]["local"]["machine"] = {"cores": 4, "memory_gb": 16, "gpus": []}
    server = make_server(config=exact).start()
    client = server.client()
    make(client, "large", vm_size="STANDARD_D2_V2", max_nodes=1).expect(201)
    make(client, "small", vm_size="STANDARD_D1_V2", max_nodes=1).expect(201)
    runs = [client.submit(UNTIL_GATE.format(gate=gate), compute="large") for _ in range(2)]
    client.wait(runs[0], "Running")
    server.stop()
    exact["providers"]["local"]["machine"] = {"cores": 1, "memory_gb": 3.5, "gpus": []}
    server.write_config(exact)
    server.start()
    waiting = client.run(runs[1])
    assert waiting["status"] == "Queued"
    assert "large" in waiting["waiting"]["reason"] and "fit" in waiting["waiting"]["reason"], waiting["waiting"]
    assert waiting["waiting"]["would_start_when"]
    refused = client.submit_answer("true", compute="large").expect(400).json()
    assert refused["field"] == "compute" and refused["hint"]
    gate.touch()
    client.wait(runs[0], "Completed")  # what ran already is not touched
    client.wait(client.submit("true", compute="small"), "Completed")
    assert client.status(runs[1]) == "Queued"
    client.cancel(runs[1]).expect(200)
    client.wait(runs[1], "Canceled")
    # Back to the old size, the target is as it was.
    server.stop()
    exact["providers"]["local"]["machine"] = {"cores": 4, "memory_gb": 16, "gpus": []}
    server.write_config(exact)
    server.start()
    client.wait(client.submit("true", compute="large"), "Completed")


def test_a_run_wider_than_its_target_has_become_waits_with_the_reason_and_blocks_nobody(sized, meeting_place):
    gate = meeting_place / "gate"
    make(sized, "narrows", vm_size="machine", max_nodes=2).expect(201)
    first = sized.submit(UNTIL_GATE.format(gate=gate), compute="narrows")
    sized.wait(first, "Running")
    pair = sized.submit("true", compute="narrows", node_count=2)
    make(sized, "narrows", vm_size="machine", max_nodes=1).expect(200)
    waiting = sized.run(pair)["waiting"]
    assert "2 nodes" in waiting["reason"] and "max_nodes" in waiting["would_start_when"], waiting
    behind = sized.submit("true", compute="narrows")
    gate.touch()
    for run in (first, behind):
        sized.wait(run, "Completed")
    assert sized.status(pair) == "Queued"
    make(sized, "narrows", vm_size="machine", max_nodes=2).expect(200)
    sized.wait(pair, "Completed")
    sized.delete(sized.path("computes", "narrows")).expect(204)
