"""Members that only the server writes: without them, and what is lost by that."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.told_violation import unknown_member
from corrigible.rules.schema_repair.names import without
from corrigible.rules.schema_repair.schema_violation import DeclaredPlace, SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request


@pytest.mark.parametrize(
    ("path", "name", "value", "is_flagged"),
    [
        ("/barns/b7", "id", "b7", False),
        ("/barns/7", "id", 7, False),
        ("/barns/a%20b", "name", "a b", False),
        ("/barns/7/", "barnId", "7", False),
        ("/barns/b7", "id", "b8", True),  # another thing than the one of the path
        ("/barns/7", "order", 7, True),  # the same number by chance
        ("/barns/b7/cows", "id", "b7", True),  # the path ends with another thing
        ("/barns/true", "id", True, True),
        ("/barns", "id", "", True),
    ],
)
def test_the_identifier_of_the_path_is_left_out_unflagged(path: str, name: str, value: Json, is_flagged: bool) -> None:
    request = Request("PUT", path, body={name: value, "colour": "red"})
    proposal = without(SchemaViolation(f"/body/{name}", "readOnly", {}, value), request, "Leave it out.")
    assert proposal is not None
    (suggestion,) = proposal.suggestions
    assert suggestion["patch"][-1] == {"op": "remove", "path": f"/body/{name}"}
    assert suggestion["safety"].get("changes_intent", False) is is_flagged


def test_no_edit_repeats_a_secret() -> None:
    request = Request("PUT", "/users/7", body={"password": "hunter2"})
    assert without(SchemaViolation("/body/password", "readOnly", {}, "hunter2"), request, "Leave it out.") is None


def test_a_member_that_the_server_calls_read_only_must_not_be_there() -> None:
    request = Request("POST", "/barns", body={"id": "7"})
    error = Violation(message="is read-only", pointer="/body/id", constraint="readOnly")
    violation = unknown_member(error, request, DeclaredPlace({"type": "string"}, siblings=("id", "name")))
    assert violation is not None
    assert violation.keyword == "readOnly"
