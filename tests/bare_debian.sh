#!/usr/bin/env bash
# Runs ./demo.sh or ./test.sh of a fresh clone on a Debian 12 that has nothing (debootstrap --variant=minbase), so that a
# step which is missing in our own installing shows. The system has its own mounts and processes, and goes when it is done;
# apt, pip, uv and the certificates are those of this machine. Needs root, about 10 GB in build/, and the network.
#
# usage: tests/bare_debian.sh root|user demo|test
#   root   the command runs as root
#   user   as an ordinary user who may use sudo, as on a laptop
# Its output is in build/bare-debian/WHO-COMMAND.log; the last lines of one that failed are shown.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"

SUITE=bookworm
WORK=$ROOT/build/bare-debian
USER_NAME=someone

# "URI SUITE COMPONENT" of every Debian archive that this machine's apt uses.
archives() {
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v suite="$SUITE" '$2 ~ "^" suite {print $1, $2, $3}' | sort -u
}

# The empty system, made once: only what debootstrap calls essential, and the ways of this machine to the network.
make_base() {
  local base=$WORK/base uri
  [ ! -e "$base.done" ] || return 0
  phase "making a bare Debian 12 (once)"
  rm -rf --one-file-system "$base"
  mkdir -p "$base"
  uri=$(archives | awk -v suite="$SUITE" '$2 == suite && $3 == "main" {print $1; exit}')
  debootstrap --variant=minbase "$SUITE" "$base" ${uri:+"$uri"} >"$WORK/debootstrap.log" 2>&1 ||
    { tail -20 "$WORK/debootstrap.log" >&2; die "debootstrap failed" "the lines above say why; the whole log is $WORK/debootstrap.log"; }
  [ -z "$uri" ] || archives | sed 's/^/deb /' >"$base/etc/apt/sources.list"
  apt-config dump | grep -E '^Acquire::https?::Proxy' >"$base/etc/apt/apt.conf.d/90-this-machine" || true
  local file
  for file in /etc/resolv.conf /etc/pip.conf /usr/local/share/ca-certificates; do
    [ ! -e "$file" ] || cp -rL "$file" "$base$(dirname "$file")/"
  done
  touch "$base.done"
}

# make_system FOLDER WHO: a copy of it with a clone of this repository and, for a user, with that user and sudo.
make_system() {
  local system=$1 home=$1/root
  rm -rf --one-file-system "$system"
  cp -a --reflink=auto "$WORK/base" "$system"
  if [ "$2" = user ]; then
    home=$system/home/$USER_NAME
    chroot "$system" sh -c "apt-get update && apt-get install -y --no-install-recommends sudo" >"$WORK/sudo.log" 2>&1 ||
      { tail -20 "$WORK/sudo.log" >&2; die "sudo could not be installed" "the lines above say why"; }
    chroot "$system" useradd --create-home --shell /bin/bash "$USER_NAME"
    echo "$USER_NAME ALL=(ALL) NOPASSWD: ALL" >"$system/etc/sudoers.d/$USER_NAME"
  fi
  git clone --quiet --no-hardlinks "$ROOT" "$home/lathe"
  mkdir -p "$home/shared" "$system/ccache"
  [ "$2" = root ] || chroot "$system" chown -R "$USER_NAME:" "/home/$USER_NAME"
}

# What tells the tools where their registries, proxies and certificates are; their caches are folders of this machine.
passed_variables() { env | grep -E '^((PIP|UV|NPM_CONFIG)_[A-Z_]+|[a-zA-Z]+_proxy|[A-Z]+_PROXY|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)=' | grep -v '^UV_CACHE_DIR=' || true; }

# Inside of new namespaces: makes the folder the root, and runs the command there as the last thing. A chroot would not do: the
# kernel refuses user namespaces and pivot_root to whoever is in one, and runs in images need both.
enter() {
  local system=$1 who=$2 command=$3 home=/root as=()
  mount --bind "$system" "$system"
  mount -t proc proc "$system/proc"
  mount --rbind /sys "$system/sys"
  mount --rbind /dev "$system/dev"
  mount -t tmpfs -o mode=0755 tmpfs "$system/run"
  mount --bind "$WORK/ccache-$who" "$system/ccache"
  if [ "$who" = user ]; then home=/home/$USER_NAME as=(runuser -u "$USER_NAME" --); fi
  # The conformance kit, where there is one: it lies beside the repository.
  if [ -d "$ROOT/../shared" ]; then mount --bind -o ro "$ROOT/../shared" "$system$home/shared"; fi
  local -a variables
  mapfile -t variables < <(passed_variables)
  cd "$system"
  mkdir -p old-root
  pivot_root . old-root
  umount -l /old-root
  cd "$home/lathe"
  exec env -i "${variables[@]}" HOME="$home" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    CCACHE_DIR=/ccache DEBIAN_FRONTEND=noninteractive "${as[@]}" "./$command.sh"
}

if [ "${1:-}" = --enter ]; then
  shift
  enter "$@"
fi
WHO=${1:-} COMMAND=${2:-}
case "$WHO $COMMAND" in
  "root demo" | "root test" | "user demo" | "user test") ;;
  *) die "what is to be run?" "tests/bare_debian.sh root|user demo|test" ;;
esac
[ "$(id -u)" -eq 0 ] || die "a Debian of its own needs root" "sudo tests/bare_debian.sh $WHO $COMMAND"
export PATH=$PATH:/usr/sbin:/sbin
mkdir -p "$WORK/ccache-$WHO"
chmod 0777 "$WORK/ccache-$WHO"  # compiled files are the only thing that one such system leaves to the next
make_base
SYSTEM=$WORK/$WHO-$COMMAND
LOG=$SYSTEM.log
phase "a bare Debian 12 for $WHO"
make_system "$SYSTEM" "$WHO"
phase "./$COMMAND.sh there, as $WHO (follow it: tail -f $LOG)"
STATUS=0
unshare --mount --pid --fork --kill-child --propagation private "${BASH_SOURCE[0]}" --enter "$SYSTEM" "$WHO" "$COMMAND" \
  >"$LOG" 2>&1 </dev/null || STATUS=$?
rm -rf --one-file-system "$SYSTEM"
if [ "$STATUS" -ne 0 ]; then
  tail -40 "$LOG" >&2
  die "./$COMMAND.sh failed as $WHO on a bare Debian 12 (status $STATUS)" "the whole output: $LOG"
fi
phase "done: $(grep -E '^[0-9]+ passed, ' "$LOG" | tail -1 || true)"
