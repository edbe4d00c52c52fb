#!/bin/sh
# hold_runner.sh FOLDER COMMAND…: stands in for a runner. Leaves the attempt token in FOLDER/RUN.ATTEMPT and waits, so
# that a test can play the runner itself.
umask 077
printf %s "$LATHE_RUN_TOKEN" > "$1/.$LATHE_RUN.$LATHE_ATTEMPT"
mv "$1/.$LATHE_RUN.$LATHE_ATTEMPT" "$1/$LATHE_RUN.$LATHE_ATTEMPT"
LATHE_HOLD=$1 exec sleep 600
