#!/usr/bin/env python3
"""run_conformance.py KIT PYTHON DATA PORT [ARGUMENT…]: a server on a folder of its own, a config.json, and the kit on them.

Called by tests/conformance.sh. PYTHON is the interpreter of runs; the server fetches web files through the kit's proxy on PORT.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

SDK = pathlib.Path(__file__).resolve().parents[2] / "sdk" / "python"
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(SDK)]

from harness.server import Server  # noqa: E402


def main(kit, python, data, port, *arguments):
    config = {"environments": {"interpreter": python}}
    proxy = {"http_proxy": f"http://127.0.0.1:{port}", "no_proxy": "127.0.0.1,localhost"}
    with tempfile.TemporaryDirectory() as folder, Server(config=config, environment=proxy) as server:
        os.environ["LATHE_STATE"] = str(server.state)
        from azureml.core import Workspace

        Workspace.create("conformance", exist_ok=True).write_config(folder)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LATHE_")}
        command = [sys.executable, f"{kit}/run.py", "--python", python, "--config", f"{folder}/.azureml/config.json"]
        return subprocess.run([*command, "--proxy-port", port, "--data", data, *arguments], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
