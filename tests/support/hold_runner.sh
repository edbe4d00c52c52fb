#!/bin/sh
# hold_runner.sh FOLDER PROGRAM runner --url URL --work WORK: stands in for a runner. Leaves the attempt token in
# FOLDER/RUN.ATTEMPT and waits, so that a test can play the runner itself. Holds the lock on its spool as a runner does,
# so that a server that was restarted finds it alive. There is nothing to adopt.
umask 077
[ "$6" != --adopt ] || exit 0
token=$1/$LATHE_RUN.$LATHE_ATTEMPT
printf %s "$LATHE_RUN_TOKEN" > "$token.new"
mkdir -p "$7/spool"
LATHE_HOLD=$1 exec flock --no-fork "$7/spool/spool.json" sh -c 'mv "$1.new" "$1"; exec sleep 600' hold "$token"
