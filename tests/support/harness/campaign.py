"""Campaign: a counted, seeded, resumable loop of faults. Progress is a small JSON file; the seed is printed."""
import json
import os
import pathlib
import random


class Campaign:
    """LATHE_<NAME>_KILLS (or LATHE_KILLS for the server) gives the count, LATHE_SEED the seed, LATHE_PROGRESS a folder
    in which a campaign that was broken off is taken up again."""

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

    def rounds(self):
        """Yields (number, random generator); a generator per round, so that resuming repeats the same choices."""
        while self.done < self.count:
            yield self.done, random.Random(f"{self.seed}.{self.done}")
            self.advance()

    def advance(self, by=1):
        self.done += by
        if self.file:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(json.dumps({"done": self.done, "seed": self.seed}))
        if self.done % 25 < by:
            print(f"campaign {self.name}: {self.done} of {self.count}", flush=True)
