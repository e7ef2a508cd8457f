"""Members that only the server writes: without them, and what is lost by that."""

from __future__ import annotations

from corrigible.proxy.core.violation_finder import unknown_member
from corrigible.rules.schema_repair.names import without
from corrigible.rules.schema_repair.schema_violation import DeclaredPlace, SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Request


def test_no_edit_repeats_a_secret() -> None:
    request = Request("PUT", "/users/7", body={"password": "hunter2"})
    proposal = without(SchemaViolation("/body/password", "readOnly", {}, "hunter2"), request, "Leave it out.")
    assert proposal.suggestions[0]["safety"]["requires_confirmation"] is True
    assert "hunter2" not in str(proposal)


def test_a_member_that_the_server_calls_read_only_must_not_be_there() -> None:
    request = Request("POST", "/barns", body={"id": "7"})
    error = Violation(message="is read-only", pointer="/body/id", constraint="readOnly")
    violation = unknown_member(error, request, DeclaredPlace({"type": "string"}, siblings=("id", "name")))
    assert violation is not None
    assert violation.keyword == "readOnly"
