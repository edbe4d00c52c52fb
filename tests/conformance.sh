#!/usr/bin/env bash
# Runs the conformance kit beside the repository against a server of its own, with the SDK of this tree. The server builds every
# environment that the documents ask for.
#
# usage: tests/conformance.sh [ARGUMENT…]      e.g. --tags sdk, or --only 2018-single-node; all go to the kit's run.py
#   LATHE_CONFORMANCE   the kit's folder (default ../shared/conformance); without it nothing is run, and the reason is printed
#   LATHE_CONFORMANCE_PYTHONS   `all` (default): any Python of the machine; a folder, e.g. /usr/bin: those in it alone, so that old
#                       versions are replaced as they are on a machine that has no other
#   LATHE_BIN           the server's binary (default the release build)
#   LATHE_CONFORMANCE_PORT   of the proxy that answers for the documents' data (default: a free one)
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"

KIT=${LATHE_CONFORMANCE:-$ROOT/../shared/conformance}
DATA=$ROOT/build/conformance-data
PYTHON=$ROOT/build/conformance-venv/bin/python
if [ ! -f "$KIT/run.py" ]; then
  note "no conformance kit at $KIT: nothing to run (LATHE_CONFORMANCE names its folder)"
  exit 0
fi

# The reader's own Python: the SDK of this tree, and nothing else.
make_readers_python() {
  "$TEST_PYTHON" "$ROOT/sdk/python/build_wheel.py" --to "$ROOT/build/sdk" >/dev/null
  "$UV" venv --quiet --clear --python /usr/bin/python3 "$ROOT/build/conformance-venv" >&2
  "$UV" pip install --quiet --no-index --no-cache --reinstall --python "$PYTHON" "$ROOT"/build/sdk/lathe_sdk-*.whl >&2
}

free_port() { "$TEST_PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Ours, so that the kit need not fetch it again by a way that this machine may not have.
fetch_mnist
[ -d "$DATA" ] || "$TEST_PYTHON" "$KIT/prepare_data.py" --from "$MNIST" --to "$DATA" >&2 ||
  { rm -rf "$DATA"; die "the kit could not make its data of $MNIST" "remove $MNIST.done to fetch MNIST again"; }
make_readers_python
exec "$TEST_PYTHON" "$ROOT/tests/support/run_conformance.py" "$KIT" "$PYTHON" "$DATA" \
  "${LATHE_CONFORMANCE_PORT:-$(free_port)}" "${LATHE_CONFORMANCE_PYTHONS:-all}" "$@"
