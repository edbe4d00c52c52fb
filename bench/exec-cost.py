#!/usr/bin/env python3
"""exec-cost: CPU of starting `lathe --version` and `lathe runner --version`, compared with /bin/true."""

import os

from support.rows import at_most, median, milliseconds, say
from support.server import BINARY

ROUNDS = 15
EXECS = 40
NULL = os.open("/dev/null", os.O_RDWR)


def cpu(command):
    """Seconds of user and system time per exec, the fork included."""
    used = 0.0
    for _ in range(EXECS):
        actions = [(os.POSIX_SPAWN_DUP2, NULL, fd) for fd in (0, 1, 2)]
        pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        if status != 0:
            raise SystemExit(f"error: {' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
        used += usage.ru_utime + usage.ru_stime
    return used / EXECS


def main():
    binary = str(BINARY)
    commands = {"lathe --version": [binary, "--version"], "lathe runner --version": [binary, "runner", "--version"]}
    limits, ours = [], {name: [] for name in commands}
    for _ in range(ROUNDS):
        limits.append(cpu(["/bin/true"]))
        for name, command in commands.items():
            ours[name].append(cpu(command))
    for name, values in ours.items():
        # Each round's own ratio: the machine changes more between rounds than within one.
        ratio = median([value / limit for value, limit in zip(values, limits)])
        say(f"{name}: {milliseconds(median(values))}, /bin/true {milliseconds(median(limits))}")
        at_most(f"exec-cost {name}", f"{median(values) * 1000:.2f} ms", f"true: {median(limits) * 1000:.2f} ms", ratio, 2.4)


main()
