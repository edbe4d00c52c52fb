#!/usr/bin/env python3
"""env-cold: an environment from nothing: empty caches, packages over the network.

ours: `lathe env build`: resolved, locked by hash, realised, checked; peer: `uv venv` and `uv pip install` of the same
requirements. In turns, because the network is never the same twice.
"""

import json
import shutil
import time

from support.environments import build, definition, install, site
from support.folder import bench_folder
from support.rows import at_most, median, milliseconds, say, spread
from support.server import running_server

ROUNDS = 3
PACKAGES = ["numpy==1.26.4", "pandas==2.2.2", "scikit-learn==1.5.0", "matplotlib==3.9.0"]


def ours(folder):
    cache = folder / "cache"
    with running_server(site(cache)) as server:
        (folder / "definition.json").write_text(json.dumps(definition(*PACKAGES)))
        begin = time.perf_counter()
        build(server, folder / "definition.json")
        took = time.perf_counter() - begin
    shutil.rmtree(cache)
    return took


def plain(folder):
    begin = time.perf_counter()
    install(folder / "uv", folder / "venv", PACKAGES)
    took = time.perf_counter() - begin
    shutil.rmtree(folder / "uv")
    shutil.rmtree(folder / "venv")
    return took


def main():
    lathe, uv = [], []
    with bench_folder() as folder:
        plain(folder)  # the index and its mirrors have seen these files once
        for _ in range(ROUNDS):
            lathe.append(ours(folder))
            uv.append(plain(folder))
    say(f"lathe env build: {spread(lathe)}")
    say(f"uv pip install: {spread(uv)}")
    ratio = median(lathe) / median(uv)
    at_most("env-cold", milliseconds(median(lathe)), f"uv pip install: {milliseconds(median(uv))}", ratio, 1.15)


main()
