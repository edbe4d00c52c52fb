# Shared by our scripts: paths, progress with elapsed time. Sourced, never run.
# shellcheck shell=bash disable=SC2034

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TOOLS=$ROOT/.lathe-tools
UV=$TOOLS/uv/bin/uv
UV_VERSION=0.13.7
TEST_PYTHON=$TOOLS/test-venv/bin/python
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
