#!/usr/bin/env bash
# Builds Lathe and runs its tests. The last line is "N passed, M failed"; the exit status says the same.
#
# usage: ./test.sh [--all]
#   --all   adds the long campaigns: clang-tidy over every file, asan and tsan builds of the unit and simulation tests,
#           fuzzing, every curated environment with real packages, the conformance kit with the system's Python alone,
#           demo and tests on a bare Debian 12 as root and as a user, the last release, built and upgraded alive, planted faults that must be caught (tests/mutants), a soak, and
#           large counts in the fault campaigns. LATHE_KILLS, LATHE_RUNNER_KILLS, LATHE_CUTS, LATHE_KILL_POINTS,
#           LATHE_RUNNER_POINTS, LATHE_NETWORK_FAULTS, LATHE_DISK_FAULTS, LATHE_FLIPS, LATHE_REPEATS,
#           LATHE_RACE_SECONDS, LATHE_SOAK_SECONDS, LATHE_MIGRATION_POINTS, LATHE_LONG, LATHE_ENV_KILLS,
#           LATHE_ENVIRONMENTS, LATHE_FUZZ_SECONDS and LATHE_SEED change them (docs/dev/testing.md). A campaign that was
#           broken off goes on where it was (build/campaigns); one that is done is not repeated until its file there is
#           removed.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/scripts/common.sh"

ALL=
case "${1:-}" in
  '') ;;
  --all) ALL=1 ;;
  *) die "unknown option $1" "./test.sh [--all]" ;;
esac

