"""Campaign: a counted, seeded, resumable loop of faults. Progress is a small JSON file; the seed is printed."""

import json
import os
import pathlib
import random
import time

SAY_EVERY = 10.0  # seconds


def say(text):
    """Replaced by the test session with what reaches the terminal although output is captured."""
    print(text, flush=True)


class Campaign:
    """The environment decides: `variable` gives the count, LATHE_SEED the seed, LATHE_PROGRESS a folder in which a
    campaign that was broken off is taken up again. `totals` are counted by the test and kept with the progress."""

    def __init__(self, name, variable, default):
        self.name = name
        self.count = int(os.environ.get(variable, default))
        self.seed = int(os.environ.get("LATHE_SEED", random.SystemRandom().randrange(2**31)))
        folder = os.environ.get("LATHE_PROGRESS")
        self.file = pathlib.Path(folder) / f"{name}.json" if folder else None
        self.done, self.totals, self.said = 0, {"seconds": 0}, 0.0
        if self.file and self.file.exists():
            saved = json.loads(self.file.read_text())
            self.done, self.seed, self.totals = saved["done"], saved["seed"], saved["totals"]
        self._say("begins" if self.done == 0 else "goes on")

    def blocks(self, size):
        """Yields lists of (number, random generator), at most `size` long. A block counts as done when its checks have
        passed, that is when the next one is asked for; each number has its own generator, so that resuming repeats it."""
        while self.done < self.count:
            end, started = min(self.done + size, self.count), time.monotonic()
            yield [(number, random.Random(f"{self.seed}.{number}")) for number in range(self.done, end)]
            self.done = end
            self.add(seconds=round(time.monotonic() - started, 1))
            self._save()
            if time.monotonic() - self.said > SAY_EVERY:
                self._say("stands")
        self._say(f"is done ({rule_of_three(self.done)})")

    def add(self, **counts):
        for name, number in counts.items():
            self.totals[name] = round(self.totals.get(name, 0) + number, 1)

    def _save(self):
        if not self.file:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        draft = self.file.with_suffix(".new")
        draft.write_text(json.dumps({"done": self.done, "seed": self.seed, "totals": self.totals}))
        draft.replace(self.file)

    def _say(self, what):
        totals = ", ".join(f"{number} {name}" for name, number in self.totals.items())
        say(f"campaign {self.name} {what}: {self.done} of {self.count} faults, seed {self.seed}; {totals}")
        self.said = time.monotonic()


def rule_of_three(trials):
    return f"0 failures in {trials} trials: failure rate < {300 / max(trials, 1):.2f} % at 95 %"
