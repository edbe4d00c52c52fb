"""kill -9 of the server in the middle of transfers: nothing is lost, nothing is left half."""

import hashlib
import io
import os
import threading

import lathe.uploads
import pytest
from harness.wait import wait_for


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def big(surroundings):
    """A folder with files of every kind of size; one travels alone."""
    folder = surroundings / "big"
    folder.mkdir()
    block = os.urandom(1 << 20)
    (folder / "large").write_bytes(b"".join(block[n:] + block[:n] for n in range(100)))
    for number in range(20):
        (folder / f"{number}").write_bytes(os.urandom(1 << 20))
    (folder / "empty").write_bytes(b"")
    return folder


def in_thread(work):
    result = {}

    def run():
        try:
            result["value"] = work()
        except BaseException as problem:  # shown by the test
            result["problem"] = problem

    thread = threading.Thread(target=run)
    thread.start()
    return thread, result


def test_an_upload_survives_the_death_of_the_server(site, exp, big, monkeypatch):
    run = exp.start_logging(snapshot_directory=None)
    on_its_way = threading.Event()
    pieces = lathe.uploads.BlobSource.pieces

    def watched(blob, offset=0):
        for piece in pieces(blob, offset):
            yield piece
            if blob.size > 50 << 20:
                on_its_way.set()

    monkeypatch.setattr(lathe.uploads.BlobSource, "pieces", watched)
    thread, result = in_thread(lambda: run.upload_folder("data", str(big)))
    assert on_its_way.wait(30)
    site.kill()
    site.start()
    thread.join(120)
    assert "problem" not in result, result
    run.download_files(prefix="data", output_directory="back")
    for file in big.iterdir():
        assert digest(file) == digest(big.parent / "back" / "data" / file.name), file.name
    assert len(run.get_file_names()) == len(list(big.iterdir()))
    run.complete()


def test_a_download_survives_the_death_of_the_server(site, exp, big, surroundings):
    run = exp.start_logging(snapshot_directory=None)
    run.upload_file("large", str(big / "large"))
    target = surroundings / "here"
    target.mkdir()
    thread, result = in_thread(lambda: run.download_file("large", str(target / "large")))
    wait_for(
        lambda: any(f.stat().st_size for f in target.glob(".lathe-*")) or (target / "large").exists(),
        30,
        "the first bytes",
        0.0005,
    )
    site.kill()
    assert not (target / "large").exists() or digest(target / "large") == digest(big / "large")
    site.start()
    thread.join(120)
    assert "problem" not in result, result
    assert digest(target / "large") == digest(big / "large")
    assert os.listdir(target) == ["large"]
    run.complete()


def test_a_download_that_cannot_be_leaves_nothing(exp, surroundings):
    from lathe import downloads

    run = exp.start_logging(snapshot_directory=None)
    run.upload_file("a", io.BytesIO(b"bytes"))
    with pytest.raises(Exception, match="did not arrive"):
        downloads.download(run._api, run._path("files", "content"), {"path": "a"}, "target", digest="0" * 64)
    assert set(os.listdir(surroundings)) == {"logs", "outputs"}
    run.complete()


def test_many_files_arrive(exp, surroundings):
    folder = surroundings / "many"
    folder.mkdir()
    for number in range(3000):
        (folder / f"file-{number}").write_text(str(number % 500))
    run = exp.start_logging(snapshot_directory=None)
    run.upload_folder("many", str(folder))
    assert len(run.get_file_names()) == 3000
    run.download_files(prefix="many/file-29", output_directory="back")
    assert (surroundings / "back" / "many" / "file-2999").read_text() == "499"
    run.complete()


def test_a_refusal_in_the_middle_of_a_large_body_is_told(site, big):
    from lathe import Client, LatheError, Server

    client = Client(Server(state=str(site.state), token="lathe_" + "x" * 43), patience=5)
    blob = lathe.uploads.source_of_file(str(big / "large"))
    with pytest.raises(LatheError) as raised:
        lathe.uploads.send_large(client, blob, 0)
    assert raised.value.status == 401, raised.value


def test_a_forked_child_has_a_connection_of_its_own(ws):
    assert ws.experiments is not None
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            try:
                ok = all(ws._api.get(ws._path())["name"] == "sdk-tests" for _ in range(50))
            finally:
                os._exit(0 if ok else 1)
        children.append(child)
    assert all(ws._api.get(ws._path())["name"] == "sdk-tests" for _ in range(50))
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
