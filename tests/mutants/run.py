"""run.py [NAME…]: plants each fault of mutants.py in a scratch worktree, builds what it needs, and runs the test that must catch
it. A table tells what became of each: caught, missed, lost (its function or text is gone), broken (it does not build, or its
test fails without it, too). The exit status is 0 when all were caught.

    run.py --list         what there is
    run.py --places       only looks for the places of all faults, in the files as they are; part of ctest
    run.py --again NAME…  also those that were tried before on the same commit

Results are kept in build/mutants/results.json, so that a run that was broken off goes on. The faults are planted in what is
committed. LATHE_MUTANTS_LOCK names a file to lock while compilers run."""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import subprocess
import sys

from mutants import MUTANTS

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PLACE = REPOSITORY / "build" / "mutants"
SOURCE = PLACE / "source"
BUILD = SOURCE / "build" / "release"
RESULTS = PLACE / "results.json"
TEST_SECONDS = 600


class Lost(Exception):
    """The function or the text is not there any more."""


# --- finding a function


def closing(text, start, opening="{", end="}"):
    """The position after the bracket that closes the one at `start`. Strings and characters do not count."""
    depth, at = 0, start
    while at < len(text):
        if text[at] in "\"'" and not (text[at] == "'" and text[at - 1].isalnum()):  # 1'000 is a number
            at = end_of_literal(text, at)
            continue
        depth += (text[at] == opening) - (text[at] == end)
        at += 1
        if depth == 0:
            return at
    raise Lost("a bracket is not closed")


def end_of_literal(text, at):
    if text[at] == '"' and text[at - 1] == "R":
        mark = text[at + 1 : text.index("(", at)]
        return text.index(f'){mark}"', at) + len(mark) + 2
    quote, at = text[at], at + 1
    while text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at + 1


def bodies(text, function):
    """(start, end) of the body of each definition of the function: what follows its parameters is a brace, not a semicolon."""
    name, at = function.rpartition("::")[2], 0
    words = [function + "(", name + "("] if "::" in function else [function + "("]
    found = []
    for word in words:
        at = 0
        while (at := text.find(word, at)) >= 0:
            begin, at = at, at + 1
            if begin and (text[begin - 1].isalnum() or text[begin - 1] in "_.>:~"):
                continue
            after = closing(text, begin + len(word) - 1, "(", ")")
            rest = text[after:]
            brace, stop = rest.find("{"), rest.find(";")
            if brace >= 0 and (stop < 0 or brace < stop):
                found.append((after + brace, closing(text, after + brace)))
        if found:
            return found
    return found


def plant(mutant, root):
    """The file and its new text."""
    places = []
    for file in sorted((root / mutant.folder).rglob("*.cc")) + sorted((root / mutant.folder).rglob("*.h")):
        if file.name.endswith("_test.cc"):
            continue
        text = file.read_text()
        if mutant.function.rpartition("::")[2] not in text or mutant.find not in text:
            continue
        for start, end in bodies(text, mutant.function):
            at = text.find(mutant.find, start, end)
            if at >= 0:
                places.append((file, text[:at] + mutant.replace + text[at + len(mutant.find) :]))
    if len(places) != 1:
        raise Lost(f"{mutant.function} with this text was found {len(places)} times")
    return places[0]


# --- building and testing


def call(words, log, seconds=3600, **options):
    with log.open("ab") as out:
        out.write(f"$ {' '.join(map(str, words))}\n".encode())
        out.flush()
        try:
            return subprocess.run([str(word) for word in words], stdout=out, stderr=out, timeout=seconds, **options).returncode
        except subprocess.TimeoutExpired:
            return -1


