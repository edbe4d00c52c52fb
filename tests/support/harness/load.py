"""Load: clients that submit runs, cancel some, wait for their ends and do a deed with each, through any number of server
restarts. What the server has acknowledged goes into the ledger."""

import http.client
import random
import threading

from .client import TERMINAL, make_submit, new_id
from .deeds import DEEDS

LINES = 20
# What the SDK would write to its journal.
METRIC = {"name": "load", "kind": "scalar", "value": 1, "time": 1.5}
JOURNAL = """echo '{"name":"load","kind":"scalar","value":1,"time":1.5}' >> "$LATHE_METRICS_DIR/load.jsonl\""""
BODY = (
    f"i=0; while [ $i -lt {LINES} ]; do echo line $i; i=$((i+1)); done; "
    f"{JOURNAL}; mkdir -p outputs; echo $AZUREML_RUN_ID > outputs/id"
)
WHOLE_LOG = b"".join(b"line %d\n" % i for i in range(LINES))
# kind → (shell line, the status it must reach when nobody cancels it)
KINDS = {
    "quick": (BODY, "Completed"),
    "slow": (f"{BODY}; sleep 0.3", "Completed"),
    "failing": (f"{BODY}; exit 3", "Failed"),
    "cancelled": (f"{BODY}; sleep 600", "Canceled"),
}


class Done:
    """Stands for the answer to a deed of several requests."""

    status = 200


def patient(client):
    """The client, for which a server that is stopping (503), or whose disk is full (507) or broken, is as good as none."""
    request = client.request

    def ask(*arguments, **options):
        answer = request(*arguments, **options)
        if answer.status in (503, 507) or (answer.status == 500 and answer.error() == "io"):
            raise ConnectionError(f"the server is unavailable: {answer.status}")
        return answer

    client.request = ask
    return client


class Load:
    """Threads that work until stop(); each has at most one run of its own under way."""

    def __init__(self, server, ledger, mark, threads=5, seed=0):
        self.server, self.ledger, self.mark = server, ledger, mark
        self.stopping = threading.Event()
        self.failures = []
        self.threads = [
            threading.Thread(target=self._work, args=(random.Random(f"{seed}.{n}"),), daemon=True) for n in range(threads)
        ]
        for thread in self.threads:
            thread.start()

    def stop(self, deadline=60):
        self.stopping.set()
        for thread in self.threads:
            thread.join(deadline)
            assert not thread.is_alive(), "a client of the load is stuck"
        assert not self.failures, self.failures[0]

    def _work(self, chance):
        try:
            while not self.stopping.is_set():
                self._one_run(chance)
        except Exception as failure:  # told by stop()
            self.failures.append(failure)

    def _one_run(self, chance):
        kind = chance.choice(list(KINDS))
        submit = make_submit(
            KINDS[kind][0], id=new_id(kind), grace_seconds=0, environment={"variables": {"E2E_MARK": self.mark}}
        )
        self.ledger.attempted(submit["id"], kind=kind)
        if not self._until_answered(lambda client: client.post(client.path("runs"), submit), (200, 201)):
            return
        self.ledger.acknowledged(submit["id"])
        if kind == "cancelled":
            if not self._until_answered(lambda client: client.cancel(submit["id"]), (200, 202)):
                return
            self.ledger.acknowledged(submit["id"], "cancel")
        self._until_answered(
            lambda client: client.get(client.path("runs", submit["id"])),
            (200,),
            lambda answer: answer.json()["status"] in TERMINAL,
        )

        deed = chance.choice(list(DEEDS))
        if self._until_answered(lambda client: DEEDS[deed](client, submit["id"]) or Done, (200,)):
            self.ledger.acknowledged(submit["id"], deed)

    def _until_answered(self, call, wanted, is_enough=lambda answer: True):
        """Calls until the server answers well; a server that is away or stopping is asked again. None at the end of the load."""
        while True:
            try:
                answer = call(patient(self.server.client(timeout=10)))
                assert answer.status in wanted, f"{answer.status}: {answer.body!r}"
                if answer.status in wanted and is_enough(answer):
                    return answer
            except (OSError, http.client.HTTPException, ValueError):
                pass  # the server was killed; what the connection says of it does not matter
            if self.stopping.wait(0.02):
                return None
