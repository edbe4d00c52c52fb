"""Where things are: the binary under test, the contract, the support scripts."""

import os
import pathlib

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
SUPPORT = REPOSITORY / "tests" / "support"
CONTRACT = REPOSITORY / "api" / "openapi.yaml"
EXAMPLES = REPOSITORY / "api" / "examples"
BINARY = pathlib.Path(os.environ.get("LATHE_BIN", REPOSITORY / "build/release/src/main/lathe")).resolve()
ISOLATE = SUPPORT / "isolate.sh"
HOLD_RUNNER = SUPPORT / "hold_runner.sh"
UV = REPOSITORY / ".lathe-tools" / "uv" / "bin" / "uv"
# Environments that tests build from the real index: kept between runs of the tests, as a user's are.
ENVIRONMENTS = REPOSITORY / ".lathe-tools" / "environments"


def uv_environment():
    """For a server that builds environments: the uv of the tests, where it is there."""
    return {"LATHE_UV": str(UV)} if UV.exists() else {}
