"""The content store through the API: what is missing, packs, large blobs in parts, ranges, checks."""

import fcntl
import json
import os
import pathlib
import secrets
import time

import pytest

from harness.blobs import digest, pack, unpack
from harness.wait import wait_for


def missing(client, *digests):
    return client.post("/api/v1/blobs/missing", {"digests": list(digests)}).expect(200).json()


def put(client, data, offset, size, name=None):
    return client.request("PUT", f"/api/v1/blobs/{name or digest(data)}", query={"offset": offset, "size": size}, body=data)


def plant_endless(server):
    """A sparse file under the name of a blob: hashing it takes longer than any test."""
    name = secrets.token_hex(32)
    file = server.state / "store" / "blobs" / name[:2] / name[2:]
    with file.open("wb") as blob:
        blob.truncate(1 << 40)
    return name, file


class Asking:
    """A request whose answer nobody waits for; closing it is the client's going away."""

    def __init__(self, client, method, path):
        self.connection = client.connect(60)
        self.connection.request(method, path, headers={"Authorization": f"Bearer {client.token}"})

    def close(self):
        self.connection.close()


def test_long_store_work_is_alone_keeps_nobody_waiting_and_ends_with_its_client(make_server):
    server = make_server().start().prepare()
    client = server.client()
    name, file = plant_endless(server)
    asking = [Asking(client, "POST", "/api/v1/store/verify")]
    wait_for(lambda: reads(server, file), 20, "the check of the large blob")
    refused = client.post("/api/v1/store/verify").expect(409)
    assert refused.error() == "conflict" and refused.json()["hint"]
    client.post("/api/v1/store/gc", {"dry_run": True}).expect(200)
    # As many first readers as there are threads for files, and then some.
    asking += [Asking(client, "GET", f"/api/v1/blobs/{name}") for _ in range(4)]
    wait_for(lambda: reads(server, file) > 1, 20, "a first reader")
    client.wait(client.submit("mkdir -p outputs; echo x > outputs/x"), "Completed")
    asking[0].close()
    file.unlink()
    wait_for(lambda: client.post("/api/v1/store/verify").status == 200, 20, "the end of the check that nobody wants")
    # The first readers still hash what they have open; the end of the server does not wait for them.
    assert server.stop(20) == 0


def test_a_stopping_server_breaks_off_its_check(make_server):
    server = make_server().start().prepare()
    _, file = plant_endless(server)
    asking = Asking(server.client(), "POST", "/api/v1/store/verify")
    wait_for(lambda: reads(server, file), 20, "the check of the large blob")
    assert server.stop(20) == 0
    assert asking.connection.getresponse().status == 503
    assert file.exists(), "a blob that was not read to its end was taken for damaged"


def reads(server, file):
    """How often the server has this file open."""
    return sum(os.path.realpath(link) == str(file.resolve()) for link in pathlib.Path(f"/proc/{server.pid}/fd").iterdir())


def test_a_pack_stores_its_blobs_and_they_are_no_longer_missing(client):
    blobs = [secrets.token_bytes(size) for size in (0, 1, 1000, 300_000)]
    names = [digest(blob) for blob in blobs]
    assert set(missing(client, *names[1:])["missing"]) == set(names[1:])
    stored = client.request("POST", "/api/v1/blobs/pack", body=pack(*blobs)).expect(200).json()
    assert stored["bytes"] == sum(map(len, blobs))
    assert missing(client, *names)["missing"] == []
    for name, blob in zip(names, blobs):
        assert client.get(f"/api/v1/blobs/{name}").expect(200).body == blob


def tree_of(*lines):
    return b"lathe-tree 1\n" + b"".join(line + b"\n" for line in lines)


