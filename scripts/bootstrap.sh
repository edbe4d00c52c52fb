#!/usr/bin/env bash
# Installs what a build and the tests need and is missing: Debian packages (as root), uv and the test tools from PyPI
# (into .lathe-tools). Does nothing, quickly, when everything is there.
#
# usage: scripts/bootstrap.sh [--no-tests | --all]
#   --no-tests   what a build needs
#   --all        and what ./test.sh --all needs
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

WITH_TESTS=1
PACKAGES=("$ROOT/scripts/packages.txt")
case "${1:-}" in
  --no-tests) WITH_TESTS= ;;
  --all) PACKAGES+=("$ROOT/scripts/packages-all.txt") ;;
esac

missing_packages() {
  local wanted installed
  wanted=$(sed 's/#.*//' "${PACKAGES[@]}" | tr -s ' \n' '\n' | sed '/^$/d')
  # One call for all; unknown names are reported on stderr and are missing too.
  # shellcheck disable=SC2086
  installed=$(dpkg-query -W -f='${Package} ${Status}\n' $wanted 2>/dev/null | awk '/ok installed$/ {print $1}' || true)
  comm -23 <(sort <<<"$wanted") <(sort <<<"$installed")
}

install_packages() {
  local missing
  command -v dpkg-query >/dev/null || die "this is not a Debian system" "install what ${PACKAGES[*]} lists by hand, then build with: cmake --preset release"
  missing=$(missing_packages | tr '\n' ' ')
  [ -n "${missing// /}" ] || return 0
  phase "installing Debian packages: $missing"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || die "these Debian packages are missing, and installing them needs root: $missing" "sudo apt-get install $missing"
    as_root=(sudo)
  fi
  # shellcheck disable=SC2086
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >&2 ||
    { "${as_root[@]}" apt-get update >&2 && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >&2; } ||
    die "apt-get could not install: $missing" "check the network and /etc/apt/sources.list, or install them by hand"
}

# The system's Python, not one of a version manager: its venv module is the Debian package above.
system_python() { if [ -x /usr/bin/python3 ]; then echo /usr/bin/python3; else command -v python3; fi; }

install_uv() {
  [ -x "$UV" ] && [ -e "$TOOLS/uv/$UV_VERSION.done" ] && return 0
  phase "installing uv $UV_VERSION from PyPI"
  rm -rf "$TOOLS/uv"
  mkdir -p "$TOOLS"
  "$(system_python)" -m venv "$TOOLS/uv" >&2 || die "python3 -m venv failed" "apt-get install python3-venv"
  "$TOOLS/uv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION" >&2 ||
    die "uv could not be installed from PyPI" "check the network; a mirror is named by PIP_INDEX_URL"
  touch "$TOOLS/uv/$UV_VERSION.done"
}

install_test_tools() {
  local wanted=$ROOT/scripts/requirements-test.txt mark=$TOOLS/test-venv/requirements.txt
  cmp -s "$wanted" "$mark" && return 0
  phase "installing the test tools from PyPI"
  "$UV" venv --quiet --clear --python "$(system_python)" "$TOOLS/test-venv" >&2
  "$UV" pip install --quiet --python "$TEST_PYTHON" -r "$wanted" >&2 ||
    die "the test tools could not be installed from PyPI" "check the network; a mirror is named by UV_DEFAULT_INDEX"
  cp "$wanted" "$mark"
}

mkdir -p "$ROOT/build"
install_packages
install_uv
[ -z "$WITH_TESTS" ] || install_test_tools
