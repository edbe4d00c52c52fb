#!/usr/bin/env bash
# Fuzzes every target in turn and adds up the CPU time, so that a long campaign can be collected over many calls and broken
# off at any time. The target with the least time so far is next. The first failure ends it: the input that shows it is kept.
#
# usage: scripts/fuzz.sh [--hours N] [--for SECONDS] [TARGET…]
#   --hours N       until all targets together have had N hours of CPU (default 24)
#   --for SECONDS   or until so much time has passed now (default: no limit)
#   TARGET          only these, e.g. request spool
#   LATHE_PROGRESS  where the count is kept (default build/campaigns); the file is fuzz-seconds, a line for each target
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

HOURS=24 LIMIT=0 SLICE=60
TARGETS=()
while [ $# -gt 0 ]; do
  case "$1" in
    --hours) HOURS=${2:?--hours wants a number} && shift ;;
    --for) LIMIT=${2:?--for wants a number of seconds} && shift ;;
    -*) die "unknown option $1" "scripts/fuzz.sh [--hours N] [--for SECONDS] [TARGET…]" ;;
    *) TARGETS+=("$1") ;;
  esac
  shift
done

PROGRESS=${LATHE_PROGRESS:-$ROOT/build/campaigns}
COUNT=$PROGRESS/fuzz-seconds
BUILD=$ROOT/build/fuzz
FOUND=$BUILD/artifacts

seconds_of() { awk -v name="$1" '$1 == name {sum = $2} END {print sum + 0}' "$COUNT"; }
total() { awk '{sum += $2} END {print sum + 0}' "$COUNT"; }

# add TARGET SECONDS: written whole under another name, so that a kill costs one slice at most.
add() {
  awk -v name="$1" -v more="$2" '$1 == name {$2 += more; done = 1} {print} END {if (!done) print name, more}' "$COUNT" >"$COUNT.new"
  mv "$COUNT.new" "$COUNT"
}

next_target() {
  local name
  for name in "${TARGETS[@]}"; do printf '%s %s\n' "$(seconds_of "$name")" "$name"; done | sort -n | awk 'NR == 1 {print $2}'
}

# fuzz_once TARGET: one slice; prints the seconds of CPU that it took.
fuzz_once() {
  local name=$1 status=0
  mkdir -p "$BUILD/corpus/fuzz_$name" "$FOUND"
  TIMEFORMAT='%U %S'
  { time "$BUILD/tests/fuzz/fuzz_$name" -max_total_time="$SLICE" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$FOUND/$name-" \
    "$BUILD/corpus/fuzz_$name" "$ROOT/tests/fuzz/corpus/$name" >"$BUILD/$name.log" 2>&1; } 2>"$BUILD/$name.time" || status=$?
  if [ "$status" -ne 0 ]; then
    tail -30 "$BUILD/$name.log" >&2
    die "the target $name failed" "again: $BUILD/tests/fuzz/fuzz_$name $FOUND/$name-…"
  fi
  awk 'NF == 2 {print int($1 + $2)}' "$BUILD/$name.time"
}

mkdir -p "$PROGRESS" "$ROOT/build"
touch "$COUNT"
phase "building the targets"
configure_and_build fuzz fuzz_targets
if [ "${#TARGETS[@]}" -eq 0 ]; then
  for program in "$BUILD"/tests/fuzz/fuzz_*; do
    [ ! -x "$program" ] || [ -d "$program" ] || TARGETS+=("$(basename "$program" | sed 's/^fuzz_//')")
  done
fi
BEGAN=$SECONDS
while [ "$(total)" -lt "$((HOURS * 3600))" ]; do
  if [ "$LIMIT" -gt 0 ] && [ $((SECONDS - BEGAN)) -ge "$LIMIT" ]; then break; fi
  name=$(next_target)
  phase "$name, $(seconds_of "$name") s so far; all together $(($(total) / 3600)) of $HOURS h"
  took=$(fuzz_once "$name")
  add "$name" "$took"
done
phase "all together $(total) s of CPU, no failure; $COUNT has each target"
