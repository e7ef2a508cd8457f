"""Parameters that were sent more than once."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.told_violation import sent_twice
from corrigible.rules.schema_repair.repair import SENT_TWICE, repair
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Request

NUMBER = {"type": "integer"}
OFTEN = "Parameter limit must not be specified multiple times."


def found(pointer: str, request: Request, message: str = OFTEN, schema: dict[str, Any] | None = None) -> Any:
    error = Violation(message=message, pointer=pointer)
    return sent_twice(error, request, NUMBER if schema is None else schema)


def request(**query: Any) -> Request:
    return Request("GET", "/x", query)


@pytest.mark.parametrize(
    ("message", "is_said"),
    [
        (OFTEN, True),
        ("limit: only specify once", True),
        ("multiple values for limit", True),
        ("duplicate parameter limit", True),
        ("limit is too large", False),
        ("", False),
    ],
)
def test_the_error_has_to_say_so(message: str, is_said: bool) -> None:
    assert (found("/query/limit", request(limit=["5", "6"]), message) is not None) is is_said


@pytest.mark.parametrize(
    ("pointer", "sent", "schema"),
    [
        ("/query/limit", request(limit="5"), NUMBER),
        ("/query/limit", request(limit=["5"]), NUMBER),
        ("/query/limit", request(limit=["5", "6"]), {"type": "array"}),
        ("/body/limit", Request("POST", "/x", body={"limit": ["5", "6"]}), NUMBER),  # JSON has lists
        ("", request(limit=["5", "6"]), NUMBER),
    ],
)
def test_one_value_and_lists_are_something_else(pointer: str, sent: Request, schema: dict[str, Any]) -> None:
    assert found(pointer, sent, schema=schema) is None


def test_the_same_value_is_sent_once() -> None:
    for sent, pointer in (
        (request(limit=["5", "5"]), "/query/limit"),
        (Request("POST", "/x", {}, {}, {"limit": ["5", "5", "5"]}, True), "/body/limit"),
    ):
        violation = found(pointer, sent)
        assert violation.keyword == SENT_TWICE
        repaired = repair(violation, sent, "1.")
        assert repaired is not None
        (suggestion,) = repaired.suggestions
        assert suggestion["patch"][-1] == {"op": "replace", "path": pointer, "value": "5"}


@pytest.mark.parametrize(
    ("name", "values", "schema"),
    [("limit", ["5", "6", "5"], {"enum": ["5", "6"]}), ("password", ["s3cret-1", "s3cret-1"], {"type": "string"})],
)
def test_of_several_values_the_caller_chooses_and_no_secret_is_repeated(
    name: str, values: list[str], schema: dict[str, Any]
) -> None:
    sent = request(**{name: values})
    repaired = repair(found(f"/query/{name}", sent), sent, "1.")
    assert repaired is not None
    (suggestion,) = repaired.suggestions
    assert "patch" not in suggestion
    assert suggestion["placeholders"] == [{"pointer": f"/query/{name}", "ask": "user", "schema": schema}]
