#!/bin/bash
# isolate.sh STATE COMMAND…: runs COMMAND in its own mount and network namespaces, where the state folder shows nothing
# but the socket folder (run/) and the work folder (work/). A runner that needs more than a URL and its token fails here.
# With --with-network in front the network stays the machine's.
set -euo pipefail

if [ "${1-}" = --inside ]; then
  state=$2
  shift 2
  cover=$(mktemp -d /tmp/lathe-cover.XXXXXX)
  mount -t tmpfs -o mode=0700 tmpfs "$cover"
  mkdir "$cover/run" "$cover/work"
  mount --bind "$state/run" "$cover/run"
  mount --bind "$state/work" "$cover/work"
  mount --move "$cover" "$state"
  rmdir "$cover"
  exec "$@"
fi

network=(--net)
if [ "${1-}" = --with-network ]; then
  network=()
  shift
fi
state=$1
shift
mkdir -p "$state/work"
exec unshare --mount "${network[@]}" --propagation private -- "$0" --inside "$state" "$@"
