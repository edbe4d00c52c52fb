"""Solves and installs conda packages with rattler; the one place where Lathe speaks conda.

usage: conda_tool.py solve|install INPUT.json      prints JSON; an error is one line on stderr, exit status 1

solve    {"channels": [...], "specs": [...], "constraints": [...], "platform": "linux-64", "cache": DIR}
         → [{name, version, build, build_number, subdir, noarch, depends, channel, file, sha256}], by name
install  {"packages": [the same], "prefix": DIR, "final_prefix": DIR, "cache": DIR}
"""

import asyncio
import json
import os
import sys

import rattler


def record_to_json(record):
    noarch = record.noarch
    return {
        "name": record.name.normalized,
        "version": str(record.version),
        "build": str(record.build),
        "build_number": record.build_number,
        "subdir": str(record.subdir),
        "noarch": "python" if noarch.python else "generic" if noarch.generic else "",
        "depends": list(record.depends),
        "channel": record.channel or "",
        "file": record.file_name,
        "sha256": record.sha256.hex() if record.sha256 else "",
    }


def record_from_json(one):
    package = rattler.PackageRecord(
        one["name"],
        one["version"],
        rattler.BuildString.new_unchecked(one["build"]),
        one["build_number"],
        one["subdir"],
        noarch=one["noarch"] or None,
        depends=one["depends"],
        sha256=bytes.fromhex(one["sha256"]),
    )
    url = "{}/{}/{}".format(one["channel"].rstrip("/"), one["subdir"], one["file"])
    return rattler.RepoDataRecord(package, one["file"], url, one["channel"])


async def solve(asked):
    gateway = rattler.Gateway(cache_dir=os.path.join(asked["cache"], "repodata"))
    records = await rattler.solve(
        sources=[rattler.Channel(name) for name in asked["channels"]],
        specs=[rattler.MatchSpec(spec) for spec in asked["specs"]],
        constraints=[rattler.MatchSpec(spec) for spec in asked["constraints"]],
        platforms=[asked["platform"], "noarch"],
        virtual_packages=rattler.VirtualPackage.detect(),
        gateway=gateway,
    )
    return sorted(map(record_to_json, records), key=lambda one: one["name"])


async def install(asked):
    await rattler.install(
        records=[record_from_json(one) for one in asked["packages"]],
        target_prefix=asked["prefix"],
        alternative_target_prefix=asked["final_prefix"],
        cache_dir=os.path.join(asked["cache"], "packages"),
        show_progress=False,
    )
    return []


def main(what, path):
    with open(path, encoding="utf-8") as file:
        asked = json.load(file)
    try:
        done = asyncio.run({"solve": solve, "install": install}[what](asked))
    except Exception as problem:  # rattler has many kinds; each says what is wrong
        print(" ".join(str(problem).split()), file=sys.stderr)
        return 1
    json.dump(done, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # rattler's threads may still run, and sometimes crash, while the interpreter is taken down


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
