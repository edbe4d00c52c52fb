#!/bin/sh
# elsewhere.sh PREFIX COUNT URL CERTIFICATE PROGRAM runner --url OLD --work|--adopt WORK: a launcher that starts a runner as if
# on another machine: in one of the network namespaces PREFIX0 … PREFIXn, which it chooses by the run's id, with the server's
# address there instead of its socket.
prefix=$1 count=$2 url=$3
export SSL_CERT_FILE="$4"
shift 4
digit=$(printf %s "${LATHE_RUN:-0}" | tail -c 1)
space=$(($(printf %d "0x$digit") % count))
exec nsenter --net="/var/run/netns/$prefix$space" "$1" "$2" --url "$url" "$5" "$6"
