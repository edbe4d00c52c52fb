#!/bin/sh
# kill_at.sh FOLDER PROGRAM runner --url URL --work|--adopt WORK: a launcher that has a runner, or an adopter, killed at its
# N-th system call of a kind. FOLDER/RUN, or FOLDER/TASK.adopt for an adopter, says which: "CALLS N"; it counts once. Every
# start is noted in FOLDER/TASK.starts, the calls in FOLDER/TASK.calls, and what the exit record was when an adopter came in FOLDER/TASK.exit.
folder=$1
shift
task=$(basename "$6")
echo "$5" >> "$folder/$task.starts"
if [ "$5" = --adopt ]; then
  point=$folder/$task.adopt
  [ -e "$folder/$task.exit" ] || cp "$6/spool/exit" "$folder/$task.exit" 2>/dev/null
else
  point=$folder/$LATHE_RUN
fi
if mv "$point" "$point.used" 2>/dev/null; then
  read -r calls number < "$point.used"
  # -D: the runner keeps its process id and its parent, as if there were no strace.
  exec strace -D -f -qq -o "$folder/$task.calls" -e "trace=$calls" -e "inject=$calls:signal=SIGKILL:when=$number" "$@"
fi
exec "$@"
