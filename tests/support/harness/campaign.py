"""Campaign: a counted, seeded, resumable loop of faults. Progress is a small JSON file; the seed is printed."""

import json
import os
import pathlib
import random


class Campaign:
    """The environment decides: `variable` gives the count, LATHE_SEED the seed, LATHE_PROGRESS a folder in which a
    campaign that was broken off is taken up again."""

    def __init__(self, name, variable, default):
        self.name = name
        self.count = int(os.environ.get(variable, default))
        self.seed = int(os.environ.get("LATHE_SEED", random.SystemRandom().randrange(2**31)))
        folder = os.environ.get("LATHE_PROGRESS")
        self.file = pathlib.Path(folder) / f"{name}.json" if folder else None
        self.done = 0
        if self.file and self.file.exists():
            saved = json.loads(self.file.read_text())
            self.done, self.seed = saved["done"], saved["seed"]
        print(f"campaign {name}: {self.count} faults, seed {self.seed}, {self.done} done before")

    def blocks(self, size):
        """Yields lists of (number, random generator), at most `size` long. A block counts as done when its checks have
        passed, that is when the next one is asked for; each number has its own generator, so that resuming repeats it."""
        while self.done < self.count:
            end = min(self.done + size, self.count)
            yield [(number, random.Random(f"{self.seed}.{number}")) for number in range(self.done, end)]
            self.done = end
            if self.file:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                self.file.write_text(json.dumps({"done": self.done, "seed": self.seed}))
            print(f"campaign {self.name}: {self.done} of {self.count}", flush=True)