@pytest.mark.parametrize(
    "manifest",
    [
        tree_of(b"l a\t../../etc"),
        tree_of(b"l " + b"a/" * 300 + b"a\tx"),
        tree_of(b"l a\t" + b"b/" * 300 + b"b"),
        tree_of(*(b"l %s/l%05d\t%s" % (b"d" * 200 + b"/" + b"/".join([b"d" * 14] * 240), i, b"x/../l%05d" % (i + 1)) for i in range(20_000))),
        tree_of(*[b""] * 2_100_000),
        tree_of(b"f %s 1 a" % (b"0" * 64), b"f %s 1 a/b" % (b"0" * 64)),
    ],
    ids=["leaves", "deep", "deep target", "entangled", "millions of lines", "file and folder"],
)  # fmt: skip
def test_a_hostile_manifest_is_refused_wherever_it_is_used(client, manifest):
    client.request("POST", "/api/v1/blobs/pack", body=pack(manifest)).expect(200)
    name = digest(manifest)
    for path in (f"/api/v1/trees/{name}", f"/api/v1/trees/{name}/pack"):
        answer = client.get(path)
        assert answer.status in (400, 413, 422) and answer.error(), answer.status
    assert client.post("/api/v1/blobs/missing", {"digests": [], "tree": name}).expect(200).json()["complete"] is False
    refused = client.submit_answer("true", snapshot=name).expect(400, 413, 422)
    assert refused.json()["field"] == "snapshot", refused.json()


def test_a_manifest_over_the_limit_is_refused_unread(server, client):
    name = secrets.token_hex(32)
    with (server.state / "store" / "blobs" / name[:2] / name[2:]).open("wb") as blob:
        blob.truncate((256 << 20) + 1)
    assert client.get(f"/api/v1/trees/{name}").expect(413).error() == "too-large"
    assert client.submit_answer("true", snapshot=name).expect(413).json()["field"] == "snapshot"
    (server.state / "store" / "blobs" / name[:2] / name[2:]).unlink()


def test_a_stored_blob_is_a_read_only_file_named_by_its_digest(server, client):
    data = secrets.token_bytes(100)
    client.request("POST", "/api/v1/blobs/pack", body=pack(data)).expect(200)
    file = server.state / "store" / "blobs" / digest(data)[:2] / digest(data)[2:]
    assert file.read_bytes() == data and file.stat().st_mode & 0o222 == 0


def test_a_pack_with_a_wrong_digest_stores_nothing_wrong(client):
    good, bad = secrets.token_bytes(50), secrets.token_bytes(50)
    wrong = digest(b"something else" + bad)
    answer = client.request("POST", "/api/v1/blobs/pack", body=pack(good, bad, names=[digest(good), wrong]))
    assert answer.status in (400, 422) and answer.error() in ("corrupt", "invalid")
    client.get(f"/api/v1/blobs/{wrong}").expect(404)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"x",
        bytes(39),
        pack(b"data", end=False),
        pack(b"data")[:-1],
        pack(b"data")[:50],
        bytes(40) + b"tail",
        bytes.fromhex(digest(b"x")) + b"\xff" * 8 + b"x",
    ],
    ids=["empty", "one byte", "half a frame", "no end", "cut end", "cut blob", "tail", "size 2^64-1"],
)
def test_a_broken_pack_is_refused(client, body):
    answer = client.request("POST", "/api/v1/blobs/pack", body=body)
    assert 400 <= answer.status < 500, answer.body
    answer.error()


def test_a_blob_is_sent_in_parts_and_resumed(client):
    data = secrets.token_bytes(500_000)
    name = digest(data)
    assert put(client, data[:200_000], 0, len(data), name).expect(202).json()["offset"] == 200_000
    assert missing(client, name) == {"missing": [name], "partial": {name: 200_000}}
    wrong = put(client, data[300_000:], 300_000, len(data), name).expect(409)
    assert wrong.headers["lathe-offset"] == "200000" and wrong.json()["field"] == "offset"
    client.get(f"/api/v1/blobs/{name}").expect(404)
    done = put(client, data[200_000:], 200_000, len(data), name).expect(201).json()
    assert done == {"digest": name, "size": len(data)}
    assert client.get(f"/api/v1/blobs/{name}").expect(200).body == data
    assert missing(client, name)["missing"] == []


def test_a_blob_whose_bytes_do_not_match_is_refused_and_can_be_sent_again(client):
    data = secrets.token_bytes(1000)
    assert put(client, bytes(1000), 0, 1000, digest(data)).expect(400, 422).error() in ("corrupt", "invalid")
    client.get(f"/api/v1/blobs/{digest(data)}").expect(404)
    put(client, data, 0, 1000).expect(201)


