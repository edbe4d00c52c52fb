"""A database with many finished runs, quickly: one real run is copied in SQL while the server is down."""

import pathlib
import secrets
import sys

from .server import wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "support"))
from harness.pages import editing  # noqa: E402: the pages of the database have checksums


def finish_one_run(server):
    """The template: a real run that has come to its end."""
    api = server.api()
    api.call("PUT", "/api/v1/workspaces/default", {})
    run = api.submit(["/bin/echo", "one line of output"])
    wait_until(lambda: api.call("GET", f"{api.runs}/{run}")["status"] == "Completed", 60, "the first run is Completed")
    api.close()
    return run


def copy_table(database, table, key, template, changes):
    """One row for each number in `copies` and row of the template; `changes`: {column: SQL expression}."""
    columns = [(row[1], row[2]) for row in database.execute(f"PRAGMA table_info({table})")]
    kept = [name for name, kind in columns if (name, kind) != ("id", "INTEGER")]  # SQLite gives that one
    values = ", ".join(changes.get(column, f"t.{column}") for column in kept)
    database.execute(
        f"INSERT INTO {table} ({', '.join(kept)}) SELECT {values} FROM copies c JOIN {table} t ON t.{key} = ?"
        " ORDER BY c.number",
        (template,),
    )


def fill(server, runs):
    """Brings the stopped server's database to `runs` finished runs."""
    assert server.process is None
    with editing(server.state / "lathe.db") as database:
        database.execute("BEGIN IMMEDIATE")
        (count,) = database.execute("SELECT count(*) FROM runs").fetchone()
        (template,) = database.execute("SELECT min(sequence) FROM runs").fetchone()
        (last, newest) = database.execute("SELECT max(sequence), max(created) FROM runs").fetchone()
        database.execute("CREATE TEMP TABLE copies (number INTEGER PRIMARY KEY)")
        database.executemany("INSERT INTO copies VALUES (?)", ((last + 1 + n,) for n in range(runs - count)))
        prefix = f"copy_{secrets.token_hex(4)}_"
        moved = f"({newest} - t.created + (c.number - {last}))"
        run_changes = {"sequence": "c.number", "id": f"'{prefix}' || c.number", "created": f"t.created + {moved}"}
        copy_table(database, "runs", "sequence", template, run_changes)
        copy_table(database, "attempts", "run", template, {"run": "c.number", "token_hash": "randomblob(32)"})
        copy_table(database, "log_segments", "run", template, {"run": "c.number"})
        copy_table(database, "events", "run", template, {"run": "c.number", "run_id": f"'{prefix}' || c.number"})
        database.execute(
            "UPDATE experiments SET run_count = (SELECT count(*) FROM runs r WHERE r.workspace = experiments.workspace"
            " AND r.experiment = experiments.name), last_run = (SELECT max(sequence) FROM runs r"
            " WHERE r.workspace = experiments.workspace AND r.experiment = experiments.name)"
        )
        database.execute("COMMIT")
