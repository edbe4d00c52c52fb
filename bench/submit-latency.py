#!/usr/bin/env python3
"""submit-latency: from the command to the first line of `python3 -c "print(1)"`, as the person in front of it sees it.

ours: `lathe run submit --follow`, the submit on disk before it is acknowledged; peer: `srun` on a local Slurm;
limit: the program started directly. Compared is what each adds to the limit.
"""

import os

from support.first_line import first_line
from support.rows import at_most, median, milliseconds, say, spread
from support.server import running_server
from support.slurm import running_slurm

ROUNDS = 25
WARM_UP = 3
# The interpreter itself: a version manager's shim on the PATH would be half of what is measured.
PROGRAM = [os.path.realpath("/usr/bin/python3"), "-c", "print(1)"]


def main():
    bare, ours, srun = [], [], []
    with running_server() as server, running_slurm(nodes=1, slots=4) as slurm:
        lathe = server.command("run", "submit", "--follow", "--command", "--", *PROGRAM)
        server.add_compute("local", 1)
        for _ in range(WARM_UP + ROUNDS):  # in turns, so that all three see the same machine
            bare.append(first_line(PROGRAM))
            ours.append(first_line(lathe))
            slurm.wait_idle()
            srun.append(first_line(["srun", "--quiet", *PROGRAM], slurm.environment))
    bare, ours, srun = bare[WARM_UP:], ours[WARM_UP:], srun[WARM_UP:]
    for name, values in (("bare spawn", bare), ("lathe", ours), ("srun", srun)):
        say(f"{name}: {spread(values)}")
    limit = median(bare)
    over, over_srun = median(ours) - limit, median(srun) - limit
    peer = f"srun: {milliseconds(limit)} + {milliseconds(over_srun)}"
    at_most("submit-latency", f"{milliseconds(limit)} + {milliseconds(over)}", peer, over / over_srun, 0.333)


main()
