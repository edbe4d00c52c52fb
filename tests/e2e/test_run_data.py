"""The data of runs: inputs mounted, copied or named, through link trees and through FUSE; outputs into datastores."""

import hashlib
import os
import pathlib
import random
import secrets
import shutil
import sys
import threading

import pytest

from harness import liar, processes
from harness.blobs import digest
from harness.client import new_id
from harness.liar import Liar
from harness.registry import put_files, register_model, save_dataset
from harness.run_data import FILES, digests, found, output, walk
from harness.server import Server, isolated_config
from harness.wait import wait_for

LOOPBACK = {"fetch": {"private": ["127.0.0.0/8"]}}
NO_PROXY = {"http_proxy": "", "https_proxy": "", "no_proxy": ""}


def start(kind):
    server = Server(environment=NO_PROXY)
    server.write_config(LOOPBACK | (isolated_config(server.state) if kind == "fuse" else {}))
    return server


@pytest.fixture(scope="module", params=["linked", pytest.param("fuse", marks=pytest.mark.root)])
def server(request, binary):
    """On one machine with its runners, and with runners that share no folder with it."""
    with start(request.param) as server:
        server.kind = request.param
        yield server


@pytest.fixture
def store(client):
    name = "s" + secrets.token_hex(6)
    client.put(client.path("datastores", name), {"kind": "store"}).expect(201)
    return name


def dataset(client, store, files):
    put_files(client, store, files)
    return save_dataset(client, {"datastore": store, "path": ""})


@pytest.mark.parametrize("mode", ["mount", "download"])
def test_a_dataset_arrives_as_it_is(client, store, mode):
    saved = dataset(client, store, FILES)
    run = walk(client, {"data": {"dataset": saved, "mode": mode}})
    done = client.wait(run, "Completed")
    assert found(client, run) == digests(FILES)
    assert not [note for note in done["notes"] if "input" in note]
    shown = done["inputs"]["data"]
    assert shown["dataset"] == saved and shown["mode"] == mode
    assert shown["files"] == len(FILES) and shown["bytes"] == sum(map(len, FILES.values()))
    assert client.get(f"/api/v1/trees/{shown['tree']}").status == 200


def test_the_lineage_of_a_model_names_what_its_run_read(server, client, store):
    saved = dataset(client, store, FILES)
    run = client.submit("cp $data/a.txt outputs/model.txt", inputs={"data": {"dataset": saved}})
    read = client.wait(run, "Completed")["inputs"]
    name = "m" + secrets.token_hex(6)
    register_model(client, name, run=run, path="outputs/model.txt").expect(201)
    lineage = client.get(client.path("models", name, "versions", "1", "lineage")).expect(200).json()
    assert lineage["run"]["inputs"] == read
    assert f"data {saved} {read['data']['tree']}" in server.cli("model", "lineage", name).stdout


def test_a_mount_is_what_it_should_be_and_cannot_be_written(server, client, store):
    saved = dataset(client, store, FILES)
    script = (
        "awk -v at=$data '$2 == at {print $3, $4}' /proc/self/mounts > outputs/mount;"
        "(echo x > $data/new) 2> outputs/new; (echo x >> $data/a.txt) 2> outputs/old; rm -f $data/a.txt 2> outputs/rm;"
        "mkdir $data/d 2> outputs/mkdir; cat $data/a.txt > outputs/a"
    )
    run = client.submit(script, inputs={"data": {"dataset": saved}})
    client.wait(run, "Completed")
    kind, options = output(client, run, "outputs/mount").split()
    assert options.split(",")[0] == "ro" and (kind == "fuse.lathe") == (server.kind == "fuse")
    for name in ("new", "old", "rm", "mkdir"):
        refused = output(client, run, f"outputs/{name}")
        assert "Read-only file system" in refused or "Permission denied" in refused
    assert output(client, run, "outputs/a") == "hello"
    if server.kind == "linked":
        tree = client.run(run)["inputs"]["data"]["tree"]
        linked = server.state / "views" / tree / "z.bin"
        blob = digest(FILES["z.bin"])
        assert linked.stat().st_ino == (server.state / "store/blobs" / blob[:2] / blob[2:]).stat().st_ino