def test_more_bytes_than_announced_are_refused(client):
    data = secrets.token_bytes(1000)
    assert put(client, data, 0, 999).status in (400, 409, 413, 422)


def test_ranges_of_a_blob(client):
    data = secrets.token_bytes(1000)
    client.request("POST", "/api/v1/blobs/pack", body=pack(data)).expect(200)
    path = f"/api/v1/blobs/{digest(data)}"
    for text, expected in (
        ("bytes=0-0", data[:1]),
        ("bytes=990-", data[990:]),
        ("bytes=-10", data[-10:]),
        ("bytes=10-99999", data[10:]),
    ):
        assert client.request("GET", path, headers={"Range": text}).expect(206).body == expected, text
    client.request("GET", path, headers={"Range": "bytes=1000-"}).expect(416)
    client.request("GET", path, headers={"Range": "bytes=2000-3000"}).expect(416)
    client.request("GET", path, headers={"Range": "bytes=-0"}).expect(416)
    # Not a range, or one that makes no sense: passed over, as RFC 9110 asks.
    for text in ("bytes=5-1", "lines=1-2", "bytes=a-b", "bytes=", "bytes=-", "bytes=0-1,5-6"):
        assert client.request("GET", path, headers={"Range": text}).expect(200).body == data, text


def test_head_tells_the_size_without_the_bytes(client):
    data = secrets.token_bytes(77)
    client.request("POST", "/api/v1/blobs/pack", body=pack(data)).expect(200)
    answer = client.request("HEAD", f"/api/v1/blobs/{digest(data)}").expect(200)
    assert answer.headers["content-length"] == "77" and answer.body == b""
    client.request("HEAD", f"/api/v1/blobs/{digest(b'absent')}").expect(404)


def test_a_snapshot_is_read_back_as_a_tree_and_as_a_pack(server, client, tmp_path):
    contents = {"train.py": b"print('x')\n", "data/a.bin": secrets.token_bytes(1000), "data/same.bin": b"print('x')\n"}
    for name, data in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    run = server.submit_folder(tmp_path)
    tree = client.wait(run)["snapshot"]
    manifest = client.get(f"/api/v1/trees/{tree}").expect(200).body
    assert digest(manifest) == tree
    stream = client.get(f"/api/v1/trees/{tree}/pack").expect(200).body
    assert unpack(stream) == {digest(data): data for data in contents.values()}
    client.get(f"/api/v1/trees/{digest(b'no tree')}").expect(404)
    client.get(f"/api/v1/trees/{digest(contents['data/a.bin'])}/pack").expect(400, 404, 422)


def test_a_damaged_blob_is_found_and_never_served(make_server):
    server = make_server().start().prepare()
    client, data = server.client(), secrets.token_bytes(10_000)
    client.request("POST", "/api/v1/blobs/pack", body=pack(data)).expect(200)
    assert client.post("/api/v1/store/verify").expect(200).json()["damaged"] == []
    file = server.state / "store" / "blobs" / digest(data)[:2] / digest(data)[2:]
    os.chmod(file, 0o600)
    with file.open("r+b") as blob:
        blob.seek(5000)
        blob.write(bytes([data[5000] ^ 1]))
    found = server.cli("-o", "json", "store", "verify", check=False)
    assert found.returncode == 9 and json.loads(found.stdout)["damaged"] == [digest(data)]
    # It is set aside: nobody gets it, and whoever has the right bytes may send them again.
    client.get(f"/api/v1/blobs/{digest(data)}").expect(404)
    assert missing(client, digest(data))["missing"] == [digest(data)]
    client.request("POST", "/api/v1/blobs/pack", body=pack(data)).expect(200)
    assert client.get(f"/api/v1/blobs/{digest(data)}").expect(200).body == data


def test_garbage_collection_keeps_what_runs_name(server, client, tmp_path):
    (tmp_path / "train.py").write_text(
        "import os; os.makedirs('outputs', exist_ok=True); open('outputs/x', 'w').write('kept by the run')"
    )
    run = server.submit_folder(tmp_path)
    done = client.wait(run, "Completed")
    client.post("/api/v1/store/gc", {"dry_run": False}).expect(200)
    assert client.file(run, "outputs/x").expect(200).body == b"kept by the run"
    client.get(f"/api/v1/trees/{done['snapshot']}/pack").expect(200)
    assert client.post("/api/v1/store/verify").expect(200).json()["damaged"] == []


