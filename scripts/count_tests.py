#!/usr/bin/env python3
"""Counts the tests that passed and failed in JUnit reports and in those of the conformance kit (JSON): prints "PASSED FAILED".

A GoogleTest program writes one report of its own; its entry in ctest's report is then not counted a second time, unless
it failed without a failing case (a crash). Arguments are files and folders; absent ones are empty.
"""
import json
import pathlib
import sys
import xml.etree.ElementTree as tree


def cases(file):
    """(program, passed) of each case that ran."""
    if file.suffix == ".json":
        yield from ((scenario["name"], scenario["passed"]) for scenario in json.loads(file.read_text())["scenarios"])
        return
    for case in tree.parse(file).getroot().iter("testcase"):
        if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            continue
        bad = case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail"
        yield case.get("name", ""), not bad


def count(arguments):
    passed = failed = 0
    programs = {}  # GoogleTest program → whether one of its cases failed
    files = []
    for argument in map(pathlib.Path, arguments):
        if argument.is_dir():
            for file in sorted(argument.glob("*.xml")):
                try:
                    results = [good for _, good in cases(file)]
                except tree.ParseError:  # cut short by a crash; ctest tells
                    continue
                programs[file.stem] = not all(results)
                passed += sum(results)
                failed += len(results) - sum(results)
        elif argument.exists():
            files.append(argument)
    for file in files:
        for name, good in cases(file):
            program = name if name in programs else f"{name}_test"
            if program in programs and (good or programs[program]):
                continue
            passed += good
            failed += not good
    return passed, failed


if __name__ == "__main__":
    print(*count(sys.argv[1:]))
