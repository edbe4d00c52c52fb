"""The state folder: one server at a time, refused when newer, backed up under load, found by others."""

import json
import os
import shutil
import stat
import subprocess
import threading

import pytest

from harness import paths
from harness.checker import check_blobs, check_database
from harness.client import new_id
from harness.ledger import Ledger
from harness.load import Load
from harness.pages import editing
from harness.server import Server, StartFailed
from harness.wait import wait_for


def test_a_second_server_is_refused_and_told_who_holds_the_folder(make_server):
    first = make_server().start()
    second = make_server(first.state)
    before = first.discovery()
    with pytest.raises(StartFailed) as refused:
        second.start()
    assert str(first.pid) in refused.value.text and "hint:" in refused.value.text
    assert refused.value.code == 6, "a conflict"
    assert first.discovery() == before
    first.client().get("/healthz").expect(200)


def test_of_two_servers_that_race_for_a_folder_exactly_one_wins(make_server):
    for _ in range(10):
        servers = [make_server()]
        servers += [make_server(servers[0].state) for _ in range(3)]
        results = {}

        def start(index):
            try:
                servers[index].start()
                results[index] = "up"
            except StartFailed as refused:
                results[index] = refused.text

        threads = [threading.Thread(target=start, args=(index,)) for index in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winners = [index for index, result in results.items() if result == "up"]
        assert len(winners) == 1, results
        assert servers[0].discovery()["pid"] == servers[winners[0]].process.pid
        servers[0].client().get("/healthz").expect(200)
        for server in servers:
            server.close()


def test_a_lock_left_by_a_killed_server_does_not_bar_the_next_one(make_server):
    server = make_server().start()
    server.kill()
    server.start()
    server.client().get("/healthz").expect(200)


def test_discovery_tells_where_the_server_is(make_server):
    server = make_server().start()
    found = server.discovery()
    assert found["pid"] == server.process.pid and found["url"].startswith("http://127.0.0.1:") and found["version"]
    assert found["socket"] == str(server.state / "run" / "api.sock")
    server.tcp_client().get("/healthz").expect(200)


def test_private_files_are_private(make_server):
    server = make_server().start()
    for name in ("token", "server.json"):
        assert stat.S_IMODE((server.state / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE((server.state / "run").stat().st_mode) == 0o711
    assert stat.S_IMODE((server.state / "lathe.db").stat().st_mode) & 0o077 == 0


def test_a_newer_database_is_refused_with_a_message(make_server):
    server = make_server().start().prepare()
    server.stop()
    with editing(server.state / "lathe.db") as database:
        database.execute("PRAGMA user_version = 99999")
    before = (server.state / "lathe.db").read_bytes()
    with pytest.raises(StartFailed) as refused:
        server.start()
    assert "newer" in refused.value.text and "hint:" in refused.value.text
    assert (server.state / "lathe.db").read_bytes() == before


def test_a_damaged_database_is_found_after_an_unclean_stop(make_server):
    server = make_server().start().prepare()
    for _ in range(50):
        server.client().submit("true")
    server.stop()
    server.start()
    server.kill()
    file = server.state / "lathe.db"
    with file.open("r+b") as database:
        for page in range(3, file.stat().st_size // 4096):
            database.seek(page * 4096 + 8)
            database.write(b"\xff" * 64)
    with pytest.raises(StartFailed) as refused:
        server.start()
    assert "damaged" in refused.value.text or "integrity" in refused.value.text or "malformed" in refused.value.text


def test_a_backup_under_load_restores_everything_acknowledged_before_it(make_server, tmp_path):
    server, mark = make_server().start().prepare(), new_id("mark")
    ledger = Ledger(tmp_path / "ledger")
    load = Load(server, ledger, mark)
    try:
        wait_for(lambda: len(ledger.runs_acknowledged()) >= 20, 60, "twenty acknowledged runs")
        acknowledged = ledger.runs_acknowledged()
        finished = {
            run["id"] for run in server.client().items("/api/v1/workspaces/default/runs", status="Completed", limit=500)
        }
        server.cli("backup", tmp_path / "backup")
    finally:
        load.stop()
    restored = make_server()
    restored.cli("restore", tmp_path / "backup")
    check_database(restored.state)
    assert check_blobs(restored.state) > 0
    restored.start()
    client = restored.client()
    found = {run["id"] for run in client.items(client.path("runs"), limit=500)}
    assert acknowledged <= found
    for run in sorted(finished)[:10]:
        assert client.file(run, "outputs/id").expect(200).body == run.encode() + b"\n"
        assert client.log(run).startswith(b"line 0\n")


def test_a_restore_over_a_live_or_filled_folder_is_refused(make_server, tmp_path):
    server = make_server().start().prepare()
    server.cli("backup", tmp_path / "backup")
    assert server.cli("restore", tmp_path / "backup", check=False).returncode != 0
    server.stop()
    assert server.cli("restore", tmp_path / "backup", check=False).returncode != 0
    server.start()
    server.client().get("/healthz").expect(200)


def test_an_old_runner_is_adopted_by_a_new_server_binary(make_server, tmp_path):
    """The runner goes on from a copy of the binary that is gone by the time the next server comes."""
    old = tmp_path / "old-lathe"
    shutil.copy2(paths.BINARY, old)
    server = make_server()
    process = subprocess.Popen([old, "server", "--state", server.state], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(
            lambda: (
                (server.state / "server.json").exists()
                and json.loads((server.state / "server.json").read_text())["pid"] == process.pid
            ),
            30,
            "the old server",
        )
        wait_for(lambda: (server.state / "run" / "api.sock").exists(), 10, "its socket")
        client = server.prepare().client()
        run = client.submit("echo old; sleep 1; echo new")
        wait_for(lambda: client.log(run) == b"old\n", 30, "the first output")
    finally:
        process.kill()
        process.wait()
    os.unlink(old)
    server.start()
    client.wait(run, "Completed")
    assert client.log(run) == b"old\nnew\n"


def test_a_state_folder_that_cannot_be_made_is_a_clear_error():
    server = Server("/proc/no-such-place")
    with pytest.raises(StartFailed) as refused:
        server.start()
    assert "/proc/no-such-place" in refused.value.text
