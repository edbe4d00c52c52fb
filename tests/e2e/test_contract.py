"""api/openapi.yaml is the contract: it is valid, its examples match it, and it lists exactly the server's routes."""

import subprocess

import jsonschema
import openapi_spec_validator
import pytest

from harness import contract, paths
from harness.cases import check_each
from harness.client import SEEN


def resolver_schema(schema):
    """The schema of one place, with the document's components beside it for its references."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "components": contract.document()["components"],
        "allOf": [schema],
    }


def test_the_document_is_valid_openapi():
    openapi_spec_validator.validate(contract.document())


def test_every_example_matches_its_schema():
    def check(place):
        _, schema, file = place
        name = file.removeprefix("examples/").removesuffix(".json")
        validator = jsonschema.Draft202012Validator(resolver_schema(schema), format_checker=jsonschema.FormatChecker())
        validator.validate(contract.example(name))

    check_each(contract.media_examples(), check)


def test_every_example_file_is_used():
    used = {file.removeprefix("examples/") for _, _, file in contract.media_examples()}
    assert used == {path.name for path in paths.EXAMPLES.iterdir()}


def test_every_operation_names_a_known_permission_and_its_refusals():
    known = {"open", "read", "read_or_runner", "write", "write_or_own_run", "upload", "operate", "administer", "own_attempt"}
    for path, item in contract.document()["paths"].items():
        for method in set(item) & set(contract.METHODS):
            operation = item[method]
            assert operation["x-permission"] in known, (path, method)
            if operation["x-permission"] == "open":
                assert operation["security"] == []
            else:
                assert {"401", "403"} <= set(operation["responses"]), (path, method)


def test_request_bodies_are_closed():
    """A misspelt field must be refused, not ignored."""
    schemas = contract.document()["components"]["schemas"]
    for path, item in contract.document()["paths"].items():
        for method in set(item) & set(contract.METHODS):
            media = item[method].get("requestBody", {}).get("content", {}).get("application/json")
            if media:
                name = media["schema"]["$ref"].rpartition("/")[2]
                assert schemas[name].get("additionalProperties", True) is not True, f"{method} {path}: {name}"


def test_the_server_has_exactly_the_routes_of_the_document():
    """`lathe server --print-routes` prints METHOD PATH OPERATION PERMISSION lines."""
    if not paths.BINARY.exists():
        pytest.skip("no binary")
    done = subprocess.run([paths.BINARY, "server", "--print-routes"], capture_output=True, text=True, timeout=30, check=True)
    served = {tuple(line.split()) for line in done.stdout.splitlines() if line.strip()}
    # HEAD is answered wherever GET is, so the router has no route of its own for it.
    written = {
        (operation.method, operation.path, operation.id, operation.permission)
        for operation in contract.operations()
        if operation.method != "HEAD"
    }
    assert served - written == set(), "routes that the document lacks or describes otherwise"
    assert written - served == set(), "operations that the server lacks"


@pytest.mark.last
def test_every_operation_was_exercised(request):
    """Looks at what the clients of the whole session did; means nothing when only a part of the suite ran."""
    collected = {item.path.name for item in request.session.items}
    if (
        collected != {path.name for path in paths.REPOSITORY.glob("tests/e2e/test_*.py")}
        or request.config.option.keyword
        or request.config.option.markexpr
    ):
        pytest.skip("only a part of the suite was run")
    succeeded = {operation for operation, statuses in SEEN.items() if any(status < 300 for status in statuses)}
    missing = {operation.id for operation in contract.operations()} - succeeded
    assert not missing, f"never answered with success: {sorted(missing)}"
