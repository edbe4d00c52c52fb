"""schemathesis against the live server: valid, invalid and boundary requests for every operation of the contract."""

import copy
import json
import os
import subprocess
import sys

import pytest

from harness import contract
from harness.client import LOG

# Answers of these do not end by themselves; test_events.py and test_runner_protocol.py cover them.
STREAMS = ["streamEvents", "watchAttempt"]
# Each reads the whole store, or ends the session of everyone else.
EXCLUDED = [*STREAMS, "verifyStore"]
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "use_after_free",
    "ensure_resource_availability",
    "ignored_auth",
]
# What may be said to a wrong request; larger than the tool's own list by the limits of size.
REFUSALS = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 416, 422]
EXAMPLES = int(os.environ.get("LATHE_SCHEMATHESIS_EXAMPLES", 15))
SECONDS = int(os.environ.get("LATHE_SCHEMATHESIS_SECONDS", 40))


def plain_document():
    """The contract without its outside examples, and without `follow`, which keeps an answer open."""
    document = copy.deepcopy(contract.document())

    def clean(node):
        if isinstance(node, dict):
            if isinstance(node.get("examples"), dict):
                node.pop("examples")
            if isinstance(node.get("parameters"), list):
                node["parameters"] = [entry for entry in node["parameters"] if entry.get("name") != "follow"]
            for value in node.values():
                clean(value)
        elif isinstance(node, list):
            for value in node:
                clean(value)

    clean(document)
    return document


@pytest.fixture
def document(tmp_path):
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(plain_document()))
    return file


def examine(server, document, token, parameters, options, seconds):
    """Runs schemathesis with fixed values for some path parameters, so that requests get past `not-found`."""
    settings = document.parent / "schemathesis.toml"
    fixed = ", ".join(f'"path.{name}" = {json.dumps(value)}' for name, value in parameters.items())
    settings.write_text(
        f'headers = {{ Authorization = "Bearer {token}" }}\nparameters = {{ {fixed} }}\n'
        # 501: a cloud datastore is kept, not used. 502: a generated URL that nobody answers.
        f"[checks]\nnot_a_server_error.expected-statuses = [\"2xx\", \"3xx\", \"4xx\", 501, 502]\n"
        f"negative_data_rejection.expected-statuses = {REFUSALS}\n"
    )
    settings.chmod(0o600)
    # One worker: CPython 3.11 fails inside ast.parse when hypothesis is used from several threads.
    command = [
        sys.executable,
        "-m",
        "schemathesis.cli",
        "--config-file",
        settings,
        "run",
        document,
        "--url",
        server.discovery()["url"].rstrip("/"),
        "--max-examples",
        EXAMPLES,
        "--max-time",
        seconds,
        "--max-response-time",
        5,
        "--request-timeout",
        20,
        "--workers",
        1,
        "--seed",
        os.environ.get("LATHE_SEED", 1),
        "--suppress-health-check",
        "all",
        "--continue-on-failure",
        *options,
    ]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=seconds * 4 + 120, cwd=document.parent
    )
    said = "\n".join(line[:400] for line in (done.stdout + done.stderr).splitlines()).replace(token, "TOKEN")
    assert done.returncode == 0, said[-30000:]
    assert server.is_up()
    server.client().get("/healthz").expect(200)


def without(*operations):
    return [word for operation in operations for word in ("--exclude-operation-id", operation)]


def test_no_request_of_a_runner_breaks_the_contract(holder, document):
    attempt = holder.submit(retries={"user": 100, "infrastructure": 100})
    attempt.claim().expect(200)
    # The walk of test_credentials.py covers authentication; here a path with another run would be 403, not 400.
    checks = [check for check in CHECKS if check not in ("ignored_auth", "ensure_resource_availability", "use_after_free")]
    options = ["--checks", ",".join(checks), "--include-tag", "attempts", *without(*STREAMS)]
    examine(holder.server, document, attempt.client.token, {"run": attempt.run, "attempt": 1}, options, max(SECONDS // 3, 5))


def test_no_request_of_an_administrator_breaks_the_contract(holder, document):
    """On a server that starts no runners: a generated command is never run. Comes last: its runs keep the machine."""
    attempt = holder.submit()
    attempt.claim().expect(200)
    attempt.append(b"a line", 0, seal=True).expect(200)
    attempt.finish(logs={LOG: {"segments": 1, "size": 6}}).expect(200)
    options = ["--checks", ",".join(CHECKS), "--exclude-tag", "attempts", *without(*EXCLUDED)]
    # Every part of a path is fixed or none: else a wrong one that the fixed one replaced would count as accepted.
    fixed = {"workspace": "default", "build": 1}
    examine(holder.server, document, holder.server.token, fixed, options, SECONDS)
