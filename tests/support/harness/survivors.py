"""What must hold of runs whose machine, or disk, was lost under them: what was acknowledged before is there; what had ended
has kept its end; what had not may be lost with its node, and says so."""

from .checker import all_are_over, check_content, check_events, check_machine, end_the_rest
from .deeds import check_deeds
from .load import KINDS
from .wait import wait_for


def check_survivors(server, before, ended, ledger, shown=None):
    """`before` are the ledger's acknowledgements from before the fault: a write that races it may be told and lost. `shown`
    are beginnings of logs that were on the disk by then. How many runs there are."""
    client, attempted = server.client(), ledger.runs_attempted()
    end_the_rest(client, ledger)
    wait_for(lambda: all_are_over(client), 60, "all ends", every=0.1)
    stored = {run["id"]: run for run in client.items(client.path("runs"), limit=500)}
    submitted = {row["run"] for row in before if row["action"] == "submit"}
    cancelled = {row["run"] for row in before if row["action"] == "cancel"}
    assert submitted <= set(stored), f"acknowledged and lost: {sorted(submitted - set(stored))[:5]}"
    for run in stored:
        check_survivor(client, run, attempted[run]["kind"], run in ended, run in cancelled)
    for run, beginning in (shown or {}).items():
        assert client.log(run).startswith(beginning), f"{run}: lines that were shown long before are lost"
    check_deeds(client, before)
    check_machine(server, stored, may_keep=True)  # a spool that the cut has torn
    return len(stored)


def check_survivor(client, run, kind, had_ended, was_cancelled):
    """A run ended as its script says, or its node was lost; one whose end was told keeps that end, whole. A cancel that was
    acknowledged is kept, whatever became of the node."""
    found = client.run(run)
    check_events(client, run)
    assert len(found["attempts"]) <= 1, found["attempts"]
    lost = found["status"] == "Failed" and found["error"]["code"] == "node-lost"
    assert lost or found["status"] == KINDS[kind][1], f"{run}: {found['status']} {found['error']}"
    if not lost and kind != "cancelled":
        check_content(client, run)
    assert not (lost and had_ended), f"{run} had ended, and is lost now"
    assert not (lost and was_cancelled), f"{run} was cancelled, and is lost now"
