"""Waiting for a condition with a deadline: the only way in which tests wait."""

import time


def wait_for(condition, deadline=20.0, what="the condition", every=0.02):
    """Returns the first true value of condition(); fails the test after `deadline` seconds."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not hold within {deadline} s; last value: {value!r}")
        time.sleep(every)
