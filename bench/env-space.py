#!/usr/bin/env python3
"""env-space: the disk that ten environments with one TensorFlow take, against one of them; with byte code in each."""

import json
import os
import subprocess

from support.environments import build, definition, site
from support.folder import bench_folder
from support.rows import at_most, say
from support.server import running_server, wait_until

TENSORFLOW = "tensorflow-cpu==2.12.1"
# None of them is among what TensorFlow needs, and none is younger: each makes another lock of the same day.
BESIDE = ["docopt==0.6.2", "toml==0.10.2", "attrs==23.1.0", "pathspec==0.11.1", "iniconfig==2.0.0"]
BESIDE += ["click==8.1.3", "tomli==2.0.1", "pluggy==1.0.0", "colorama==0.4.6", "zipp==3.15.0"]


def used(folder):
    """Bytes on the disk; what is linked several times counts once."""
    os.sync()  # what is not written yet takes no blocks
    done = subprocess.run(["du", "--summarize", "--block-size=1", folder], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0])


def is_compiled(server):
    """The server marks what is still to be compiled."""
    return not list((server.state / "builds").glob("compile.*"))


def main():
    with bench_folder() as folder:
        cache = folder / "cache"
        sizes = []
        with running_server(site(cache)) as server:
            for count, package in enumerate(BESIDE, 1):
                (folder / "definition.json").write_text(json.dumps(definition(TENSORFLOW, package)))
                build(server, folder / "definition.json")
                wait_until(lambda: is_compiled(server), 600, "the byte code is there", pause=0.2)
                sizes.append(used(cache))
                say(f"{count}: {sizes[-1] / (1 << 20):.0f} MiB")
    ratio = sizes[-1] / sizes[0]
    at_most("env-space", f"10: {sizes[-1] / (1 << 20):.0f} MiB", f"1: {sizes[0] / (1 << 20):.0f} MiB", ratio, 1.3)


main()