def test_one_file_arrives_as_its_path_and_direct_as_the_id(client, store):
    one = dataset(client, store, {"only/one.csv": b"1"})
    inputs = {"one": {"dataset": one}, "copy": {"dataset": one, "mode": "download"}, "id": {"dataset": one, "mode": "direct"}}
    run = client.submit("cat $one $copy > outputs/x; echo $AZUREML_DATAREFERENCE_id > outputs/id", inputs=inputs)
    done = client.wait(run, "Completed")
    assert output(client, run, "outputs/x") == "11" and output(client, run, "outputs/id").strip() == one
    assert done["inputs"]["one"]["only_file"] == "only/one.csv"
    assert "tree" not in done["inputs"]["id"]


def test_ten_thousand_small_files(client, store):
    files = {f"{i % 100:02}/{i}.txt": b"%d" % i for i in range(10_000)}
    for start_at in range(0, 10_000, 5000):
        put_files(client, store, dict(list(files.items())[start_at : start_at + 5000]))
    run = walk(client, {"data": {"dataset": save_dataset(client, {"datastore": store, "path": ""})}})
    client.wait(run, "Completed", deadline=120)
    assert found(client, run) == digests(files)


def test_parts_of_a_large_file_are_its_bytes(client, store):
    data = random.Random(1).randbytes(20 << 20)
    client.request("PUT", f"/api/v1/blobs/{digest(data)}", query={"offset": 0, "size": len(data)}, body=data).expect(201)
    body = {"files": [{"path": "large.bin", "digest": digest(data), "size": len(data)}], "overwrite": False}
    client.post(client.path("datastores", store, "files"), body).expect(200)
    script = """
import hashlib, os, random
picks, whole = random.Random(7), hashlib.sha256()
file = os.open(os.environ["data"], os.O_RDONLY)
for _ in range(200):
    whole.update(os.pread(file, picks.randrange(1, 300000), picks.randrange(20 << 20)))
print(whole.hexdigest())
"""
    saved = save_dataset(client, {"datastore": store, "path": ""})
    run = client.submit([sys.executable, "-c", script], inputs={"data": {"dataset": saved}})
    client.wait(run, "Completed", deadline=120)
    picks, whole = random.Random(7), hashlib.sha256()
    for _ in range(200):
        size, offset = picks.randrange(1, 300000), picks.randrange(20 << 20)
        whole.update(data[offset : offset + size])
    assert client.log(run).decode().strip() == whole.hexdigest()


def test_paths_on_compute(client, store, tmp_path):
    saved = dataset(client, store, FILES)
    wished = tmp_path / "deep" / "mnist"
    inputs = {
        "inside": {"dataset": saved, "path_on_compute": "data/in"},
        "copied": {"dataset": saved, "mode": "download", "path_on_compute": "data/own"},
        "absolute": {"dataset": saved, "path_on_compute": str(wished)},
    }
    run = client.submit(f"cat data/in/a.txt data/own/a.txt {wished}/a.txt $absolute/a.txt > outputs/x", inputs=inputs)
    client.wait(run, "Completed")
    assert output(client, run, "outputs/x") == "hello" * 4
    assert not wished.exists()


def test_what_cannot_be_is_refused_at_submit(client, store):
    saved = dataset(client, store, FILES)
    bad = [
        ({"inputs": {"1x": {"dataset": saved}}}, "inputs"),
        ({"inputs": {"a": {"dataset": "00000000-0000-0000-0000-000000000000"}}}, "inputs.a.dataset"),
        ({"inputs": {"a": {"datastore": "nothing", "path": ""}}}, "inputs.a.datastore"),
        ({"inputs": {"a": {"dataset": saved, "mode": "hdfs"}}}, "inputs.a.mode"),
        ({"inputs": {"a": {"dataset": saved, "path_on_compute": "../x"}}}, "inputs.a.path_on_compute"),
        ({"inputs": {"a": {"dataset": saved}}, "outputs": {"a": {"datastore": store}}}, "outputs"),
        ({"outputs": {"a": {"datastore": "nothing"}}}, "outputs.a.datastore"),
        ({"outputs": {"a": {"datastore": store, "path": "../x"}}}, "outputs.a.path"),
    ]
    for fields, field in bad:
        answer = client.submit_answer("true", **fields)
        assert answer.status in (400, 404), (fields, answer.body)
        assert answer.json()["field"] == field, answer.body


