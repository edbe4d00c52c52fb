"""What earlier releases have left is read by this one: state folders and spools of each release (tests/upgrade/fixtures) in
every run of the tests, with kills while they are migrated; and, where a release is built (tests/upgrade/build_release.sh), its
living runs, builds and spools, with the binary swapped both ways."""

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest

from harness import paths, processes
from harness.builds import Builds, Gate, definition, site
from harness.checker import check_files, check_leftovers, check_slots
from harness.client import TERMINAL
from harness.contents import contents
from harness.environments import UV, wheel
from harness.load import METRIC
from harness.server import StartFailed
from harness.wait import wait_for

sys.path.insert(0, str(paths.REPOSITORY / "tests" / "upgrade"))

from releases import all_releases, binary_of, fixtures_of  # noqa: E402

RELEASES = [version for version, _ in all_releases()]
LAST = RELEASES[-1]
POINTS = os.environ.get("LATHE_MIGRATION_POINTS", "6")
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
needs_old = pytest.mark.skipif(binary_of(LAST) is None, reason=f"needs release {LAST}: tests/upgrade/build_release.sh")


def unpack(version, name, folder):
    subprocess.run(["tar", "-xJf", fixtures_of(version) / f"{name}.tar.xz", "-C", folder], check=True)
    return folder / "state"


def is_kept(before, after):
    """Every value that was shown is shown; what a later version adds does not matter."""
    if isinstance(before, dict):
        return isinstance(after, dict) and all(name in after and is_kept(value, after[name]) for name, value in before.items())
    if isinstance(before, list):
        return isinstance(after, list) and len(after) >= len(before) and all(any(is_kept(a, b) for b in after) for a in before)
    return before == after


def lost(version, client):
    """Places whose content is not what the release had shown."""
    before, after = json.loads((fixtures_of(version) / "shown.json").read_text()), contents(client)
    return {place: (value, after.get(place)) for place, value in before.items() if not is_kept(value, after.get(place))}


@pytest.mark.parametrize("version", RELEASES)
def test_the_state_of_a_release_is_read_whole(make_server, tmp_path, version):
    server = make_server(unpack(version, "state", tmp_path)).start()
    assert not lost(version, server.client())
    client = server.client()
    client.wait(client.submit("echo new"), "Completed")
    check_files(server)


def test_a_value_that_is_lost_is_seen(make_server, tmp_path):
    """What the comparison relies on."""
    state = unpack(LAST, "state", tmp_path)
    with contextlib.closing(sqlite3.connect(state / "lathe.db")) as database, database:
        database.execute("UPDATE models SET description = 'changed'")
    assert set(lost(LAST, make_server(state).start().client())) == {"models"}


def killed_at(number):
    calls = "pwrite64,fdatasync,ftruncate,rename,renameat,renameat2,unlink,unlinkat"
    return ["strace", "-f", "-qq", "-b", "execve", "-o", os.devnull, "-e", f"trace={calls}", "-e", f"inject={calls}:signal=SIGKILL:when={number}"]  # fmt: skip


@needs_strace
@pytest.mark.campaign
@pytest.mark.parametrize("version", RELEASES)
def test_a_server_killed_anywhere_in_its_migrations_goes_on_or_back(make_server, tmp_path, version):
    """At the N-th write of its first start on an older database; the next start finds everything."""
    chance = random.Random(int(os.environ.get("LATHE_SEED", 1)))
    numbers = range(1, 1000) if POINTS == "all" else sorted(chance.sample(range(1, 60), int(POINTS)))
    for number in numbers:
        folder = tmp_path / str(number)
        folder.mkdir()
        server = make_server(unpack(version, "state", folder), prefix=killed_at(number))
        try:
            server.start()
            lived = True
            os.kill(server.pid, signal.SIGTERM)
            server.process.wait(30)
        except StartFailed:
            lived = False
        server.prefix = []
        server.start()
        assert not lost(version, server.client()), f"killed at write {number}"
        server.close()
        shutil.rmtree(folder)
        if lived and POINTS == "all":
            break


@pytest.mark.parametrize("version", RELEASES)
def test_spools_of_a_release_are_delivered_at_every_stage(make_server, tmp_path, version):
    server = make_server(unpack(version, "spools", tmp_path)).start()
    client = server.client()
    for stage, wanted in json.loads((fixtures_of(version) / "stages.json").read_text()).items():
        done = client.wait(wanted["run"], *TERMINAL, deadline=60)
        assert (done["status"], done["attempts"][0]["reason"]) == (wanted["status"], wanted["reason"]), f"{stage}: {done['error']}"
        assert len(done["attempts"]) == 1 and client.log(wanted["run"]).decode() == wanted["log"], stage
        for path, text in wanted["files"].items():
            assert client.file(wanted["run"], path).expect(200).body.decode() == text, stage
        metrics = list(client.items(client.path("runs", wanted["run"], "metrics")))
        assert metrics == ([METRIC] if stage != "unclaimed" else []), stage
    check_slots(client)
    check_leftovers(server.state)
    check_files(server)


