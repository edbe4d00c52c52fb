#!/usr/bin/env python3
"""run_conformance.py KIT PYTHON DATA PORT PYTHONS [ARGUMENT…]: a server on a folder of its own, a config.json, and the kit on them.

Called by tests/conformance.sh. PYTHON has the SDK and nothing else; the server builds every environment itself, with any Python of
the machine (PYTHONS is `all`) or with those of one folder alone. It fetches web files through the kit's proxy on PORT.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

SDK = pathlib.Path(__file__).resolve().parents[2] / "sdk" / "python"
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(SDK)]

from harness import paths  # noqa: E402
from harness.server import Server  # noqa: E402


def site_rules(pythons):
    """The cache is shared with other tests and kept: what was built stays built."""
    rules = {"cache": str(paths.ENVIRONMENTS)}
    if pythons != "all":
        rules.update(pythons=[pythons], python_downloads=False)
    return {"environments": rules}


def show_replacements(server):
    """What the builds of this server replaced: exact and substituted are told apart in the output of the tests."""
    client = server.client()
    for build in client.items("/api/v1/workspaces/conformance/environment-builds"):
        print(f"environment {build['environment']}: {build['state']}, lock {str(build['lock'])[:12]}", flush=True)
        for item in build["substitutions"]:
            print(f"  {item['asked']} -> {item['given']} ({item['why']})", flush=True)


def main(kit, python, data, port, pythons, *arguments):
    environment = {"http_proxy": f"http://127.0.0.1:{port}", "no_proxy": "127.0.0.1,localhost", **paths.uv_environment()}
    with tempfile.TemporaryDirectory() as folder, Server(config=site_rules(pythons), environment=environment) as server:
        os.environ["LATHE_STATE"] = str(server.state)
        from azureml.core import Workspace

        Workspace.create("conformance", exist_ok=True).write_config(folder)
        of_kit = {name: value for name, value in os.environ.items() if not name.startswith("LATHE_")}
        command = [sys.executable, f"{kit}/run.py", "--python", python, "--config", f"{folder}/.azureml/config.json"]
        done = subprocess.run([*command, "--proxy-port", port, "--data", data, *arguments], env=of_kit)
        show_replacements(server)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
