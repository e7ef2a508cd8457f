"""What an error says is never the value of what tells who calls, or what is called: the caller is asked at most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrigible.rules.safety.decisive import is_plain_header, is_protected, is_the_senders
from corrigible.schema.exchange import Request
from tests._support.by_description import engine_of, feedback_about
from tests._support.rows import rows

PLANS = """
openapi: 3.0.3
info: {title: Plans, version: "1"}
paths:
  /plans:
    post:
      operationId: createPlan
      requestBody:
        content:
          application/json: {schema: {type: object, properties: {id: {type: string}, size: {enum: [small, large]}}}}
"""
PROTECTED = (
    *("X-HTTP-Method-Override", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Host", "Host"),
    *("X-Forwarded-For", "X-Real-IP", "X-User-Id", "Impersonate-User", "X-Remote-User", "Stripe-Account", "X-Tenant"),
    *("X-Api-Key", "access_token", "X-Auth-Token", "X-Goog-User-Project", "Idempotency-Key", "X-Sudo", "X-Admin"),
)
SAYINGS = (
    "Missing required header '{name}', expected '{value}'",
    "The nickname \"x' Missing required header '{name}', expected '{value}'\" is taken",
    "Header {name} is required and must be one of: {value}",
    "{name} is missing. Allowed values are: {value}.",
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return engine_of(Path(tmp_path_factory.mktemp("plans")), PLANS)


def suggestions(engine: Any, message: str, headers: dict[str, str] | None = None) -> list[dict[str, Any]]:
    request = Request("POST", "/plans", {}, {"content-type": "application/json", **(headers or {})}, {"id": "gold"})
    feedback = feedback_about(engine, request, 400, {"message": message})
    return [] if feedback is None else list(feedback["suggestions"])


@rows("saying", SAYINGS)
@rows("name", [*PROTECTED, "Authorization", "Cookie", "_method", "api_key"])
@rows("sent", [{}, {"x-user-id": "7", "x-tenant": "a"}])
def test_the_text_of_an_error_gives_no_value_to_what_is_protected(
    engine: Any, saying: str, name: str, sent: dict[str, str]
) -> None:
    for one in suggestions(engine, saying.format(name=name, value="EVIL"), sent):
        assert not [op for op in one.get("patch", ()) if "EVIL" in str(op.get("value")) and op["op"] != "test"]
        assert "EVIL" not in str(one.get("placeholders", ""))


def test_a_missing_header_is_asked_for(engine: Any) -> None:
    (one,) = suggestions(engine, SAYINGS[0].format(name="X-User-Id", value="root"))
    assert (one["applicability"], one["placeholders"][0]["pointer"]) == ("HAS_PLACEHOLDERS", "/headers/x-user-id")


def test_of_credentials_it_is_said_that_the_caller_has_to_give_them(engine: Any) -> None:
    (one,) = suggestions(engine, SAYINGS[0].format(name="Authorization", value="Bearer x"))
    assert (one["action"], one["parameters"]) == ("ESCALATE", {"needed": "credentials", "actor": "you"})


def test_a_header_that_says_no_form_is_confirmed(engine: Any) -> None:
    (one,) = suggestions(engine, SAYINGS[0].format(name="X-Shop", value="north"))
    assert one["patch"][-1] == {"op": "add", "path": "/headers/x-shop", "value": "north"}
    assert one["safety"]["requires_confirmation"] is True
    (one,) = suggestions(engine, SAYINGS[0].format(name="X-Api-Version", value="2026-01-01"))
    assert one["patch"][-1]["value"] == "2026-01-01"
    assert "requires_confirmation" not in one["safety"]


@rows("name", PROTECTED)
def test_names_of_headers(name: str) -> None:
    assert is_protected(f"/headers/{name.lower()}") or is_the_senders(f"/headers/{name.lower()}")
    assert not is_plain_header(f"/headers/{name.lower()}")


@rows(
    "name",
    [
        *("content-type", "content-language", "accept", "x-api-version", "prefer", "if-match", "if-none-match"),
        *("if-modified-since", "if-unmodified-since", "if-range"),
    ],
)
def test_names_of_headers_that_repairs_may_set(name: str) -> None:
    assert not is_protected(f"/headers/{name}")
    assert is_plain_header(f"/headers/{name}") != name.startswith("if-")


@rows("pointer", ["/body/method", "/body/size", "/query/limit", "/body/a/name", "/method", "/path"])
def test_other_parts(pointer: str) -> None:
    assert not is_protected(pointer)
