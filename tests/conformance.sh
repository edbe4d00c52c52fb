#!/usr/bin/env bash
# Runs the conformance kit beside the repository against a server of its own, with the SDK of this tree.
#
# usage: tests/conformance.sh [ARGUMENT…]      e.g. --tags sdk, or --only 2018-single-node; all go to the kit's run.py
#   LATHE_CONFORMANCE   the kit's folder (default ../shared/conformance); without it nothing is run, and the reason is printed
#   LATHE_BIN           the server's binary (default the release build)
# Runs use an interpreter of the kit's own, made once: .lathe-tools/conformance-venv (TensorFlow, scikit-learn, the SDK).
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"

KIT=${LATHE_CONFORMANCE:-$ROOT/../shared/conformance}
VENV=$TOOLS/conformance-venv
DATA=$ROOT/build/conformance-data
PORT=${LATHE_CONFORMANCE_PORT:-8899}

if [ ! -f "$KIT/run.py" ]; then
  note "no conformance kit at $KIT: nothing to run (LATHE_CONFORMANCE names its folder)"
  exit 0
fi

make_interpreter() {
  local wanted
  wanted="$(cat "$ROOT/examples/mnist/requirements.txt") scikit-learn"
  if [ "$(cat "$VENV/wanted" 2>/dev/null)" != "$wanted" ]; then
    phase "making the interpreter of runs (once; about 1 GB)"
    "$UV" venv --quiet --clear --python /usr/bin/python3 "$VENV" >&2
    "$UV" pip install --quiet --python "$VENV/bin/python" -r "$ROOT/examples/mnist/requirements.txt" scikit-learn >&2 ||
      die "TensorFlow could not be installed" "check the network; a mirror is named by UV_DEFAULT_INDEX"
    printf '%s' "$wanted" >"$VENV/wanted"
  fi
  "$TEST_PYTHON" "$ROOT/sdk/python/build_wheel.py" --to "$ROOT/build/sdk" >/dev/null
  "$UV" pip install --quiet --no-index --reinstall --python "$VENV/bin/python" "$ROOT"/build/sdk/lathe_sdk-*.whl >&2
}

make_interpreter
[ -d "$DATA" ] || "$TEST_PYTHON" "$KIT/prepare_data.py" --to "$DATA" >&2 ||
  { rm -rf "$DATA"; die "the kit could not fetch its data" "its README says how to put the files into $DATA"; }
exec "$TEST_PYTHON" "$ROOT/tests/support/run_conformance.py" "$KIT" "$VENV/bin/python" "$DATA" "$PORT" "$@"