PASSED=0
FAILED=0
REPORTS=$ROOT/build/test-reports
# Adds what the JUnit reports of a phase tell; a phase that ended badly without a report counts as one failure.
count() {
  local status=$1 numbers
  shift
  numbers=$(python3 "$ROOT/scripts/count_tests.py" "$@")
  PASSED=$((PASSED + ${numbers% *}))
  FAILED=$((FAILED + ${numbers#* }))
  if [ "$status" -ne 0 ] && [ "${numbers#* }" -eq 0 ]; then FAILED=$((FAILED + 1)); fi
}
finish() {
  phase "done"
  printf '%s passed, %s failed\n' "$PASSED" "$FAILED"
  [ "$FAILED" -eq 0 ] || exit 1
  exit 0
}

# unit PRESET: every ctest of a build: unit tests, simulation and lint; GoogleTest programs report each case.
unit() {
  local preset=$1 status=0
  rm -rf "${REPORTS:?}/$preset"
  mkdir -p "$REPORTS/$preset"
  GTEST_OUTPUT="xml:$REPORTS/$preset/" ctest --test-dir "$ROOT/build/$preset" -j "$(nproc)" --output-on-failure \
    --output-junit "$REPORTS/$preset.ctest.xml" >&2 || status=$?
  count "$status" "$REPORTS/$preset.ctest.xml" "$REPORTS/$preset"
}

build() {
  phase "building ($1)"
  configure_and_build "$@" && return 0
  FAILED=$((FAILED + 1))
  finish
}

end_to_end() {
  [ -d "$ROOT/tests/e2e" ] || return 0
  local status=0
  LATHE_BIN=${LATHE_BIN:-$ROOT/build/release/src/main/lathe} "$TEST_PYTHON" -m pytest "$ROOT/tests/e2e" -q \
    --junit-xml "$REPORTS/e2e.xml" >&2 || status=$?
  count "$status" "$REPORTS/e2e.xml"
}

# tidy_some PATTERN [OPTION…]: clang-tidy over the files whose paths fit.
tidy_some() {
  local pattern=$1 status=0
  shift
  run-clang-tidy-19 -quiet -p "$ROOT/build/release" -j "$(nproc)" "$@" "$pattern" >"$REPORTS/tidy.log" 2>&1 || status=$?
  if [ "$status" -eq 0 ]; then PASSED=$((PASSED + 1)); else
    FAILED=$((FAILED + 1))
    grep -E 'warning:|error:' "$REPORTS/tidy.log" >&2
  fi
}

# The analyzer follows every path, and in tests those of GoogleTest's macros: most of its time, and nothing of ours.
tidy() {
  tidy_some "$ROOT/src/.*(?<!_test)\.cc$"
  tidy_some "$ROOT/(tests/.*|src/.*_test)\.cc$" '-checks=-clang-analyzer-*'
}

# The SDK: against the real server, and its unit tests on every Python of the machine.
sdk() {
  local status=0
  export LATHE_BIN=${LATHE_BIN:-$ROOT/build/release/src/main/lathe}
  "$TEST_PYTHON" -m pytest "$ROOT/sdk/python/tests/server" -q --junit-xml "$REPORTS/sdk.xml" >&2 || status=$?
  count "$status" "$REPORTS/sdk.xml"
  if "$TEST_PYTHON" "$ROOT/sdk/python/tests/run_everywhere.py" >&2; then PASSED=$((PASSED + 1)); else FAILED=$((FAILED + 1)); fi
}

# conformance PYTHONS: the documents' own code, scenario by scenario, where the conformance kit lies beside the repository.
conformance() {
  local status=0
  rm -f "$REPORTS/conformance.json"
  LATHE_CONFORMANCE_PYTHONS=$1 "$ROOT/tests/conformance.sh" --tags sdk --json "$REPORTS/conformance.json" >&2 || status=$?
  count "$status" "$REPORTS/conformance.json"
}

# Both commands of the README on a system that has nothing, as root and as a user.
bare_debian() {
  local who command
  for who in root user; do
    for command in demo test; do
      if "$ROOT/tests/bare_debian.sh" "$who" "$command" >&2; then PASSED=$((PASSED + 1)); else FAILED=$((FAILED + 1)); fi
    done
  done
}

fuzz() {
  local seconds=${LATHE_FUZZ_SECONDS:-60} target status
  build fuzz fuzz_targets
  for target in "$ROOT"/build/fuzz/tests/fuzz/fuzz_*; do
    [ -x "$target" ] || continue
    status=0
    note "$(basename "$target"): $seconds s"
    mkdir -p "$ROOT/build/fuzz/corpus/$(basename "$target")"
    "$target" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$ROOT/build/fuzz/" \
      "$ROOT/build/fuzz/corpus/$(basename "$target")" "$ROOT/tests/fuzz/corpus/$(basename "$target" | sed s/^fuzz_//)" >"$REPORTS/$(basename "$target").log" 2>&1 || status=$?
    if [ "$status" -eq 0 ]; then PASSED=$((PASSED + 1)); else
      FAILED=$((FAILED + 1))
      tail -30 "$REPORTS/$(basename "$target").log" >&2
    fi
  done
}

# Each planted fault that its test catches counts as passed. The large counts are not for them.
mutants() {
  local status=0 name
  for name in $(compgen -e LATHE_); do case "$name" in LATHE_MUTANTS_LOCK) ;; *) unset "$name" ;; esac; done
  python3 "$ROOT/tests/mutants/run.py" 2>&1 | tee "$REPORTS/mutants.log" >&2 || status=$?
  PASSED=$((PASSED + $(grep -c '^caught ' "$REPORTS/mutants.log" || true)))
  FAILED=$((FAILED + $(grep -cE '^(missed|lost:|broken:)' "$REPORTS/mutants.log" || true)))
  if [ "$status" -ne 0 ] && [ "$FAILED" -eq 0 ]; then FAILED=1; fi
}

phase "looking for what is missing"
"$ROOT/scripts/bootstrap.sh" ${ALL:+--all}
mkdir -p "$REPORTS"
build release
phase "unit tests, simulation, lint"
unit release
make_tensorflow_python
fetch_mnist
phase "end-to-end tests"
if [ -n "$ALL" ]; then
  export LATHE_KILLS=${LATHE_KILLS:-10000} LATHE_RUNNER_KILLS=${LATHE_RUNNER_KILLS:-5000} LATHE_CUTS=${LATHE_CUTS:-500}
  export LATHE_ENV_KILLS=${LATHE_ENV_KILLS:-300} LATHE_ENVIRONMENTS=${LATHE_ENVIRONMENTS:-all}
  export LATHE_KILL_POINTS=${LATHE_KILL_POINTS:-all} LATHE_PROGRESS=${LATHE_PROGRESS:-$ROOT/build/campaigns}
  export LATHE_RUNNER_POINTS=${LATHE_RUNNER_POINTS:-all} LATHE_MIGRATION_POINTS=${LATHE_MIGRATION_POINTS:-all}
  export LATHE_NETWORK_FAULTS=${LATHE_NETWORK_FAULTS:-200} LATHE_DISK_FAULTS=${LATHE_DISK_FAULTS:-50}
  export LATHE_FLIPS=${LATHE_FLIPS:-2000} LATHE_REPEATS=${LATHE_REPEATS:-2000} LATHE_LONG=${LATHE_LONG:-1}
  export LATHE_RACE_SECONDS=${LATHE_RACE_SECONDS:-600} LATHE_SOAK_SECONDS=${LATHE_SOAK_SECONDS:-1800}
  "$ROOT/tests/upgrade/build_release.sh" || FAILED=$((FAILED + 1))
fi
end_to_end
phase "the Python SDK"
sdk
phase "the conformance kit, with every Python of the machine"
conformance all
if [ -n "$ALL" ]; then
  phase "the conformance kit, with the system's Python alone"
  conformance /usr/bin
  phase "clang-tidy"
  tidy
  for preset in asan tsan; do
    build "$preset"
    phase "unit tests and simulation ($preset)"
    unit "$preset"
  done
  phase "fuzzing"
  fuzz
  phase "demo and tests on a bare Debian 12"
  bare_debian
  phase "planted faults"
  mutants
fi
finish