def test_urls_are_fetched_for_the_run_and_recorded(client):
    with Liar({"/mnist/train.csv": liar.honest(b"train"), "/mnist/test.csv": liar.honest(b"test")}) as web:
        urls = [f"{web.url}/mnist/train.csv", f"{web.url}/mnist/test.csv"]
        saved = save_dataset(client, *({"url": url} for url in urls))
        client.post(client.path("datasets", "mnist", "versions"), {"id": saved}).expect(200, 201)
        run = walk(client, {"data": {"dataset": saved}})
        shown = client.wait(run, "Completed")["inputs"]["data"]
        base = f"http/127.0.0.1:{web.port}/mnist"
        assert found(client, run) == {f"{base}/train.csv": digest(b"train"), f"{base}/test.csv": digest(b"test")}
    assert (shown["dataset_name"], shown["dataset_version"]) == ("mnist", 1)
    assert {source["url"]: source["digest"] for source in shown["sources"]} == dict(zip(urls, map(digest, (b"train", b"test"))))
    assert ("Preparing", "Queued") in client.moves(run)


def test_a_url_that_fails_ends_the_run_in_preparation(client):
    with Liar({"/nothing": liar.status("404 Not Found")}) as web:
        saved = save_dataset(client, {"url": f"{web.url}/nothing"})
        done = client.wait(client.submit("true", inputs={"data": {"dataset": saved}}), "Failed")
    assert done["error"]["code"] == "prepare-failed" and f"{web.url}/nothing" in done["error"]["message"]
    assert done["attempts"] == []


def test_a_whole_datastore_is_listed_as_it_is_read(client, store):
    files = {f"train/{i:04}.txt": b"%d" % i for i in range(1200)} | {"other/x": b"x", "top": b"t"}
    put_files(client, store, files)
    inputs = {"all": {"datastore": store, "path": ""}, "part": {"datastore": store, "path": "train/"}}
    script = (
        "ls $all > outputs/all; ls $part | wc -l > outputs/count; cat $part/0042.txt $all/other/x > outputs/read;"
        "test ! -e $all/nothing; find $all -type f | wc -l >> outputs/count; echo x 2> outputs/refused > $all/new; true"
    )
    run = client.submit(script, inputs=inputs)
    done = client.wait(run, "Completed")
    assert output(client, run, "outputs/all").split() == ["other", "top", "train"]
    assert output(client, run, "outputs/count").split() == ["1200", "1202"]
    assert output(client, run, "outputs/read") == "42x"
    assert "Read-only file system" in output(client, run, "outputs/refused")
    assert "tree" not in done["inputs"]["all"]
    copied = client.submit("cat $one > outputs/x; ls $all > outputs/names", inputs={
        "one": {"datastore": store, "path": "train/0007.txt"}, "all": {"datastore": store, "path": "", "mode": "download"},
    })  # fmt: skip
    client.wait(copied, "Completed")
    assert output(client, copied, "outputs/x") == "7"
    assert output(client, copied, "outputs/names").split() == ["other", "top", "train"]


def test_a_killed_runner_leaves_no_mount(server, client, store):
    saved = dataset(client, store, FILES)
    mark = new_id("mark")
    run = client.submit(
        "cat $data/a.txt > outputs/a; exec sleep 600",
        inputs={"data": {"dataset": saved}},
        environment={"variables": {"E2E_MARK": mark}},
    )
    wait_for(lambda: "outputs/a" in client.files(run), 30, "the first bytes")
    shown = client.run(run)
    folder = server.state / "work" / f"{shown['sequence']}.{shown['attempt']}.0"
    runners = [pid for pid in processes.with_argument(folder) if b"--work" in processes.arguments(pid)]
    runner = next(pid for pid in runners if processes.name(pid) != "lathe-guardian")
    processes.kill(runner)
    client.wait(run, "Failed")
    assert processes.with_environment("E2E_MARK", mark) == []
    mounts = pathlib.Path("/proc/self/mounts").read_text()
    assert str(server.state) not in mounts
    wait_for(lambda: not folder.exists(), 20, "the task's folder to go")


