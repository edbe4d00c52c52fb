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