# --- with the last release alive


def begin(server, line, **fields):
    """A run that has said its first line."""
    client = server.client()
    run = client.submit(line, **fields)
    wait_for(lambda: client.log(run), 30, "the first line")
    return run


SLOW = "echo begun; mkdir -p outputs; i=0; while [ ! -e {gate} ]; do sleep 0.02; done; echo kept > outputs/kept; echo over"


@needs_old
@pytest.mark.parametrize("stop", ["stop", "kill"])
def test_runs_of_the_last_release_go_on_under_this_one(make_server, mark, tmp_path, meeting_place, stop):
    server = make_server(binary=binary_of(LAST)).start().prepare()
    client, gate = server.client(), meeting_place / "gate"
    variables = {"environment": {"variables": {"E2E_MARK": mark}}}
    running = begin(server, SLOW.format(gate=gate), **variables)
    cancelled = begin(server, "exec 2>/dev/null; trap 'mkdir -p outputs; echo saved > outputs/checkpoint; exit 0' TERM; echo begun; while :; do sleep 0.05; done", grace_seconds=10, **variables)
    orphan = begin(server, "mkdir -p outputs; echo kept > outputs/kept; echo begun; sleep 600", **variables)
    queued = [client.submit("echo queued", **variables) for _ in range(3)]
    getattr(server, stop)()
    processes.kill(processes.runner_of(server.state, f"{sequence(server, orphan)}.1.0"))
    server.binary = paths.BINARY
    server.start()
    assert processes.with_environment("E2E_MARK", mark), "a run of the old release ended with it"
    gate.touch()
    client.cancel(cancelled).expect(200, 202)
    for run, status, log, file in (
        (running, "Completed", b"begun\nover\n", "outputs/kept"),
        (cancelled, "Canceled", b"begun\n", "outputs/checkpoint"),
        (orphan, "Failed", b"begun\n", "outputs/kept"),
    ):
        done = client.wait(run, status, deadline=60)
        assert len(done["attempts"]) == 1 and client.log(run) == log
        client.file(run, file).expect(200)
    for run in queued:
        client.wait(run, "Completed")
    check_slots(client)
    check_leftovers(server.state)
    check_files(server)


def sequence(server, run):
    with contextlib.closing(sqlite3.connect(f"file:{server.state}/lathe.db?mode=ro", uri=True)) as database:
        return database.execute("SELECT sequence FROM runs WHERE id = ?", [run]).fetchone()[0]


@needs_old
@pytest.mark.skipif(not UV.exists(), reason="needs uv")
def test_a_build_of_the_last_release_is_finished_by_this_one(make_server, tmp_path):
    wheel(tmp_path / "wheels", "own")
    gate = Gate(tmp_path / "gate", "pip install")
    rules = site(tmp_path / "cache", tmp_path / "wheels", uv=str(gate.program))
    server = make_server(config=rules, binary=binary_of(LAST)).start().prepare()
    Builds(server.client()).start(definition("own==1.0"))
    run = server.client().submit(["python", "-c", "import own; print(own.version)"], environment={"definition": definition("own==1.0")})
    gate.wait()
    server.kill()
    gate.open()
    server.binary = paths.BINARY
    server.start()
    server.client().wait(run, "Completed", deadline=120)
    assert server.client().log(run) == b"1.0\n"


def schema(state):
    with contextlib.closing(sqlite3.connect(f"file:{state}/lathe.db?mode=ro", uri=True)) as database:
        return database.execute("PRAGMA user_version").fetchone()[0]


@needs_old
def test_the_last_release_refuses_a_newer_database_or_goes_on_with_it(make_server, tmp_path):
    """Back again: with the same schema it works; with a newer one it says so and touches nothing."""
    state = unpack(LAST, "state", tmp_path)
    before = schema(state)
    server = make_server(state).start()
    server.stop()
    server.binary = binary_of(LAST)
    if schema(state) == before:
        server.start()
        assert not lost(LAST, server.client())
        return
    content = (state / "lathe.db").read_bytes()
    with pytest.raises(StartFailed) as refused:
        server.start()
    assert "newer" in refused.value.text and "hint:" in refused.value.text
    assert (state / "lathe.db").read_bytes() == content
    server.binary = paths.BINARY
    server.start()
    assert not lost(LAST, server.client())


@needs_old
def test_a_backup_of_the_last_release_is_restored_by_this_one(make_server, tmp_path):
    state = unpack(LAST, "state", tmp_path)
    old = make_server(state, binary=binary_of(LAST)).start()
    old.cli("backup", tmp_path / "backup")
    old.stop()
    restored = make_server(tmp_path / "restored" / "state")
    shutil.copytree(old.key_folder, restored.key_folder)
    restored.cli("restore", tmp_path / "backup")
    restored.start()
    assert not lost(LAST, restored.client())


def test_every_release_has_its_fixtures():
    for version in RELEASES:
        assert {file.name for file in fixtures_of(version).iterdir()} == {"state.tar.xz", "spools.tar.xz", "shown.json", "stages.json"}
