#!/usr/bin/env bash
# Runs side-by-side benchmarks and prints: name | ours | peer or limit | ratio | goal | met.
#
# usage: ./bench.sh [NAME…] [--json FILE]
#   NAME is a file bench/NAME.py or bench/NAME.sh; without names all are run. Each installs its own peers.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/scripts/common.sh"

JSON=
NAMES=()
while [ $# -gt 0 ]; do
  case $1 in
    --json) [ $# -ge 2 ] || die "--json wants a file" "./bench.sh --json results.json"; JSON=$2; shift ;;
    -*) die "unknown option $1" "./bench.sh [NAME…] [--json FILE]" ;;
    *) NAMES+=("$1") ;;
  esac
  shift
done

if [ ${#NAMES[@]} -eq 0 ]; then
  for file in "$ROOT"/bench/*.py "$ROOT"/bench/*.sh; do
    if [ -x "$file" ]; then NAMES+=("$(basename "${file%.*}")"); fi
  done
fi
[ ${#NAMES[@]} -gt 0 ] || die "there are no benchmarks in bench/"

phase "looking for what is missing"
"$ROOT/scripts/bootstrap.sh"
phase "building (release)"
configure_and_build release lathe

ROWS=$(mktemp)
trap 'rm -f "$ROWS"' EXIT
export LATHE_BIN=${LATHE_BIN:-$ROOT/build/release/src/main/lathe}
STATUS=0
for name in "${NAMES[@]}"; do
  phase "bench $name"
  if [ -x "$ROOT/bench/$name.py" ]; then command=("$TEST_PYTHON" "$ROOT/bench/$name.py")
  elif [ -x "$ROOT/bench/$name.sh" ]; then command=("$ROOT/bench/$name.sh")
  else die "there is no benchmark '$name'" "bench/ holds: $(cd "$ROOT/bench" && echo *.py *.sh)"; fi
  # Rows come on stdout, one JSON object a line; everything else a bench says goes to stderr.
  "${command[@]}" >>"$ROWS" || { note "bench $name failed"; STATUS=1; }
done
python3 "$ROOT/scripts/bench_table.py" "$ROWS" ${JSON:+--json "$JSON"} || STATUS=1
exit "$STATUS"