@contextlib.contextmanager
def compilers():
    file = os.environ.get("LATHE_MUTANTS_LOCK")
    if not file:
        yield
        return
    with open(file, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def commit():
    return subprocess.run(["git", "-C", REPOSITORY, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def prepare(log):
    """A clean worktree at our commit, configured."""
    if not (SOURCE / ".git").exists():
        PLACE.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "-C", REPOSITORY, "worktree", "prune"], check=True)
        subprocess.run(["git", "-C", REPOSITORY, "worktree", "add", "--quiet", "--detach", SOURCE, "HEAD"], check=True)
    subprocess.run(["git", "-C", SOURCE, "checkout", "--quiet", "--force", "--detach", commit()], check=True)
    tools = SOURCE / ".lathe-tools"
    if not tools.exists() and (REPOSITORY / ".lathe-tools").exists():
        tools.symlink_to((REPOSITORY / ".lathe-tools").resolve())
    if call(["cmake", "--preset", "release"], log, cwd=SOURCE) != 0:
        sys.exit(f"error: cmake failed; see {log}")


def target_of(mutant):
    return "lathe" if mutant.test[0].startswith("e2e/") else mutant.test[0]


def build(target, log):
    with compilers():
        return call(["nice", "cmake", "--build", BUILD, "--target", target], log) == 0


def passes(test, log):
    program, chosen = test
    if program.startswith("e2e/"):
        python = REPOSITORY / ".lathe-tools" / "test-venv" / "bin" / "python"
        words = [python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/{program}", "-k", chosen]
        environment = os.environ | {"LATHE_BIN": str(BUILD / "src/main/lathe")}
        return call(words, log, TEST_SECONDS, cwd=SOURCE, env=environment) == 0
    found = sorted(BUILD.glob(f"src/**/{program}"))
    words = [found[0], f"--gtest_filter={chosen}"]
    listed = subprocess.run([found[0], "--gtest_list_tests", f"--gtest_filter={chosen}"], capture_output=True, text=True).stdout
    if not listed.strip():
        raise Lost(f"no test of {program} is called {chosen}")
    return call(words, log, TEST_SECONDS, cwd=SOURCE) == 0


def sound(mutant, known, log):
    """Whether its test passes without it: only then does a failure tell anything."""
    key = " ".join(mutant.test)
    if key not in known:
        known[key] = build(target_of(mutant), log) and passes(mutant.test, log)
    return known[key]


def attempt(mutant, known, log):
    try:
        file, text = plant(mutant, SOURCE)
        if not sound(mutant, known, log):
            return "broken: its test fails without it"
        before = file.read_text()
        try:
            file.write_text(text)
            if not build(target_of(mutant), log):
                return "broken: it does not build"
            return "missed" if passes(mutant.test, log) else "caught"
        finally:
            file.write_text(before)
    except Lost as lost:
        return f"lost: {lost}"


# --- results


def key_of(mutant, head):
    return f"{mutant.name} {hashlib.sha256(repr(mutant).encode()).hexdigest()[:12]} {head[:12]}"


def load():
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def save(results):
    draft = RESULTS.with_suffix(".new")
    draft.write_text(json.dumps(results, indent=1))
    draft.replace(RESULTS)


def chosen_mutants(names):
    unknown = set(names) - {mutant.name for mutant in MUTANTS}
    if unknown:
        sys.exit(f"error: there is no mutant {', '.join(sorted(unknown))}\nhint: run.py --list shows them")
    return [mutant for mutant in MUTANTS if not names or mutant.name in names]


def check_places(chosen):
    """Code that moves takes its faults along: whoever changes a function sees at once that a fault has lost its place."""
    lost = 0
    for mutant in chosen:
        try:
            plant(mutant, REPOSITORY)
        except Lost as reason:
            lost += 1
            print(f"tests/mutants/mutants.py: {mutant.name}: {reason}\n  plant it where {mutant.promise} is kept now (docs/dev/promises.md)")
    print(f"{len(chosen) - lost} of {len(chosen)} mutants have their places")
    return 1 if lost else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="what there is")
    parser.add_argument("--places", action="store_true", help="only look for the places of the faults")
    parser.add_argument("--again", action="store_true", help="also what was tried before on this commit")
    options = parser.parse_args()
    chosen = chosen_mutants(options.names)
    if options.list:
        for mutant in chosen:
            print(f"{mutant.promise:4} {mutant.name:40} {mutant.function:36} {' '.join(mutant.test)}")
        return 0
    if options.places:
        return check_places(chosen)
    PLACE.mkdir(parents=True, exist_ok=True)
    log, head, results, known = PLACE / "log", commit(), load(), {}
    prepare(log)
    for mutant in chosen:
        key = key_of(mutant, head)
        if key not in results or options.again:
            results[key] = attempt(mutant, known, log)
            save(results)
        print(f"{results[key]:10} {mutant.promise:4} {mutant.name:40} {' '.join(mutant.test)}", flush=True)
    bad = [mutant.name for mutant in chosen if results[key_of(mutant, head)] != "caught"]
    print(f"{len(chosen) - len(bad)} of {len(chosen)} mutants caught" + (f"; not: {', '.join(bad)}" if bad else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