def test_an_unchanged_folder_is_not_sent_again(server, client, tmp_path):
    (tmp_path / "train.py").write_text("print(1)")
    (tmp_path / "big.bin").write_bytes(secrets.token_bytes(5_000_000))
    first = client.wait(server.submit_folder(tmp_path))
    before = client.get("/api/v1/store").expect(200).json()
    second = client.wait(server.submit_folder(tmp_path))
    after = client.get("/api/v1/store").expect(200).json()
    assert first["snapshot"] == second["snapshot"] and after["bytes"] - before["bytes"] < 100_000


def test_a_tree_is_complete_until_one_of_its_blobs_is_lost_and_again_when_it_was_sent(make_server, tmp_path):
    server = make_server().start().prepare()
    client, data = server.client(), secrets.token_bytes(10_000)
    (tmp_path / "train.py").write_text("print(1)")
    (tmp_path / "data.bin").write_bytes(data)

    def is_complete(tree):
        return client.post("/api/v1/blobs/missing", {"digests": [], "tree": tree}).expect(200).json()["complete"]

    tree = server.cli_json("store", "put", tmp_path)["snapshot"]
    assert is_complete(tree) and is_complete(tree)
    assert not is_complete(digest(b"no such tree")) and not is_complete(digest(data))
    file = server.state / "store" / "blobs" / digest(data)[:2] / digest(data)[2:]
    os.chmod(file, 0o600)
    file.write_bytes(bytes(10_000))
    server.cli("store", "verify", check=False)
    assert not is_complete(tree)
    assert server.cli_json("store", "put", tmp_path)["snapshot"] == tree
    assert is_complete(tree) and file.read_bytes() == data


def test_too_many_digests_at_once_are_refused(client):
    client.post("/api/v1/blobs/missing", {"digests": [digest(b"%d" % i) for i in range(10_001)]}).expect(400, 413)
    assert len(missing(client, *[digest(b"absent %d" % i) for i in range(10_000)])["missing"]) == 10_000


CHUNK = 8 << 20


def fetch_chunk(client, index, number):
    last = min((number + 1) * CHUNK, index["size"]) - 1
    asked = {"Range": f"bytes={number * CHUNK}-{last}"}
    return client.request("GET", f"/api/v1/blobs/{index['digest']}", headers=asked).expect(206).body


def test_a_chunk_in_the_middle_is_fetched_and_checked_alone(make_server):
    server = make_server().start()
    client, data = server.client(), secrets.token_bytes((64 << 20) + 5)
    put(client, data, 0, len(data)).expect(201)
    index = client.get(f"/api/v1/blobs/{digest(data)}/chunks").expect(200).json()
    assert (index["digest"], index["size"], index["chunk_bytes"]) == (digest(data), len(data), CHUNK)
    assert index["chunks"] == [digest(data[at : at + CHUNK]) for at in range(0, len(data), CHUNK)]
    assert fetch_chunk(client, index, 3) == data[3 * CHUNK : 4 * CHUNK]
    assert digest(fetch_chunk(client, index, 8)) == index["chunks"][8]
    file = server.state / "store" / "blobs" / digest(data)[:2] / digest(data)[2:]
    assert file.with_name(file.name + ".chunks").exists()

    # A disk that lies behind the server's back: same size, same times, one bit of another value.
    before = file.stat()
    os.chmod(file, 0o600)
    with file.open("r+b") as blob:
        blob.seek(3 * CHUNK + 1000)
        blob.write(bytes([data[3 * CHUNK + 1000] ^ 1]))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert digest(fetch_chunk(client, index, 3)) != index["chunks"][3]
    assert digest(fetch_chunk(client, index, 4)) == index["chunks"][4]


