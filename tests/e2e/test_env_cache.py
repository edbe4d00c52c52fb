"""The cache of realised environments: shared, never half, mended when damaged. Against an index that the test makes itself."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest

from harness.environments import CACHE, Index, Probe, ProbeError, conda_channel, packages, python, sdist, wheel
from harness.wait import wait_for

KILLS = int(os.environ.get("LATHE_ENV_KILLS", "12"))


@pytest.fixture
def index(tmp_path):
    index = Index(tmp_path / "index")
    index.add("thing", "1.0", requires=["helper"], scripts=["thing-tool = thing_tool:main"],
              files={"thing_tool.py": "def main():\n    import helper\n    print('helper', helper.version)\n"})  # fmt: skip
    index.add("helper", "2.0", files={"helper_data.txt": "x" * 200_000})
    yield index
    index.close()


@pytest.fixture
def probe(tmp_path, index):
    return Probe(tmp_path, index=index.url)


def realised(cache):
    folder = cache / "realised"
    return sorted(folder.iterdir()) if folder.exists() else []


def nothing_half(cache):
    """Everything under a final name is whole; what is on its way lies in tmp/."""
    for prefix in realised(cache):
        marker = json.loads((prefix / "lathe-environment.json").read_text())
        listed = (prefix / "lathe-files.txt").read_text().splitlines()
        assert marker["lock"] == prefix.name and marker["files"] == len(listed)
        for line in listed:
            size, path = line.split(" ", 1)
            file = prefix / path
            assert file.is_symlink() or file.stat().st_size == int(size), path


def test_an_environment_works_where_it_was_moved_to(probe):
    prefix = probe.realise(probe.lock("thing==1.0"))
    assert python(prefix, "import thing, azureml.core; print(thing.version)") == "1.0"
    assert subprocess.run([prefix / "bin/thing-tool"], capture_output=True, text=True).stdout == "helper 2.0\n"
    assert "tmp" not in os.listdir(probe.cache) or not os.listdir(probe.cache / "tmp")
    nothing_half(probe.cache)


def test_a_cached_one_is_found_without_asking_anybody(probe, index, tmp_path):
    lock = probe.lock("thing==1.0")
    prefix = probe.realise(lock)
    index.close()
    probe.settings["uv"] = "/no/such/uv"
    assert probe.realise(lock) == prefix
    assert probe.log == ""


def test_with_the_index_down_what_is_cached_can_be_built_again(probe, index, tmp_path):
    lock, other = probe.lock("thing==1.0"), probe.lock("helper==2.0")
    probe.realise(lock)
    index.close()
    shutil.rmtree(probe.cache / "realised")
    assert python(probe.realise(lock), "import thing; print(thing.version)") == "1.0"
    assert "installed from the cache" in probe.log
    probe.realise(other)
    assert packages(probe.lock("thing==1.0")) == packages(lock), "locking works from the cache, too"
    empty = Probe(tmp_path, **{**probe.settings, "cache": tmp_path / "empty"})
    with pytest.raises(ProbeError, match="cannot be reached") as failure:
        empty.realise(lock)
    assert failure.value.code == "unavailable" and failure.value.hint
    assert realised(empty.cache) == []


def test_two_at_once_build_once(probe, index):
    lock = probe.lock("thing==1.0")
    index.stall = threading.Event()
    index.requests.clear()
    both = [probe.start("realise", lock) for _ in range(2)]
    wait_for(lambda: any("/files/" in path for path in index.requests), what="a download")
    index.stall.set()
    ends = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    assert ends[0][0] == ends[1][0]
    assert sorted("Prepared" in log or "Installed" in log for _, log in ends) == [False, True]
    assert len(realised(probe.cache)) == 1


def test_other_bytes_under_the_same_name_are_refused(probe, index):
    lock = probe.lock("thing==1.0")
    wheel(index.folder, "helper", "2.0", files={"evil.py": "import os\n"})
    with pytest.raises(ProbeError) as failure:
        probe.realise(lock)
    assert "helper" in failure.value.message
    assert realised(probe.cache) == []


def test_a_damaged_environment_is_built_again_with_good_files(probe):
    lock = probe.lock("thing==1.0")
    prefix = probe.realise(lock)
    data = next(prefix.glob("lib/*/site-packages/helper_data.txt"))
    with data.open("r+") as file:  # the same bytes as in the package cache: both are damaged
        file.truncate(10)
    shutil.rmtree(next(prefix.glob("lib/*/site-packages/thing.py")).parent / "azureml")
    assert probe.realise(lock, "files") == prefix
    assert "damaged" in probe.log
    assert data.read_text() == "x" * 200_000
    assert python(prefix, "import thing, azureml.core; print(thing.version)") == "1.0"
    probe.realise(lock, "files")
    assert "damaged" not in probe.log


def test_damage_in_the_package_cache_does_not_reach_an_environment(probe):
    lock = probe.lock("thing==1.0")
    probe.realise(lock)
    shutil.rmtree(probe.cache / "realised")
    for data in probe.cache.glob("uv/archive-v0/*/helper_data.txt"):
        os.truncate(data, 5)
    prefix = probe.realise(lock)
    assert next(prefix.glob("lib/*/site-packages/helper_data.txt")).read_text() == "x" * 200_000


def test_an_environment_of_before_a_restart_of_the_machine_is_checked_at_its_first_use(probe):
    lock = probe.lock("thing==1.0")
    prefix = probe.realise(lock)
    os.truncate(next(prefix.glob("lib/*/site-packages/helper_data.txt")), 0)
    (probe.cache / "used" / prefix.name).write_text("another boot")
    probe.realise(lock)
    assert "damaged" in probe.log
    nothing_half(probe.cache)


def test_a_killed_build_leaves_nothing_half(probe, index):
    """kill -9 of the whole tree at random moments of lock and build; then it works, and what was left is gone."""
    lock = probe.lock("thing==1.0")
    began = time.monotonic()
    probe.realise(lock)
    whole = time.monotonic() - began
    seed = int(os.environ.get("LATHE_SEED", random.randrange(1 << 30)))
    dice = random.Random(seed)
    for number in range(KILLS):
        shutil.rmtree(probe.cache / ("realised" if number % 2 else ""), ignore_errors=True)
        process = probe.start("realise", lock, start_new_session=True)
        time.sleep(dice.uniform(0, whole * 1.2))  # the moment of the fault
        process.send_signal(signal.SIGKILL)
        process.communicate()
        nothing_half(probe.cache)
    prefix = probe.realise(lock)
    assert python(prefix, "import thing; print(thing.version)") == "1.0", f"seed {seed}"
    assert [name for name in os.listdir(probe.cache / "tmp") if name.startswith("realise-")] == []


def test_a_killed_one_takes_its_tools_along(probe, index):
    lock = probe.lock("thing==1.0")
    index.stall = threading.Event()
    index.requests.clear()
    process = probe.start("realise", lock)
    wait_for(lambda: any("/files/" in path for path in index.requests), what="a download")
    tools = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    assert tools
    process.kill()
    process.communicate()
    wait_for(lambda: not any(os.path.exists(f"/proc/{tool}/exe") for tool in tools), what="the end of uv")
    index.stall.set()


@pytest.fixture
def small_disk():
    disk = pathlib.Path(tempfile.mkdtemp(prefix="lathe-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=0700", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)
    disk.rmdir()


def grow(disk):
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)


@pytest.mark.root
def test_a_full_disk_is_said_and_nothing_is_left(index, tmp_path, small_disk):
    index.add("large", "1.0", files={"large.txt": "".join(random.choices("abcdef", k=4_000_000))})
    probe = Probe(tmp_path, index=index.url, cache=small_disk / "cache")
    lock = probe.lock("large==1.0")
    with pytest.raises(ProbeError) as failure:
        probe.realise(lock)
    assert failure.value.code == "no-space" and "lathe env gc" in failure.value.hint
    assert realised(probe.cache) == []
    grow(small_disk)
    probe.realise(lock)
    nothing_half(probe.cache)


@pytest.mark.root
def test_a_full_disk_while_resolving_is_no_question_of_versions(index, tmp_path, small_disk):
    # What a source package needs is known only when it is unpacked.
    index.take(sdist(index.folder, "large", files={"large.txt": "x" * 4_000_000}))
    probe = Probe(tmp_path, index=index.url, cache=small_disk / "cache")
    with pytest.raises(ProbeError) as failure:
        probe.lock("large==1.0")
    assert failure.value.code == "no-space" and "the disk of the environment cache is full" in failure.value.message
    assert str(probe.cache) in failure.value.hint and "environments: {cache: PATH}" in failure.value.hint
    grow(small_disk)
    assert packages(probe.lock("large==1.0"))


def test_unused_ones_are_removed_and_used_ones_stay(probe):
    one, other = probe.lock("thing==1.0"), probe.lock("helper==2.0")
    used, unused = probe.realise(one), probe.realise(other)
    holder = probe.start("hold", one, stdin=subprocess.PIPE)
    assert holder.stdout.readline() == "held\n"
    assert probe.run("gc", 3600) == "", "both were used a moment ago"
    assert probe.run("gc", 0).split() == [unused.name]
    assert used.exists() and not unused.exists()
    assert python(used, "import helper; print(helper.version)") == "2.0", "packages that others use stay"
    holder.stdin.close()
    holder.wait()
    assert probe.run("gc", 0).split() == [used.name]
    assert realised(probe.cache) == []
    assert list(probe.cache.glob("uv/archive-v0/*")) == [], "packages that no environment uses go, too"
    assert python(probe.realise(one), "import thing; print(thing.version)") == "1.0"


def test_byte_code_is_shared_between_environments(probe):
    one, other = probe.lock("thing==1.0"), probe.lock("helper==2.0")
    first, second = probe.realise(one), probe.realise(other)
    probe.run("compile", one)
    probe.run("compile", other)
    codes = [next(prefix.glob("lib/*/site-packages/__pycache__/helper.*.pyc")) for prefix in (first, second)]
    assert codes[0].stat().st_ino == codes[1].stat().st_ino
    where = python(second, "import helper; print(helper.__cached__, helper.version)")
    assert where == f"{codes[1]} 2.0"
    verbose = subprocess.run([second / "bin/python", "-v", "-c", "import helper"], capture_output=True, text=True).stderr
    assert f"matches {next(second.glob('lib/*/site-packages/helper.py'))}" in verbose, "the byte code is used"
    assert probe.realise(one, "files") == first, "byte code is no damage"


def test_packages_are_linked_not_copied(probe):
    prefixes = [probe.realise(probe.lock(*names)) for names in (["thing==1.0"], ["helper==2.0"])]
    files = [next(prefix.glob("lib/*/site-packages/helper_data.txt")) for prefix in prefixes]
    assert files[0].stat().st_ino == files[1].stat().st_ino


def test_real_conda_packages_come_from_a_channel_of_the_site(tmp_path):
    """rattler itself comes from the real index, once; the channel is made here."""
    conda_channel(tmp_path / "channel")
    probe = Probe(tmp_path, cache=CACHE, channels=[str(tmp_path / "channel")])
    lock = probe.lock(conda=["thing-tool=1.0"])
    text = json.loads(pathlib.Path(lock).read_text())
    assert [one["name"] for one in text["conda"]] == ["lib-thing", "thing-tool"]
    assert str(tmp_path) not in json.dumps(text)
    prefix = probe.realise(lock)
    told = subprocess.run([prefix / "bin/thing-tool"], capture_output=True, text=True, check=True).stdout
    assert told == f"in {prefix}\n", "paths inside of conda packages are those of the final folder"
    assert python(prefix, "import azureml.core; print('ok')") == "ok"
    with pytest.raises(ProbeError, match="r-nothing=9") as failure:
        probe.lock(conda=["r-nothing=9"])
    assert failure.value.code == "not-found"
    probe.settings["channels"] = []
    with pytest.raises(ProbeError, match="r-nothing=9") as failure:
        probe.lock(conda=["r-nothing=9"], channels=["http://127.0.0.1:9/nobody"])
    assert failure.value.code == "unavailable"
