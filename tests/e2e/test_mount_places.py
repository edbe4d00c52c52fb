"""The data of runs on machines of several kinds: with folders of their own, without those of the server, without mounts."""

import os
import pathlib
import random
import shutil
import tempfile

import pytest

from harness.registry import put_files, save_dataset
from harness.run_data import FILES, digests, found, output, walk


def test_a_folder_of_the_machine_is_mounted_as_it_is(make_server, tmp_path):
    (tmp_path / "scans" / "one").mkdir(parents=True)
    (tmp_path / "scans" / "one" / "a").write_text("scan")
    server = make_server(config={"datastores": {"roots": [str(tmp_path)]}}).start().prepare()
    client = server.client()
    body = {"kind": "local", "path": str(tmp_path / "scans"), "writable": True}
    client.put(client.path("datastores", "scans"), body).expect(201)
    inputs = {"all": {"datastore": "scans", "path": ""}, "part": {"datastore": "scans", "path": "one"}}
    script = "cat $all/one/a $part/a > outputs/x; touch $part/b 2> outputs/refused; echo made > $out/new"
    run = client.submit(script, inputs=inputs, outputs={"out": {"datastore": "scans", "path": "made"}})
    client.wait(run, "Completed")
    assert output(client, run, "outputs/x") == "scanscan"
    assert "Read-only file system" in output(client, run, "outputs/refused")
    assert (tmp_path / "scans" / "made" / "new").read_text() == "made\n"


# A machine on which the folders of the server's datastores are not there: the launcher of its runners hides them.
HIDE = 'folder=$1; shift; mount -t tmpfs tmpfs "$folder"; exec "$@"'


@pytest.mark.root
@pytest.mark.parametrize("how", ["mounted", "copied"])
def test_a_folder_of_the_servers_machine_is_served_to_a_runner_that_does_not_see_it(make_server, tmp_path, how):
    files = {"scans/one/a": b"scan", "scans/one/empty": b"", "scans/b ü": random.Random(5).randbytes(9 << 20)}
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    launcher = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", HIDE, "sh", str(tmp_path)]
    if how == "copied":
        no_fuse = tmp_path.parent / "no-fuse"
        no_fuse.touch()
        launcher[-3] = f"mount --bind {no_fuse} /dev/fuse; {HIDE}"
    config = {"datastores": {"roots": [str(tmp_path)]}, "providers": {"local": {"launcher": launcher}}}
    client = make_server(config=config).start().prepare().client()
    client.put(client.path("datastores", "scans"), {"kind": "local", "path": str(tmp_path / "scans")}).expect(201)
    for path, wanted in ({"": "scans/", "one": "scans/one/"}).items():
        run = walk(client, {"data": {"datastore": "scans", "path": path}})
        done = client.wait(run, "Completed")
        assert found(client, run) == digests(
            {name.removeprefix(wanted): data for name, data in files.items() if name.startswith(wanted)}
        )
        assert any("copied" in note for note in done["notes"]) == (how == "copied")


@pytest.mark.root
@pytest.mark.parametrize("fuse", [False, True])
def test_an_ordinary_user_mounts_in_a_user_namespace(make_server, tmp_path, fuse):
    """With /dev/fuse for everybody, as most machines have it, and without."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lathe-nobody-"))
    os.chown(folder, 65534, 65534)
    device = (
        f"mknod -m 666 {folder}/fuse c 10 229 && mount --bind {folder}/fuse /dev/fuse"
        if fuse
        else f"touch {folder}/none && mount --bind {folder}/none /dev/fuse"
    )
    become = "exec setpriv --reuid=65534 --regid=65534 --clear-groups"
    prefix = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", f'{device}; {become} "$@"', "sh"]
    server = make_server(folder / "state", prefix=prefix, environment={"HOME": str(folder)})
    server.start().prepare()
    client = server.client()
    put_files(client, "workspaceblobstore", FILES)
    inputs = {"data": {"datastore": "workspaceblobstore", "path": ""}}
    saved = save_dataset(client, inputs["data"])
    script = "id -u > outputs/who; grep -c fuse.lathe /proc/self/mounts > outputs/fuse; touch $data/x 2> outputs/refused; true"
    run = client.submit(script, inputs={"data": {"dataset": saved}})
    assert not any("copied" in note for note in client.wait(run, "Completed")["notes"])
    assert output(client, run, "outputs/who") == "65534\n"
    assert "Read-only file system" in output(client, run, "outputs/refused")
    whole = walk(client, inputs)
    assert any("copied" in note for note in client.wait(whole, "Completed")["notes"]) != fuse
    assert found(client, whole) == digests(FILES)
    server.close()
    shutil.rmtree(folder, ignore_errors=True)


# As a machine that lets nobody mount: no right to it, and no user namespace that would give one.
NO_MOUNTS = [
    "unshare", "--user", "--map-root-user", "/bin/sh", "-c",
    'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$@"', "sh",
]  # fmt: skip


@pytest.mark.root
def test_without_namespaces_the_data_is_copied_and_the_run_says_so(make_server, tmp_path):
    server = make_server(config={"providers": {"local": {"launcher": NO_MOUNTS, "box": "off"}}})
    server.start().prepare()
    client = server.client()
    put_files(client, "workspaceblobstore", FILES)
    saved = save_dataset(client, {"datastore": "workspaceblobstore", "path": ""})
    run = walk(client, {"data": {"dataset": saved}})
    done = client.wait(run, "Completed")
    assert found(client, run) == digests(FILES)
    assert any("'data' was copied instead of mounted" in note for note in done["notes"]), done["notes"]
    whole = walk(client, {"data": {"datastore": "workspaceblobstore", "path": ""}})
    assert any("was copied" in note for note in client.wait(whole, "Completed")["notes"])
    assert found(client, whole) == digests(FILES)
    elsewhere = {"data": {"dataset": saved, "path_on_compute": str(tmp_path / "x")}}
    refused = client.wait(client.submit("true", inputs=elsewhere), "Failed")
    assert refused["error"]["code"] == "prepare-failed" and "path_on_compute" in refused["error"]["message"]
