"""Where things are: the binary under test, the contract, the support scripts."""

import atexit
import functools
import os
import pathlib
import shutil
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
SUPPORT = REPOSITORY / "tests" / "support"
CONTRACT = REPOSITORY / "api" / "openapi.yaml"
EXAMPLES = REPOSITORY / "api" / "examples"
BINARY = pathlib.Path(os.environ.get("LATHE_BIN", REPOSITORY / "build/release/src/main/lathe")).resolve()
# Every file from which this session has started Lathe.
PROGRAMS = [BINARY]
ISOLATE = SUPPORT / "isolate.sh"
HOLD_RUNNER = SUPPORT / "hold_runner.sh"
UV = REPOSITORY / ".lathe-tools" / "uv" / "bin" / "uv"
# Environments that tests build from the real index: kept between runs of the tests, as a user's are.
ENVIRONMENTS = REPOSITORY / ".lathe-tools" / "environments"


# The interpreter for scripts of runs that belong to another user, who may not be able to read that of the tests.
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable


@functools.cache
def public_binary():
    """A copy of the binary that every user may run."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lathe-public-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    shutil.copy(BINARY, folder / "lathe")
    (folder / "lathe").chmod(0o755)
    PROGRAMS.append(folder / "lathe")
    return folder / "lathe"


def uv_environment():
    """For a server that builds environments: the uv of the tests, where it is there."""
    return {"LATHE_UV": str(UV)} if UV.exists() else {}
