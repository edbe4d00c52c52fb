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


def never(condition, seconds, what="the condition"):
    """Fails as soon as condition() is true; looks for `seconds`. For what must not happen while something else holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        assert not value, f"{what} happened: {value!r}"
        time.sleep(0.02)
