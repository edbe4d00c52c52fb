"""How long a program takes to print its first line, which is `1`."""

import subprocess
import time


def first_line(command, environment=None):
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    line = process.stdout.readline()
    took = time.perf_counter() - begin
    process.communicate(timeout=60)
    if line != b"1\n" or process.returncode != 0:
        raise SystemExit(f"error: {' '.join(command)} printed {line!r} and ended with {process.returncode}")
    return took
