"""Documents that are not what they should be: refused with the one error shape, in bounded time and memory."""

import json
import time

import pytest

from harness.cases import check_each
from harness.client import make_submit
from harness.corpus import NOT_JSON, duplicate_keys


def memory_of(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))


ROUTES = [
    ("POST", "/api/v1/workspaces/default/runs"),
    ("PUT", "/api/v1/workspaces/default/computes/json"),
    ("PUT", "/api/v1/workspaces/json-test"),
    ("PATCH", "/api/v1/workspaces/default/runs/{run}/tags"),
    ("POST", "/api/v1/tokens"),
    ("POST", "/api/v1/blobs/missing"),
    ("POST", "/api/v1/workspaces/default/runs/{run}/archive"),
    ("POST", "/api/v1/store/gc"),
]
# Bodies that may be left out where every field has a default.
OPTIONAL = {"empty", "blank"}


@pytest.fixture(scope="module")
def finished(server):
    client = server.client()
    run = client.submit("true")
    client.wait(run, "Completed")
    return run


@pytest.mark.parametrize("method, path", ROUTES, ids=lambda value: value.rpartition("/")[2] or value)
def test_a_bad_document_is_refused(server, client, finished, method, path):
    def check(kind):
        begun = time.monotonic()
        try:
            answer = client.request(
                method, path.format(run=finished), body=NOT_JSON[kind], headers={"Content-Type": "application/json"}
            )
        except (BrokenPipeError, ConnectionResetError):
            assert kind == "over the body limit"  # the server need not read what it refuses
            return
        if kind in OPTIONAL and answer.status in (200, 201):
            return
        answer.expect(400, 413).error()
        assert time.monotonic() - begun < 5
        assert memory_of(server.pid) < 512 << 20

    check_each(NOT_JSON, check)


def test_a_key_given_twice_is_refused(client):
    submit = make_submit("true")
    client.request(
        "POST", client.path("runs"), body=duplicate_keys(submit), headers={"Content-Type": "application/json"}
    ).expect(400)
    client.get(client.path("runs", submit["id"])).expect(404)


def test_minus_zero_and_large_whole_numbers_are_numbers(client):
    submit = make_submit("true", priority=-0)
    client.post(client.path("runs"), submit).expect(201)
    assert client.run(submit["id"])["priority"] == 0


def test_text_of_every_plane_survives(client):
    tags = {"bmp": "Grüße 世界", "astral": "😀𝒳", "escaped": 'quote " backslash \\ slash / <script>', "combining": "A\u030a"}
    run = client.submit("true", tags=tags)
    assert client.run(run)["tags"] == tags


def test_a_document_with_another_content_type_is_refused(client):
    """A form that a browser can send without a preflight is no JSON."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = client.request(
            "POST", client.path("runs"), body=json.dumps(make_submit("true")).encode(), headers={"Content-Type": kind}
        )
        assert answer.status in (400, 415), f"{kind}: {answer.status}"
