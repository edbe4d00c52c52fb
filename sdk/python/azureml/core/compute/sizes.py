"""The names of sizes that a compute target may have. The table is the server's own (a test compares them)."""

import os
from typing import Any, Dict, List


def read_sizes() -> List[Dict[str, Any]]:
    sizes = []
    with open(os.path.join(os.path.dirname(__file__), "vm_sizes.csv"), "r", encoding="utf-8") as table:
        for line in table:
            if line.strip() and not line.startswith("#"):
                name, cores, memory, gpus = line.strip().split(",")
                sizes.append({"name": name, "vCPUs": float(cores), "memoryGB": float(memory), "gpus": int(gpus),
                              "maxResourceVolumeMB": 0})  # fmt: skip
    return sizes


SIZES = read_sizes()
