"""A budget for the store: what can be had again goes first, results of runs never."""

import os
import secrets
import sys
import time

from harness.blobs import digest, pack

TWO_HOURS = 7200
BUDGET = {"disk_budget_gb": 0.001}  # about a megabyte


def send(client, data):
    return client.request("POST", "/api/v1/blobs/pack", body=pack(data))


def make_old(server, data):
    name = digest(data)
    then = time.time() - TWO_HOURS
    os.utime(server.state / "store" / "blobs" / name[:2] / name[2:], (then, then))


def test_over_its_budget_the_store_gives_up_what_nothing_names_and_then_refuses_uploads(make_server):
    server = make_server(config=BUDGET).start()
    client = server.client()
    unnamed, next_one = secrets.token_bytes(1_500_000), secrets.token_bytes(1_500_000)
    send(client, unnamed).expect(200)
    make_old(server, unnamed)
    send(client, next_one).expect(200)
    client.get(f"/api/v1/blobs/{digest(unnamed)}").expect(404)
    client.get(f"/api/v1/blobs/{digest(next_one)}").expect(200)

    refused = send(client, secrets.token_bytes(10)).expect(507).json()
    assert refused["code"] == "no-space" and "disk_budget_gb" in refused["hint"]


def test_a_run_keeps_its_results_on_a_store_that_is_over_its_budget(make_server):
    server = make_server(config=BUDGET).start()
    client = server.client()
    send(client, secrets.token_bytes(1_500_000)).expect(200)
    send(client, b"one more").expect(507)
    write = "import os; open('outputs/result', 'wb').write(b'r' * 200_000)"
    run = client.submit([sys.executable, "-c", write], compute="local")
    client.wait(run, "Completed")
    assert client.file(run, "outputs/result").body == b"r" * 200_000


def test_over_its_budget_nothing_can_be_staged_and_the_command_line_says_why(make_server, tmp_path):
    server = make_server(config=BUDGET).start()
    send(server.client(), secrets.token_bytes(1_500_000)).expect(200)
    assert server.client().post("/api/v1/staging").expect(507).error() == "no-space"
    (tmp_path / "large.bin").write_bytes(secrets.token_bytes(5_000_000))
    refused = server.cli("store", "put", tmp_path, check=False)
    assert refused.returncode != 0 and "disk_budget_gb" in refused.stderr
