"""schemathesis against the live server: valid, invalid and boundary requests for every operation of the contract."""
import copy
import json
import os
import re
import subprocess
import sys

import pytest

from harness import contract

# Answers of these do not end by themselves; test_events.py and test_runner_protocol.py cover them.
STREAMS = ["streamEvents", "watchAttempt"]
# Each reads the whole store, or ends the session of everyone else.
EXCLUDED = [*STREAMS, "verifyStore"]
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance", "response_schema_conformance",
          "negative_data_rejection", "missing_required_header", "unsupported_method", "use_after_free", "ensure_resource_availability", "ignored_auth"]
EXAMPLES = int(os.environ.get("LATHE_SCHEMATHESIS_EXAMPLES", 15))
SECONDS = int(os.environ.get("LATHE_SCHEMATHESIS_SECONDS", 60))


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


def test_no_request_breaks_the_contract(server, document, tmp_path):
    client = server.client()
    run = client.submit("echo seen; mkdir -p outputs; echo x > outputs/x")
    client.wait(run, "Completed")
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(f'headers = {{ Authorization = "Bearer {server.token}" }}\n')
    settings.chmod(0o600)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", settings, "run", document, "--url", server.discovery()["url"].rstrip("/"),
               "--checks", ",".join(CHECKS), "--max-examples", str(EXAMPLES), "--max-time", str(SECONDS), "--max-response-time", "5", "--request-timeout", "20",
               "--phases", "examples,coverage,fuzzing,stateful", "--workers", "2", "--seed", os.environ.get("LATHE_SEED", "1"),
               "--suppress-health-check", "all", "--continue-on-failure"]
    for operation in EXCLUDED:
        command += ["--exclude-operation-id", operation]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=SECONDS * 4 + 120, cwd=tmp_path)
    assert done.returncode == 0, re.sub(re.escape(server.token), "TOKEN", done.stdout[-12000:] + done.stderr[-2000:])
    assert server.is_up()
    client.get("/healthz").expect(200)
