#!/usr/bin/env python3
"""Prints bench rows as a table: name | ours | peer or limit | ratio | goal | met.

Input: JSON objects {name, ours, peer, ratio, goal, met}, one a line. The exit status is 1 when a goal was not met.
"""
import argparse
import json
import pathlib
import sys

FIELDS = ["name", "ours", "peer", "ratio", "goal", "met"]
TITLES = ["name", "ours", "peer or limit", "ratio", "goal", "met"]


def read_rows(text):
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        row = json.loads(line)
        absent = [field for field in FIELDS if field not in row]
        if absent:
            raise SystemExit(f"error: row {number} lacks {', '.join(absent)}\nhint: a bench prints {{{', '.join(FIELDS)}}}")
        rows.append(row)
    return rows


def cell(value):
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.3g}"
    return "–" if value is None else str(value)


def table(rows):
    lines = [TITLES] + [[cell(row[field]) for field in FIELDS] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(FIELDS))]
    return "\n".join(" | ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    rows = read_rows(arguments.rows.read_text())
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")
    print(table(rows))
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