def test_reading_goes_on_when_the_server_was_killed(server, client, store):
    """What is not cached is waited for: the reader notices nothing but the time."""
    never_read = secrets.token_bytes(100_000)
    saved = dataset(client, store, FILES | {"z.bin": never_read})
    script = "touch outputs/ready; until test -e go; do sleep 0.05; done; cat $data/z.bin > outputs/z.bin"
    run = client.submit(script, inputs={"data": {"dataset": saved}})
    wait_for(lambda: "outputs/ready" in client.files(run), 30, "its start")
    folder = server.state / "work" / f"{client.run(run)['sequence']}.1.0"
    server.kill()
    (folder / "run" / "go").touch()
    if server.kind == "fuse":
        wait_for(lambda: processes.with_argument("in/data/z.bin"), 10, "the reader")
    else:
        wait_for(lambda: (folder / "run/outputs/z.bin").exists(), 10, "the read without a server")
    server.start()
    client.wait(run, "Completed")
    assert client.file(run, "outputs/z.bin").expect(200).body == never_read


@pytest.mark.root
def test_a_read_gives_up_on_a_server_that_stays_away_and_works_again_with_it(make_server):
    """What is cached is read on; the rest is an error after the time that the site gives, never wrong bytes."""
    server = make_server(environment=NO_PROXY)
    server.write_config(isolated_config(server.state) | {"mounts": {"read_timeout_seconds": 2, "cache_gb": 0}})
    server.start().prepare()
    client, rest = server.client(), secrets.token_bytes(100_000)
    client.put(client.path("datastores", "data"), {"kind": "store"}).expect(201)
    saved = dataset(client, "data", {"cached.bin": b"cached" * 1000, "rest.bin": rest})
    script = (
        "cat $data/cached.bin > /dev/null; touch outputs/ready; until test -e go; do sleep 0.05; done;"
        "cat $data/rest.bin > part 2> outputs/error; echo $? > outputs/status; cat $data/cached.bin > outputs/cached.bin;"
        "touch failed; until test -e again; do sleep 0.05; done; cat $data/rest.bin > outputs/rest.bin; wc -c < part > outputs/part"
    )
    run = client.submit(script, inputs={"data": {"dataset": saved}})
    wait_for(lambda: "outputs/ready" in client.files(run), 30, "its start")
    folder = server.state / "work" / f"{client.run(run)['sequence']}.1.0" / "run"
    server.kill()
    (folder / "go").touch()
    wait_for(lambda: (folder / "failed").exists(), 30, "the end of its patience")
    server.start()
    (folder / "again").touch()
    client.wait(run, "Completed")
    assert output(client, run, "outputs/status").strip() == "1" and "Input/output error" in output(client, run, "outputs/error")
    assert output(client, run, "outputs/part").strip() == "0"
    assert client.file(run, "outputs/cached.bin").expect(200).body == b"cached" * 1000
    assert client.file(run, "outputs/rest.bin").expect(200).body == rest


def test_a_tampered_blob_is_never_read(server, client, store):
    """Found when the link tree is made; through FUSE by whoever reads it. The store is opened anew, knowing nothing."""
    saved = dataset(client, store, {"good": b"good", "bad": secrets.token_bytes(5000)})
    client.wait(walk(client, {"data": {"dataset": saved, "mode": "download"}}), "Completed")
    name = client.get(client.path("datastores", store, "files"), prefix="bad").expect(200).json()["items"][0]["digest"]
    blob = server.state / "store/blobs" / name[:2] / name[2:]
    blob.chmod(0o644)
    with open(blob, "r+b") as file:
        file.seek(4000)
        file.write(b"evil")
    server.restart()
    run = client.submit("cat $data/bad > outputs/read", inputs={"data": {"dataset": saved}})
    done = client.wait(run, "Failed")
    assert done["error"]["code"] == "prepare-failed" and "damaged" in done["error"]["message"], done["error"]


