#!/usr/bin/env python3
"""import-time: what `import azureml.core` costs a script beyond `import urllib.request, json`, which it must load.

Each number is of a fresh process, with compiled files at hand as an installed package has them. What the usual names of
a script cost when they are asked for stands beside.
"""

import os
import pathlib
import subprocess
import sys

from support.rows import at_most, median, milliseconds, row, say, spread

SDK = pathlib.Path(__file__).parents[1] / "sdk/python"
ROUNDS = 31
LIMIT = 0.040
SCRIPT = """
import time
begin = time.perf_counter()
import json, urllib.request
base = time.perf_counter()
import azureml.core
core = time.perf_counter()
from azureml.core import Dataset, Environment, Experiment, Run, ScriptRunConfig, Workspace
names = time.perf_counter()
print(base - begin, core - base, names - base)
"""


def measure():
    environment = os.environ | {"PYTHONPATH": str(SDK)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return [float(part) for part in done.stdout.split()]


def main():
    measure()  # compiles what was not yet
    bases, cores, names = zip(*(measure() for _ in range(ROUNDS)))
    say(f"urllib.request, json: {spread(bases)}; azureml.core: {spread(cores)}; with names: {spread(names)}")
    core, named = median(cores), median(names)
    at_most("import-time", milliseconds(core), f"limit: {milliseconds(LIMIT)}", core / LIMIT, 1)
    base = median(bases)
    texts = (milliseconds(named), f"urllib.request, json: {milliseconds(base)}")
    row("import-time with six names", *texts, named / base, "reported", True)


main()
