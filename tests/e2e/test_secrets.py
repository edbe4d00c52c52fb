"""Tokens are where they belong and nowhere else: not in arguments, logs, the database, or another process."""

import os
import stat

import pytest

from harness import processes
from harness.client import new_id
from harness.wait import wait_for


@pytest.fixture
def live(server, client, mark):
    """(run, its token, pid of its process) of a run that is running."""
    run = client.submit("echo ready; sleep 600", environment={"variables": {"E2E_MARK": mark}})
    wait_for(lambda: b"ready" in client.log(run), 30, "the first output")
    pid = processes.with_environment("E2E_MARK", mark)[0]
    yield run, processes.environment(pid)["AZUREML_RUN_TOKEN"], pid
    client.cancel(run)
    client.wait(run, "Canceled")


def files_with(folder, secret):
    """Files below a folder that contain the bytes of a secret."""
    found = []
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                with open(path, "rb") as file:
                    if secret.encode() in file.read():
                        found.append(os.path.relpath(path, folder))
    return found


def test_the_admin_token_is_256_random_bits_in_a_private_file(server, make_server):
    assert stat.S_IMODE((server.state / "token").stat().st_mode) == 0o600
    other = make_server().start()
    assert other.token != server.token and len(server.token) >= 43


def test_the_token_file_is_kept_across_restarts_and_never_printed(make_server):
    server = make_server().start()
    token = server.token
    server.restart()
    assert server.token == token and token not in server.said()


def test_no_token_is_in_the_arguments_of_any_process(server, live):
    _, run_token, _ = live
    assert processes.showing(server.token) == [] and processes.showing(run_token) == []


def test_the_run_token_is_in_the_environment_of_its_own_run_only(client, mark, live):
    run, run_token, _ = live
    other_mark = new_id("mark")
    other = client.submit("echo ready; sleep 600", environment={"variables": {"E2E_MARK": other_mark}})
    wait_for(lambda: b"ready" in client.log(other), 30, "the other run")
    holders = processes.holding(run_token)
    own = set(processes.with_environment("E2E_MARK", mark)) | set(processes.with_environment("LATHE_RUN", run))
    assert holders and set(holders) <= own
    client.cancel(other)
    client.wait(other, "Canceled")
    assert not processes.with_environment("E2E_MARK", other_mark)


def test_the_admin_token_is_in_no_environment(server, live):
    assert processes.holding(server.token) == []


def test_tokens_are_in_no_file_but_their_own(server, client, live):
    _, run_token, _ = live
    made = client.post("/api/v1/tokens", {"name": "secret-test", "role": "viewer"}).expect(201).json()["token"]
    client.with_token(made).get("/api/v1/server").expect(200)
    assert files_with(server.state, server.token) == ["token"]
    assert files_with(server.state, made) == []
    for path in files_with(server.state, run_token):
        assert path.startswith("work/"), f"the run token is in {path}"
        assert stat.S_IMODE((server.state / path).stat().st_mode) & 0o077 == 0


def test_a_wrong_token_is_not_written_to_the_log(server, client):
    wrong = "lathe_" + "W" * 43
    client.with_token(wrong).get("/api/v1/server").expect(401)
    client.request("GET", f"/api/v1/server?token={wrong}").expect(200, 400)
    assert files_with(server.state, wrong) == []


def test_the_run_token_works_while_the_run_lives_and_not_afterwards(client, live):
    run, run_token, _ = live
    own = client.with_token(run_token)
    own.get(client.path("runs", run)).expect(200)
    own.post(client.path("runs"), {"id": "x", "experiment": "abc", "command": ["true"]}).expect(403)
    own.get("/api/v1/tokens").expect(403)
    client.cancel(run)
    client.wait(run, "Canceled")
    wait_for(lambda: own.post("/api/v1/blobs/missing", {"digests": []}).status in (401, 403), 20, "the end of the run token")


def test_the_running_process_inherits_no_descriptor_of_ours(live):
    _, _, pid = live
    links = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    foreign = [link for link in links if not (link.startswith(("pipe:", "/dev/null")))]
    assert not foreign, f"the script holds {foreign}"


def test_an_error_tells_no_path_of_the_server(server, client):
    for answer in (
        client.get("/api/v1/blobs/" + "ab" * 32),
        client.get(client.path("runs", "absent")),
        client.post(client.path("runs"), {"id": 1}),
    ):
        assert answer.status >= 400 and str(server.state).encode() not in answer.body


def test_the_server_leaves_no_core_file(server):
    limits = open(f"/proc/{server.process.pid}/limits").read().splitlines()
    assert next(line for line in limits if line.startswith("Max core file size")).split()[4] == "0"
