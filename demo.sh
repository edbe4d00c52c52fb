#!/usr/bin/env bash
# Shows Lathe at work: builds it, starts a server of its own, and runs a Python script with azureml imports on it
# (examples/azureml/demo.py): data, compute target, training on MNIST with TensorFlow, metrics, a registered model, predictions.
# Can be run again and again; everything it makes lies in .lathe-demo and .lathe-tools.
#
# usage: ./demo.sh [--epochs N]
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/scripts/common.sh"

EPOCHS=3
case "${1:-}" in
  '') ;;
  --epochs) EPOCHS=${2:?--epochs wants a number} ;;
  *) die "unknown option $1" "./demo.sh [--epochs N]" ;;
esac

DEMO=$ROOT/.lathe-demo
LATHE=$ROOT/build/release/src/main/lathe
export LATHE_STATE=$DEMO/state
unset LATHE_SERVER LATHE_TOKEN_FILE

# Started anew each time: the binary and the configuration may be others than those of the last time. Runs go on meanwhile.
start_server() {
  mkdir -p "$LATHE_STATE"
  chmod 700 "$LATHE_STATE"
  printf 'environments: {interpreter: "%s"}\n' "$TENSORFLOW_PYTHON" >"$LATHE_STATE/config.yaml"
  "$LATHE" down >/dev/null 2>&1 || true
  "$LATHE" up
}

"$ROOT/scripts/bootstrap.sh" --no-tests
phase "building (release)"
configure_and_build release lathe
make_tensorflow_python
fetch_mnist

phase "starting the server"
start_server
cd "$DEMO"
"$LATHE" workspace init demo >/dev/null
URL=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["url"])' "$LATHE_STATE/server.json")

phase "installing its SDK from $URL/sdk/simple/"
install_sdk "$URL" "$TENSORFLOW_PYTHON"

phase "python examples/azureml/demo.py"
"$TENSORFLOW_PYTHON" "$ROOT/examples/azureml/demo.py" --data "$MNIST" --epochs "$EPOCHS" ||
  die "the script did not come to its end" "what it printed says why; the server's log: $LATHE_STATE/server.log"
phase "done"

cat <<END

Go on:

  cd $DEMO                   a folder with .azureml/config.json: it knows its workspace and server
  $TENSORFLOW_PYTHON         a Python with the SDK: from azureml.core import Workspace
  $LATHE run list
  $LATHE model lineage mnist     which run, code and data it comes from
  $LATHE down                    stops the server; runs go on without it

The demo's runs use one interpreter that its site names; without that rule Lathe builds the environments of runs
(docs/user/environments.md). Not in this version: deploying the model as a service, the studio in the browser. To remove everything that the demo made:

  $LATHE down; rm -rf $DEMO $TOOLS/tensorflow-venv $MNIST*
END