def test_small_and_absent_blobs_have_no_side_file(server, client):
    for data in (b"", b"small"):
        client.request("POST", "/api/v1/blobs/pack", body=pack(data)).expect(200)
        index = client.get(f"/api/v1/blobs/{digest(data)}/chunks").expect(200).json()
        assert index["size"] == len(data) and index["chunks"] == ([digest(data)] if data else [])
        file = server.state / "store" / "blobs" / digest(data)[:2] / (digest(data)[2:] + ".chunks")
        assert not file.exists()
    client.get(f"/api/v1/blobs/{digest(b'absent')}/chunks").expect(404)
    client.get("/api/v1/blobs/nonsense/chunks").expect(400)


def make_folder(path, files=300, size=20_000):
    contents = {f"part{i % 3}/{i}.bin": secrets.token_bytes(size) for i in range(files)}
    for name, data in contents.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return contents


def calls(client, operation):
    """How often an operation was answered, by the server's own count."""
    text = client.get("/metrics").expect(200).body.decode()
    lines = [line for line in text.splitlines() if f'operation="{operation}"' in line and "_total" in line]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def read_back(client, tree):
    return unpack(client.get(f"/api/v1/trees/{tree}/pack").expect(200).body)


def test_a_folder_on_the_same_machine_is_copied_into_the_store_and_not_sent(make_server, tmp_path):
    server = make_server().start().prepare()
    client, contents = server.client(), make_folder(tmp_path)
    put = server.cli_json("store", "put", tmp_path)
    assert calls(client, "commitStaged") == 1 and calls(client, "putBlobPack") == 0
    assert read_back(client, put["snapshot"]) == {digest(data): data for data in contents.values()}
    assert list((server.state / "store" / "staging").iterdir()) == []
    (tmp_path / "new.bin").write_bytes(secrets.token_bytes(5_000_000))
    again = server.cli_json("store", "put", tmp_path)
    assert again["sent_bytes"] < 5_200_000 and calls(client, "commitStaged") == 2


def test_what_the_cache_knows_and_a_new_server_lacks_is_copied_too(make_server, tmp_path, monkeypatch):
    contents = make_folder(tmp_path / "source")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    old = time.time() - 3600
    for name in contents:
        os.utime(tmp_path / "source" / name, (old, old))
    for _ in range(2):
        server = make_server().start().prepare()
        put = server.cli_json("store", "put", tmp_path / "source")
        assert calls(server.client(), "commitStaged") == 1 and calls(server.client(), "putBlobPack") == 0
        assert read_back(server.client(), put["snapshot"]) == {digest(data): data for data in contents.values()}


def test_a_submitted_folder_takes_the_same_shortcut(make_server, tmp_path):
    server = make_server().start().prepare()
    make_folder(tmp_path)
    (tmp_path / "train.py").write_text("import os; print(len(os.listdir('part0')))")
    run = server.submit_folder(tmp_path)
    server.client().wait(run, "Completed")
    assert b"100" in server.client().log(run)
    assert calls(server.client(), "commitStaged") == 1 and calls(server.client(), "putBlobPack") == 0


def test_over_tcp_a_folder_is_sent_as_packs(make_server, tmp_path):
    server = make_server().start().prepare()
    client, contents = server.client(), make_folder(tmp_path)
    put = server.cli_json("--server", server.discovery()["url"], "store", "put", tmp_path)
    assert calls(client, "openStaging") == 0 and calls(client, "putBlobPack") >= 1
    assert read_back(client, put["snapshot"]) == {digest(data): data for data in contents.values()}


def test_only_the_servers_own_user_may_stage_and_only_over_the_socket(server, client):
    assert client.over_tcp().post("/api/v1/staging").expect(403).error() == "forbidden"
    place = client.post("/api/v1/staging").expect(201).json()
    commit = f"/api/v1/staging/{place['staging']}/commit"
    assert client.over_tcp().post(commit, {"blobs": {}}).expect(403).error() == "forbidden"
    data = secrets.token_bytes(1000)
    staged = pathlib.Path(place["path"]) / digest(data)
    staged.write_bytes(data)
    client.post(commit, {"blobs": {digest(data): 1000}}).expect(400)  # still writable
    staged.chmod(0o444)
    client.post(commit, {"blobs": {digest(data): 999}}).expect(400)
    client.post(commit, {"blobs": {digest(data): "1000"}}).expect(400)
    assert client.post(commit, {"blobs": {digest(data): 1000}}).expect(200).json() == {"stored": 1, "bytes": 1000}
    assert client.get(f"/api/v1/blobs/{digest(data)}").expect(200).body == data
    client.post(commit, {"blobs": {digest(b"never staged"): 12}}).expect(404)
    client.post(f"/api/v1/staging/{'0' * 32}/commit", {"blobs": {}}).expect(404)


