"""HeldAttempt: the test itself plays the runner of an attempt (see holding_config and hold_runner.sh)."""

import hashlib
import json

from .client import LOG
from .wait import wait_for


def script_token(runner_token):
    """The token of the script, as server and runner make it of the runner's (src/wire/script_token.cc)."""
    return "lathe_" + hashlib.sha256(b"script token\n" + runner_token.encode()).hexdigest()


class HeldAttempt:
    """`client` has the runner's token, `script` the one that the user's process would have."""

    def __init__(self, server, folder, run, number=1):
        file = folder / f"{run}.{number}"
        wait_for(file.exists, 20, f"the start of attempt {number} of {run}")
        self.run, self.number = run, number
        self.client = server.client(token=file.read_text().strip())
        self.script = self.client.with_token(script_token(self.client.token))
        self.path = f"/api/v1/attempts/{run}/{number}"

    def call(self, name, value):
        return self.client.post(f"{self.path}/{name}", value)

    def claim(self, pid=1):
        return self.call("claim", {"node": 0, "runner_version": "0.1.0", "host": "test", "pid": pid})

    def append(self, data, offset, segment=0, seal=False, name=LOG):
        query = {"name": name, "segment": segment, "offset": offset, "seal": str(seal).lower()}
        return self.client.request("POST", f"{self.path}/logs", query=query, body=data)

    def positions(self):
        return self.client.get(f"{self.path}/logs", node=0).expect(200).json()["streams"]

    def finish(self, exit_code=0, reason="exited", logs=None):
        return self.call("finish", {"node": 0, "exit": exit_record(exit_code, reason), "logs": logs or {}})

    def desired(self, timeout=20):
        """Yields what the server wants, as the watch stream tells it."""
        with self.client.open("GET", f"{self.path}/watch", timeout=timeout) as response:
            assert response.status == 200, response.read()
            for line in response:
                if line.strip():
                    yield json.loads(line)


def exit_record(exit_code=0, reason="exited"):
    return {
        "reason": reason,
        "exit_code": exit_code,
        "signal": 0,
        "message": f"exit code {exit_code}",
        "usage": {"cpu_seconds": 0.5, "peak_memory_bytes": 1048576},
        "started": "2019-02-19T19:09:19.200602Z",
        "ended": "2019-02-19T19:09:20.200602Z",
    }
