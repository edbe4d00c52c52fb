#!/usr/bin/env python3
"""env-warm: from the command to the first line of a Python in an environment that is there already.

ours: `lathe run submit --environment NAME --follow`, the run with its own id, log and state on disk; peers: `uv run` with
everything in its cache, and the Python of a plain venv; limit: the bare interpreter. What we add to the limit is compared.
"""

import json
import os

from support.environments import PYTHON, build, definition, find_uv, install, site
from support.first_line import first_line
from support.folder import bench_folder
from support.rows import median, milliseconds, row, say, spread
from support.server import running_server

ROUNDS, WARM_UP = 25, 3
PACKAGES = ["six==1.16.0", "toml==0.10.2"]
CODE = "import six, toml; print(1)"
GOAL = 0.050


def main():
    taken = {"bare": [], "venv": [], "uv run": [], "lathe": []}
    with bench_folder() as folder, running_server(site(folder / "cache")) as server:
        server.add_compute("local", 1)
        (folder / "definition.json").write_text(json.dumps(definition(*PACKAGES)))
        api = server.api()
        api.call("PUT", "/api/v1/workspaces/default/environments/warm", {"definition": definition(*PACKAGES)})
        api.close()
        build(server, folder / "definition.json")
        install(folder / "uv", folder / "venv", PACKAGES)
        peers = os.environ | {"UV_CACHE_DIR": str(folder / "uv")}
        withs = [word for package in PACKAGES for word in ("--with", package)]
        uv_run = [find_uv(), "run", "--quiet", "--no-project", "--python", PYTHON]
        submit = ["run", "submit", "--follow", "--environment", "warm"]
        commands = {
            "bare": ([PYTHON, "-c", "print(1)"], None),
            "venv": ([f"{folder}/venv/bin/python", "-c", CODE], None),
            "uv run": ([*uv_run, *withs, "python", "-c", CODE], peers),
            "lathe": (server.command(*submit, "--command", "--", "python", "-c", CODE), None),
        }
        for _ in range(WARM_UP + ROUNDS):  # in turns, so that all see the same machine
            for name, (command, environment) in commands.items():
                taken[name].append(first_line(command, environment))
    taken = {name: values[WARM_UP:] for name, values in taken.items()}
    for name, values in taken.items():
        say(f"{name}: {spread(values)}")
    limit = median(taken["bare"])
    over = {name: median(values) - limit for name, values in taken.items()}
    peer = f"uv run: + {milliseconds(over['uv run'])}, venv: + {milliseconds(over['venv'])}"
    ours = f"{milliseconds(limit)} + {milliseconds(over['lathe'])}"
    row("env-warm", ours, peer, over["lathe"] / GOAL, "≤ 1 × 50 ms beyond bare Python", over["lathe"] <= GOAL)


main()