def test_a_client_that_cannot_see_the_store_sends_packs(make_server, tmp_path):
    """As in a container that has only the socket: the folder that the server names is not there."""
    server = make_server().start().prepare()
    contents = make_folder(tmp_path)
    hide = f'mount -t tmpfs none "{server.state}/store/staging" && exec "$@"'
    prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", hide, "sh"]
    if os.geteuid() != 0:
        prefix.insert(1, "--map-root-user")
    done = server.cli("-o", "json", "store", "put", tmp_path, prefix=prefix)
    client = server.client()
    assert calls(client, "openStaging") == 1 and calls(client, "putBlobPack") >= 1
    tree = json.loads(done.stdout)["snapshot"]
    assert read_back(client, tree) == {digest(data): data for data in contents.values()}


def test_what_a_killed_client_staged_is_removed(make_server):
    server = make_server().start().prepare()
    client = server.client()
    staging = server.state / "store" / "staging"
    abandoned, held = (pathlib.Path(client.post("/api/v1/staging").expect(201).json()["path"]) for _ in range(2))
    (abandoned / "0").write_bytes(bytes(1000))
    holder = os.open(held, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_SH)
    for folder in (abandoned, held):
        os.utime(folder, (time.time() - 120,) * 2)
    fresh = pathlib.Path(client.post("/api/v1/staging").expect(201).json()["path"])
    assert set(staging.iterdir()) == {held, fresh}
    server.restart()
    assert list(staging.iterdir()) == []
    os.close(holder)


ZSTD = {"Accept-Encoding": "zstd"}
ZSTD_MAGIC = bytes.fromhex("28b52ffd")


@pytest.mark.parametrize("compress", ["always", "never"])
def test_a_folder_arrives_the_same_packed_or_not(make_server, tmp_path, compress):
    server = make_server().start().prepare()
    contents = {f"{i}.txt": b"".join(b"line %d of file %d\n" % (n, i) for n in range(5000)) for i in range(20)}
    contents["noise.bin"] = secrets.token_bytes(70 << 20)  # large: sent alone, in its own request
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    environment = server.environment | {"LATHE_COMPRESS": compress}
    put = server.cli_json("--server", server.discovery()["url"], "store", "put", tmp_path, env=environment)
    assert read_back(server.client(), put["snapshot"]) == {digest(data): data for data in contents.values()}


def test_logs_trees_and_packs_are_packed_for_those_who_ask_over_tcp(server, client, tmp_path):
    (tmp_path / "train.py").write_text("for i in range(5000): print('epoch', i, 'of many')\n" + "# a comment\n" * 1000)
    for number in range(30):
        (tmp_path / f"module_with_a_long_name_{number}.py").write_text("pass\n")
    run = server.submit_folder(tmp_path)
    tree = client.wait(run, "Completed")["snapshot"]
    for path in (client.path("runs", run, "logs"), f"/api/v1/trees/{tree}", f"/api/v1/trees/{tree}/pack"):
        whole = client.get(path).expect(200)
        assert "content-encoding" not in whole.headers
        packed = client.over_tcp().request("GET", path, headers=ZSTD).expect(200)
        assert packed.headers["content-encoding"] == "zstd" and packed.body.startswith(ZSTD_MAGIC), path
        assert len(packed.body) < 0.9 * len(whole.body), path
        near = client.request("GET", path, headers=ZSTD).expect(200)
        assert "content-encoding" not in near.headers and near.body == whole.body
    environment = server.environment | {"LATHE_COMPRESS": "always"}
    shown = server.cli("--server", server.discovery()["url"], "run", "logs", run, env=environment)
    assert shown.stdout == client.log(run).decode()
