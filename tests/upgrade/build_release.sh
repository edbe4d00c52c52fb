#!/usr/bin/env bash
# build_release.sh [VERSION]: builds a release, by default the last one, from its commit in tests/upgrade/releases. The binary is
# build/releases/VERSION/lathe, made once; its sources are a worktree beside it, removed afterwards.
set -euo pipefail
# shellcheck source=../../scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"

found=$(grep -v '^#' "$ROOT/tests/upgrade/releases" | { [ $# -eq 0 ] && tail -1 || grep "^$1 "; }) ||
  die "no release ${1:-} in tests/upgrade/releases" "one line per release: VERSION COMMIT"
read -r version commit <<<"$found"
folder=$ROOT/build/releases/$version
[ -x "$folder/lathe" ] && exit 0
git -C "$ROOT" cat-file -e "$commit^{commit}" 2>/dev/null ||
  die "the commit $commit of release $version is not in this clone" "git fetch --unshallow"
phase "building release $version"
mkdir -p "$folder"
git -C "$ROOT" worktree remove --force "$folder/source" 2>/dev/null || rm -rf "$folder/source"
git -C "$ROOT" worktree add --quiet --detach "$folder/source" "$commit"
trap 'git -C "$ROOT" worktree remove --force "$folder/source"' EXIT
(cd "$folder/source" && cmake --preset release >"$folder/configure.log" 2>&1) ||
  { tail -20 "$folder/configure.log" >&2; die "cmake could not configure release $version" "the lines above say why"; }
cmake --build "$folder/source/build/release" -j "$(jobs_that_fit)" --target lathe >&2
cp "$folder/source/build/release/src/main/lathe" "$folder/lathe.new"
mv "$folder/lathe.new" "$folder/lathe"
