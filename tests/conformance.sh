#!/usr/bin/env bash
# Runs the conformance kit beside the repository against a server of its own, with the SDK of this tree.
#
# usage: tests/conformance.sh [ARGUMENT…]      e.g. --tags sdk, or --only 2018-single-node; all go to the kit's run.py
#   LATHE_CONFORMANCE   the kit's folder (default ../shared/conformance); without it nothing is run, and the reason is printed
#   LATHE_BIN           the server's binary (default the release build)
#   LATHE_CONFORMANCE_PORT   of the proxy that answers for the documents' data (default: a free one)
# Scenarios that wait for a later version are named in tests/conformance-later.txt: they are left out, with the reason, unless
# --only names the scenarios to run. Runs use the interpreter of scripts/common.sh (TensorFlow, scikit-learn) with this tree's SDK.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"

KIT=${LATHE_CONFORMANCE:-$ROOT/../shared/conformance}
DATA=$ROOT/build/conformance-data
LATER=$ROOT/tests/conformance-later.txt
if [ ! -f "$KIT/run.py" ]; then
  note "no conformance kit at $KIT: nothing to run (LATHE_CONFORMANCE names its folder)"
  exit 0
fi

# The server's wheel is this one too, but the kit wants it before a server is there.
install_sdk_of_this_tree() {
  "$TEST_PYTHON" "$ROOT/sdk/python/build_wheel.py" --to "$ROOT/build/sdk" >/dev/null
  "$UV" pip install --quiet --no-index --no-cache --reinstall --python "$TENSORFLOW_PYTHON" "$ROOT"/build/sdk/lathe_sdk-*.whl >&2
}

# The names of the scenarios that the arguments select and that are due, with commas between.
due() {
  "$TEST_PYTHON" "$KIT/run.py" --list "$@" | sed -n 's/^\([^ ]*\)  (doc .*/\1/p' |
    grep -vxF -f <(sed -n 's/^\([^# ][^ ]*\) .*/\1/p' "$LATER") | sort -u | paste -sd,
}

free_port() { "$TEST_PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

make_tensorflow_python
install_sdk_of_this_tree
[ -d "$DATA" ] || "$TEST_PYTHON" "$KIT/prepare_data.py" --to "$DATA" >&2 ||
  { rm -rf "$DATA"; die "the kit could not fetch its data" "its README says how to put the files into $DATA"; }
if [[ " $* " != *" --only"* ]]; then
  sed -n 's/^\([^# ][^ ]*\) *\(.*\)/   left out: \1: \2/p' "$LATER" >&2
  set -- "$@" --only "$(due "$@")"
fi
exec "$TEST_PYTHON" "$ROOT/tests/support/run_conformance.py" "$KIT" "$TENSORFLOW_PYTHON" "$DATA" \
  "${LATHE_CONFORMANCE_PORT:-$(free_port)}" "$@"