def test_bytes_that_are_damaged_while_the_run_reads_are_an_error(server, client, store):
    if server.kind == "linked":
        pytest.skip("a link tree is the store's own file")
    saved = dataset(client, store, {"good": b"good", "bad": secrets.token_bytes(5000)})
    script = (
        "touch outputs/ready; until test -e go; do sleep 0.05; done;"
        "cat $data/good > outputs/good; cat $data/bad > outputs/bad 2> outputs/error"
    )
    run = client.submit(script, inputs={"data": {"dataset": saved}})
    wait_for(lambda: "outputs/ready" in client.files(run), 30, "its start")
    name = client.get(client.path("datastores", store, "files"), prefix="bad").expect(200).json()["items"][0]["digest"]
    blob = server.state / "store/blobs" / name[:2] / name[2:]
    blob.chmod(0o644)
    with open(blob, "r+b") as file:
        file.write(b"evil")
    (server.state / "work" / f"{client.run(run)['sequence']}.1.0" / "run" / "go").touch()
    client.wait(run, "Failed")
    assert output(client, run, "outputs/good") == "good" and output(client, run, "outputs/bad") == ""
    assert "Input/output error" in output(client, run, "outputs/error")


def test_outputs_go_to_their_datastore_and_become_datasets(client, store):
    put_files(client, store, {"old/x": b"before"})
    outputs = {
        "features": {"datastore": store, "path": "features/{run-id}", "register": {"name": "features", "tags": {"a": "b"}}},
        "live": {"datastore": store, "path": "live", "mode": "mount"},
        "old": {"datastore": store, "path": "old"},
    }
    script = (
        "mkdir $features/sub; echo f > $AZUREML_DATAREFERENCE_features/sub/f; echo l > $live/l; echo new > $old/x;"
        "echo y > $old/y; until test -e go; do sleep 0.05; done"
    )
    run = client.submit(script, outputs=outputs)

    def content(path):
        return client.request("GET", client.path("datastores", store, "files", "content"), query={"path": path})

    wait_for(lambda: content("live/l").status == 200, 30, "the live output")
    assert content(f"features/{run}/sub/f").status == 404
    client.cancel(run)
    client.wait(run, "Canceled")
    assert content(f"features/{run}/sub/f").expect(200).body == b"f\n"
    assert content("old/x").expect(200).body == b"before", "not replaced unless that is wished"
    assert content("old/y").expect(200).body == b"y\n"
    assert b"old/x" in client.log(run)
    client.get(client.path("datasets", "features")).expect(404)

    outputs["old"]["overwrite"] = True
    run = client.submit("echo f > $features/f; echo new > $old/x", outputs=outputs)
    client.wait(run, "Completed")
    assert content("old/x").expect(200).body == b"new\n"
    made = client.get(client.path("datasets", "features")).expect(200).json()
    assert made["version"] == 1 and made["tags"] == {"a": "b"}
    again = client.submit("cat $data > outputs/x", inputs={"data": {"dataset": made["id"]}})
    client.wait(again, "Completed")
    assert output(client, again, "outputs/x") == "f\n"


