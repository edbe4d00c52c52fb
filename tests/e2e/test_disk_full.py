"""A full disk: writes get 507 with a reason, everything else goes on, and all is well when space returns."""

import errno
import os
import shutil
import subprocess
import tempfile
import pathlib

import pytest

from harness.blobs import digest, pack
from harness.client import make_submit, new_id
from harness.wait import never, wait_for

pytestmark = pytest.mark.root


@pytest.fixture
def small_disk():
    """A folder on a tmpfs of 192 MiB."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lathe-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192m,mode=0700", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)
    folder.rmdir()


def fill(folder):
    """Writes until the file system has no byte left."""
    file = os.open(folder / "ballast", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for size in (1 << 20, 4096, 512):
        while True:
            try:
                os.write(file, bytes(size))
            except OSError as failure:
                assert failure.errno == errno.ENOSPC
                break
    os.close(file)


def fill_inodes(folder):
    """Makes empty files until the file system can hold no more; bytes are left."""
    (folder / "crowd").mkdir()
    for number in range(1_000_000):
        try:
            (folder / "crowd" / str(number)).touch()
        except OSError as failure:
            assert failure.errno == errno.ENOSPC
            return
    raise AssertionError("the file system has too many inodes for this test")


@pytest.fixture
def few_inodes(tmp_path):
    """A folder on an ext4 file system with room for bytes and for 1,024 files."""
    if not os.path.exists("/dev/loop-control"):
        pytest.skip("needs loop devices")
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(256 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-N", "1024", image], check=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lathe-inodes-"))
    subprocess.run(["mount", "-o", "loop", image, folder], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)
    folder.rmdir()


def test_without_inodes_writes_are_507_the_rest_goes_on_and_recovers(make_server, few_inodes, meeting_place):
    server = make_server(few_inodes / "state").start().prepare()
    client, pid, gate = server.client(), server.pid, meeting_place / "gate"
    done = client.submit("echo before; mkdir -p outputs; echo kept > outputs/kept")
    client.wait(done, "Completed")
    live = client.submit(f"echo ready; while [ ! -e {gate} ]; do sleep 0.05; done; mkdir -p outputs; echo late > outputs/late; echo over")
    wait_for(lambda: b"ready" in client.log(live), 30, "the live run")
    fill_inodes(few_inodes)
    submit, data = make_submit("echo again"), os.urandom(1000)
    for answer in (
        client.post(client.path("runs"), submit),
        client.request("POST", "/api/v1/blobs/pack", body=pack(data)),
        client.request("PUT", f"/api/v1/blobs/{digest(data)}", query={"offset": 0, "size": len(data)}, body=data),
    ):
        assert answer.expect(507).error() == "no-space" and "inodes" in answer.json()["message"] and answer.json()["hint"]
    client.get(client.path("runs", submit["id"])).expect(404)
    client.get(f"/api/v1/blobs/{digest(data)}").expect(404)
    assert client.log(done) == b"before\n" and client.file(done, "outputs/kept").expect(200).body == b"kept\n"
    gate.touch()
    shutil.rmtree(few_inodes / "crowd")
    client.wait(live, "Completed")
    assert client.log(live).endswith(b"over\n")
    client.post(client.path("runs"), submit).expect(200, 201)
    client.wait(submit["id"], "Completed")
    assert server.pid == pid


def test_a_run_waits_for_room_where_its_folder_is_to_be(make_server, few_inodes):
    """The work folder is on another disk than the state: that one is full."""
    server = make_server(config={"providers": {"local": {"work_dir": str(few_inodes / "work")}}}).start().prepare()
    client = server.client()
    client.wait(client.submit("true"), "Completed")
    fill_inodes(few_inodes)
    run = client.submit("echo at last")
    wait_for(lambda: "no room" in (client.run(run).get("waiting") or {}).get("reason", ""), 20, "room as the reason")
    never(lambda: client.status(run) != "Queued", 2, "the end of a run that waits")
    shutil.rmtree(few_inodes / "crowd")
    client.wait(run, "Completed")
    assert client.log(run) == b"at last\n" and len(client.run(run)["attempts"]) == 1


def refused(client):
    answer = client.post(client.path("runs"), make_submit("true"))
    return answer if answer.status == 507 else None


@pytest.fixture
def full(make_server, small_disk):
    """(server, folder, finished run, live run): the disk is full when the test begins."""
    server = make_server(small_disk / "state").start().prepare()
    client = server.client()
    done = client.submit("echo before; mkdir -p outputs; echo kept > outputs/kept")
    client.wait(done, "Completed")
    gate = pathlib.Path("/run") / new_id("gate")  # /tmp is another one for each run
    live = client.submit(f"echo ready; while [ ! -e {gate} ]; do sleep 0.05; done; echo over")
    wait_for(lambda: b"ready" in client.log(live), 30, "the live run")
    fill(small_disk)
    yield server, small_disk, done, live, gate
    gate.unlink(missing_ok=True)


def test_a_submit_on_a_full_disk_is_507_with_a_reason(full):
    server, *_ = full
    answer = wait_for(lambda: refused(server.client()), 20, "a 507")
    assert answer.error() == "no-space" and answer.json()["hint"]


def test_an_upload_on_a_full_disk_is_507_and_leaves_nothing(full):
    server, *_ = full
    data = os.urandom(8 << 20)
    assert server.client().request("POST", "/api/v1/blobs/pack", body=pack(data)).expect(507).error() == "no-space"
    server.client().get(f"/api/v1/blobs/{digest(data)}").expect(404)


def test_reads_cancel_and_delete_go_on_working(full):
    server, _, done, live, _ = full
    client = server.client()
    assert client.log(done) == b"before\n" and client.file(done, "outputs/kept").expect(200).body == b"kept\n"
    assert live in [run["id"] for run in client.items(client.path("runs"))]
    client.get("/healthz").expect(200)
    client.cancel(live).expect(200, 202)
    client.wait(live, "Canceled")
    client.delete(client.path("runs", done)).expect(204)
    client.get(client.path("runs", done)).expect(404)


def test_a_run_that_ends_on_a_full_disk_keeps_its_end(full):
    server, folder, _, live, gate = full
    gate.touch()
    server.client().wait(live, "Completed", deadline=60)
    (folder / "ballast").unlink()
    client = server.client()
    wait_for(lambda: client.log(live) == b"ready\nover\n", 60, "the whole log when space is back")


def test_writes_work_again_without_a_restart_when_space_returns(full):
    server, folder, *_ = full
    client, pid = server.client(), server.pid
    wait_for(lambda: refused(client), 20, "a 507")
    (folder / "ballast").unlink()
    submit = make_submit("echo again")
    wait_for(lambda: client.post(client.path("runs"), submit).status in (200, 201), 30, "an accepted submit")
    client.wait(submit["id"], "Completed")
    assert client.log(submit["id"]) == b"again\n" and server.pid == pid


def test_what_was_refused_was_not_kept(full):
    server, folder, *_ = full
    client, submit = server.client(), make_submit("true")
    answer = client.post(client.path("runs"), submit)
    client.get(client.path("runs", submit["id"])).expect(404 if answer.status == 507 else 200)
    (folder / "ballast").unlink()
    server.kill()
    server.start()
    client.get(client.path("runs", submit["id"])).expect(404 if answer.status == 507 else 200)


def test_a_server_killed_on_a_full_disk_starts_again(full):
    server, _, done, *_ = full
    server.kill()
    server.start()
    assert server.client().log(done) == b"before\n"


def test_a_folder_that_does_not_fit_is_refused_and_leaves_no_copies(make_server, small_disk, tmp_path):
    """The copy into the store fails in the middle; what it had copied is removed before the refusal."""
    server = make_server(small_disk / "state").start().prepare()
    for number in range(25):
        (tmp_path / f"{number}.bin").write_bytes(os.urandom(10 << 20))
    done = server.cli("store", "put", tmp_path, check=False)
    assert done.returncode != 0 and "No space left" in done.stderr, done.stderr
    assert list((small_disk / "state/store/staging").iterdir()) == []
    for number in range(1, 25):
        (tmp_path / f"{number}.bin").unlink()
    server.cli("store", "put", tmp_path)
