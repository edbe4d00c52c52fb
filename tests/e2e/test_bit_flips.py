"""Damage to any file of ours, one bit, one page or an end that is cut off: the server refuses to start, tells it where it is
asked, or shows exactly what was there before. Wrong content is never shown."""

import itertools
import os
import random
import shutil
import subprocess
import uuid

import pytest

from harness import campaign
from harness.contents import Told, contents, differences
from harness.deeds import add_artifact, log_metrics, register_dataset, set_tag
from harness.load import BODY
from harness.pages import editing
from harness.server import Server, StartFailed

# Random places; all bytes of headers come on top with `./test.sh --all`, where the count is larger.
COUNT = int(os.environ.get("LATHE_FLIPS", 200))
ALL_HEADERS = COUNT >= 2000
PAGE = 4096
# Not content: made anew at each start, or a lock.
PASSING = {"lock", "server.json", "server.log", "reserve", "api.sock", "gc.lock"}


@pytest.fixture(scope="module")
def original(binary, tmp_path_factory):
    """(folder that holds a stopped server's state and keys, what it had shown)"""
    folder = tmp_path_factory.mktemp("original")
    with Server(folder / "state") as server:
        client = server.client()
        run = client.submit(BODY)
        failed = client.submit(f"{BODY}; exit 3")
        for each, status in ((run, "Completed"), (failed, "Failed")):
            client.wait(each, status)
            for deed in (set_tag, log_metrics, add_artifact):
                deed(client, each)
        register_dataset(client, run)
        model = {"id": str(uuid.uuid4()), "name": "model", "run": run, "path": "outputs/id"}
        client.post(client.path("models"), model).expect(201)
        client.put(client.path("secrets", "kept"), {"value": "a secret"}).expect(204)
        server.restart()
        shown = contents(server.client())
        server.stop()
    (folder / "state" / "reserve").unlink(missing_ok=True)
    assert not any(isinstance(content, Told) for content in shown.values()), shown
    return folder, shown


def files_of(folder):
    """Files with content that we have written, relative to the folder: database, blobs, token, keys."""
    found = (file for file in sorted(folder.rglob("*")) if file.is_file() and not file.is_symlink())
    return [file.relative_to(folder) for file in found if file.name not in PASSING and file.stat().st_size > 0]


def is_blob(file):
    return "blobs" in file.parts


def damage(folder, file, kind, at, chance):
    path = folder / file
    path.chmod(0o600)
    data = bytearray(path.read_bytes())
    if kind == "bit":
        data[at] ^= 1 << chance.randrange(8)
    elif kind == "page":
        start = at // PAGE * PAGE
        data[start : start + PAGE] = bytes(len(data[start : start + PAGE]))
    else:
        del data[at:]
    stamps = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))  # a disk that forgets does not touch the times


def copy_of(original, folder):
    subprocess.run(["cp", "-a", "--reflink=auto", f"{original}/.", folder], check=True)


def mend(original, copy, blobs=False):
    """Puts back what was damaged, and takes away what came meanwhile. Blobs are not touched by a server that only reads."""
    kept = [file for file in files_of(original) if blobs or not is_blob(file)]
    for file in files_of(copy):
        if file not in kept and (blobs or not is_blob(file)):
            (copy / file).unlink()
    for file in kept:
        (copy / file).unlink(missing_ok=True)  # a new file: whoever remembers the old one does not know it
        shutil.copy2(original / file, copy / file)


def what_happens(folder, shown, what):
    """"refused", "told" or "harmless"; fails when something else is shown than there was."""
    server = Server(folder / "state")
    try:
        try:
            server.start()
        except StartFailed as refused:
            assert refused.code not in (-6, -11, "no answer"), f"{what}: the server died: {refused}"
            return "refused"
        after = contents(server.client())
        wrong = differences(shown, after)
        assert not wrong, f"{what}: other content was shown: {str(wrong)[:1500]}"
        if not server.is_up():  # damage that it meets later may end it, with its reason
            assert server.process.returncode > 0, f"{what}: the server died: {server.said()[-1000:]}"
            return "refused"
        return "told" if any(isinstance(content, Told) for content in after.values()) else "harmless"
    finally:
        server.close()


def tally(fates):
    return ", ".join(f"{fates.count(fate)} {fate}" for fate in sorted(set(fates)))


def places(folder, count, chance):
    """(file, kind, offset) in files that are not blobs: headers first, then anywhere."""
    others = [file for file in files_of(folder) if not is_blob(file)]
    database = next(file for file in others if file.name == "lathe.db")
    size = (folder / database).stat().st_size
    headers = [(database, "bit", at) for at in range(100)]
    pages = [(database, "bit", page + at) for page in range(0, size, PAGE) for at in range(12)]
    if ALL_HEADERS:
        yield from itertools.chain(headers, pages)
    else:
        yield from chance.sample(headers, count // 4)
        yield from chance.sample(pages, min(count // 8, len(pages)))
    for number in range(count - count // 4 - count // 8):
        file = database if number % 8 else chance.choice(others)
        at = chance.randrange((folder / file).stat().st_size)
        yield file, chance.choice(["bit"] * 8 + ["page", "end"]), at


@pytest.mark.campaign
def test_damage_of_the_database_and_of_small_files_is_told_or_harmless(original, tmp_path):
    folder, shown = original
    seed = int(os.environ.get("LATHE_SEED", random.SystemRandom().randrange(2**31)))
    chance, fates, failures = random.Random(seed), [], []
    copy = tmp_path / "copy"
    copy_of(folder, copy)
    for file, kind, at in places(folder, COUNT * 3 // 5, chance):
        mend(folder, copy)
        damage(copy, file, kind, at, chance)
        try:
            fates.append(what_happens(copy, shown, f"{kind} {at} of {file}"))
        except AssertionError as wrong:
            failures.append(str(wrong))
    campaign.say(f"damage: {tally(fates)}, {len(failures)} wrong; seed {seed}")
    assert not failures, f"{len(failures)} of {len(fates) + len(failures)}, seed {seed}:\n" + "\n".join(failures[:5])


@pytest.mark.campaign
def test_damage_of_blobs_is_told(original, tmp_path):
    """Blobs know nothing of each other: one bit of each is damaged at a time, and a start sees them all."""
    folder, shown = original
    chance, done, copy = random.Random(int(os.environ.get("LATHE_SEED", 1))), 0, tmp_path / "copy"
    copy_of(folder, copy)
    blobs = [file for file in files_of(copy) if is_blob(file)]
    while done < COUNT * 2 // 5:
        mend(folder, copy, blobs=True)
        for file in blobs:
            damage(copy, file, "bit", chance.randrange((copy / file).stat().st_size), chance)
        assert what_happens(copy, shown, f"a bit of each of {len(blobs)} blobs") == "told"
        damaged = len(list((copy / "state/store/damaged").iterdir()))
        assert damaged > 0, "damaged blobs were not moved aside"
        done += len(blobs)
    campaign.say(f"damage: {done} bits of blobs, all told")


def test_the_comparison_sees_one_changed_value(original, tmp_path):
    """A row that somebody changes through SQL is whole for every checksum, and is what the comparison must find."""
    folder, shown = original
    copy_of(folder, tmp_path / "copy")
    with editing(tmp_path / "copy/state/lathe.db") as database:
        database.execute("UPDATE events SET reason = 'sub-itted' WHERE reason = 'submitted'")
    with pytest.raises(AssertionError, match="other content was shown"):
        what_happens(tmp_path / "copy", shown, "a changed row")