def test_preparation_is_canceled_and_goes_on_after_a_restart(make_server):
    """A web server that does not answer yet: the run waits in Preparing and says for what."""
    gate = threading.Event()

    def slow(call):
        gate.wait(60)
        liar.honest(b"late")(call)

    server = make_server(config=LOOPBACK, environment=NO_PROXY)
    server.start().prepare()
    client = server.client()
    with Liar({"/slow": slow}) as web:
        saved = save_dataset(client, {"url": f"{web.url}/slow"})
        inputs = {"data": {"dataset": saved}}
        canceled, kept = (client.submit("cat $data", inputs=inputs) for _ in range(2))
        wait_for(lambda: len(web.requests) >= 1, 20, "the fetch")
        wait_for(lambda: client.status(kept) == "Preparing", 20, "the other run in Preparing, too")
        shown = client.run(kept)
        assert "data" in shown["waiting"]["reason"], shown["waiting"]
        client.cancel(canceled).expect(200)
        client.wait(canceled, "Canceled")
        server.kill()
        server.start()
        client = server.client()
        gate.set()
        client.wait(kept, "Completed")
        assert client.log(kept) == b"late"
        assert client.status(canceled) == "Canceled"


def blob_requests(client):
    text = client.get("/metrics").expect(200).body.decode()
    return sum(int(line.split()[-1]) for line in text.splitlines() if line.startswith('lathe_requests_total{operation="getBlob"'))


@pytest.mark.root
@pytest.mark.parametrize("named", [False, True], ids=["default folder", "folder of the site"])
def test_what_one_run_has_read_comes_from_the_nodes_disk_in_the_next(make_server, tmp_path, named):
    server = make_server(environment=NO_PROXY)
    folder = tmp_path / "site" if named else server.cache_folder / "lathe" / "chunks"
    server.write_config(isolated_config(server.state) | ({"mounts": {"cache_folder": str(folder)}} if named else {}))
    client = server.start().prepare().client()
    large = random.Random(4).randbytes(9 << 20)  # two chunks
    files = {**FILES, "large.bin": large, "copy/large.bin": large}
    put_files(client, "workspaceblobstore", {f"cached/{path}": data for path, data in files.items()})
    data = {"data": {"dataset": save_dataset(client, {"datastore": "workspaceblobstore", "path": "cached"})}}

    def read():
        before = blob_requests(client)
        run = walk(client, data)
        client.wait(run, "Completed")
        assert found(client, run) == digests(files)
        return blob_requests(client) - before

    assert read() > 0
    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in kept) == sum(map(len, {*files.values()}))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert read() == 0
    # Whatever is done to the cache, a run reads what is right.
    kept[0].write_bytes(b"poison")
    kept[1].write_bytes(b"")
    assert read() == 2
    assert read() == 0
    shutil.rmtree(folder)
    assert read() > 0


@pytest.mark.root
def test_a_site_may_do_without_a_cache_on_disk(make_server):
    server = make_server(environment=NO_PROXY)
    server.write_config(isolated_config(server.state) | {"mounts": {"cache_gb": 0}})
    client = server.start().prepare().client()
    run = walk(client, {"data": {"dataset": dataset(client, "workspaceblobstore", FILES)}})
    client.wait(run, "Completed")
    assert found(client, run) == digests(FILES)
    assert not (server.cache_folder / "lathe" / "chunks").exists()


def test_views_are_a_cache_that_a_run_in_progress_keeps(make_server):
    server = make_server().start().prepare()
    client = server.client()
    put_files(client, "workspaceblobstore", FILES)
    used, unused = (
        save_dataset(client, {"datastore": "workspaceblobstore", "path": path}) for path in ("sub", "z.bin")
    )
    client.wait(client.submit("true", inputs={"data": {"dataset": unused}}), "Completed")
    run = client.submit("until test -e go; do sleep 0.05; done; cat $data/empty", inputs={"data": {"dataset": used}})
    client.wait(run, "Running")
    views = {view.name: view for view in (server.state / "views").iterdir()}
    assert len(views) == 2
    for view in views.values():
        os.utime(view, (1, 1))  # long ago
    client.post("/api/v1/store/gc", {"dry_run": False}).expect(200)
    assert [view.name for view in (server.state / "views").iterdir()] == [client.run(run)["inputs"]["data"]["tree"]]
    (server.state / "work" / f"{client.run(run)['sequence']}.1.0" / "run" / "go").touch()
    client.wait(run, "Completed")
    client.wait(client.submit("cat $data", inputs={"data": {"dataset": unused}}), "Completed")
    assert len(list((server.state / "views").iterdir())) == 2, "made again"
