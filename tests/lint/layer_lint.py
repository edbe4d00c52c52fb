#!/usr/bin/env python3
"""Fails when the source breaks a rule of docs/dev/layers.md. Each message says the rule, the reason and the fix."""
import argparse
import pathlib
import re
import subprocess
import sys

MAX_LINES = 800
SOURCE = {".cc", ".h", ".c", ".py", ".sh", ".sql", ".cmake", ".md", ".txt", ".yaml", ".service", ".ts", ".tsx"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
HEAVY = re.compile(r"^boost/(asio|beast)")
# A path below somebody's home, a mount or a build folder. Examples in documents use names that exist nowhere.
MACHINE_PATH = re.compile(r"(?<![\w$}/.~-])/(?:root|home/[a-z]\w*|work|Users/\w+|mnt/\w+)/[\w.-]+")
LENIENT = {"tests/lint/layer_lint.py", "tests/lint/layer_lint_test.py"}


def read_layers(document):
    """The table of docs/dev/layers.md: folder → the folders that it may include."""
    rows = {}
    for line in document.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and re.fullmatch(r"[a-z]+", cells[0]) and cells[0] != "folder":
            rows[cells[0]] = set(cells[1].split())
    return rows


def read_root_names(document):
    """The names in backticks of the section "The root" of docs/dev/layers.md."""
    section = document.partition("\n## The root\n")[2].partition("\n## ")[0]
    return set(re.findall(r"`([^`]+)`", section))


def check_root(paths, allowed):
    for name in sorted({path.parts[0] for path in paths} - allowed):
        yield (f"{name}: is not among the names of the repository's root in docs/dev/layers.md. "
               "The root is the first thing a reader sees, and debugging output gets committed there by accident. "
               "Remove it, put it into a folder, or add it to that list and say what it is.")


def check_table(layers):
    order = list(layers)
    for folder, allowed in layers.items():
        for other in sorted(allowed):
            if other not in layers:
                yield (f"docs/dev/layers.md: '{folder}' may include '{other}', which has no row. "
                       "Every folder needs its own row, else nothing limits it. Add one, or correct the name.")
            elif order.index(other) >= order.index(folder):
                yield (f"docs/dev/layers.md: '{folder}' stands above '{other}' but may include it. "
                       "Rows go from the bottom of the architecture to its top, so that there are no cycles. Move the row.")


def check_includes(path, text, layers, ours):
    """`path` and the headers in `ours` are relative to src/."""
    folder = path.parts[0]
    if folder not in layers:
        yield (f"src/{path}: the folder '{folder}' is not in docs/dev/layers.md. "
               "Every folder needs a place in the order. Add a row that says what it may include.")
        return
    for bracket, target in INCLUDE.findall(text):
        other = target.split("/")[0]
        if HEAVY.match(target) and folder not in ("rt", "net"):
            yield (f"src/{path}: includes <{target}>. Only rt/ and net/ may: it costs many seconds in every file. "
                   "Use the interfaces of rt/ and net/.")
        elif bracket == "<" and target in ours:
            yield (f"src/{path}: includes <{target}>, a header of ours. "
                   "Angle brackets are for headers of others: what looks foreign is not held against the layers. "
                   f'Write #include "{target}".')
        elif bracket == '"' and other in layers and other != folder and other not in layers[folder]:
            yield (f"src/{path}: includes \"{target}\", but {folder}/ may not use {other}/. "
                   "The order keeps each folder testable without the ones above it. "
                   f"Move the code down, pass it in from above, or allow it in docs/dev/layers.md and say why.")


def check_length(path, text):
    lines = text.count("\n") + 1
    if lines > MAX_LINES:
        yield (f"{path}: {lines} lines, more than {MAX_LINES}. A file this long holds more than one noun. "
               "Split it where the second one begins.")


def check_machine_paths(path, text):
    if str(path) in LENIENT:
        return
    for number, line in enumerate(text.splitlines(), 1):
        found = MACHINE_PATH.search(line)
        if found:
            yield (f"{path}:{number}: names '{found.group()}'. A path of one machine breaks on every other. "
                   "Derive it from the repository, the environment or an option.")


def tracked_files(root):
    try:
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], check=True,
                                capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):  # a release archive without git
        listed = [str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()]
    parts = ("build", ".git", ".lathe-tools")
    return [pathlib.Path(name) for name in listed if not name.startswith(parts) and (root / name).is_file()]


def check_tree(root):
    document = (root / "docs/dev/layers.md").read_text()
    layers = read_layers(document)
    if not layers:
        yield "docs/dev/layers.md: no table was found. The lint takes its rules from it. Restore the table."
        return
    yield from check_table(layers)
    paths = tracked_files(root)
    yield from check_root(paths, read_root_names(document))
    ours = {str(path.relative_to("src")) for path in paths if path.parts[0] == "src"}
    for path in paths:
        if path.suffix not in SOURCE and path.name != "CMakeLists.txt":
            continue
        text = (root / path).read_text(errors="replace")
        if path.parts[0] == "src" and path.suffix in (".cc", ".h"):
            yield from check_includes(path.relative_to("src"), text, layers, ours)
        if path.suffix not in (".md", ".yaml"):
            yield from check_length(path, text)
        yield from check_machine_paths(path, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path, nargs="?", default=pathlib.Path(__file__).resolve().parents[2])
    complaints = list(check_tree(parser.parse_args().root))
    for complaint in complaints:
        print(complaint)
    print(f"layer lint: {len(complaints)} complaint(s)")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
