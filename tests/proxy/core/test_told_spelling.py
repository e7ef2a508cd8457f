"""Texts that a server refuses, and that a default, an example or the description writes in another way."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.openapi.schema_translator import told_values
from corrigible.proxy.core.violation_finder import told_spelling
from corrigible.rules.schema_repair.json_schema import TOLD
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.values import SPELLING
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Request
from tests._support.rows import rows

TEXT = {"type": "string"}
UNKNOWN = "unknown algorithm"


def found(value: Any, schema: Any, message: str = UNKNOWN, name: str = "algorithm", **error: Any) -> Any:
    request = Request("POST", "/keys", body={name: value})
    violation = told_spelling(Violation(message=message, pointer=f"/body/{name}", **error), request, schema)
    return violation and violation.schema["const"]


@rows(
    ("schema", "wanted"),
    [
        ({**TEXT, "default": "RS256"}, "RS256"),
        ({"default": "RS256"}, "RS256"),
        ({**TEXT, TOLD: ["ES256", "RS256"]}, "RS256"),
        ({**TEXT, "default": "RS256", TOLD: ["RS256"]}, "RS256"),
        ({**TEXT, "default": "RS-256"}, "RS-256"),
        ({**TEXT, "default": "RS384"}, None),
        ({**TEXT, "default": "RS2.56"}, None),  # a mark between digits may mean something
        ({**TEXT, TOLD: ["RS256", "Rs256"]}, None),  # either may be meant
        ({**TEXT, TOLD: ["RS256", "rs256"]}, None),  # the server does not take a spelling that is told
        ({**TEXT, "default": "RS256", "enum": ["RS256"]}, None),  # the list says more
        ({"type": "integer", "default": "RS256"}, None),
        (TEXT, None),
    ],
)
def test_the_only_other_spelling_is_meant(schema: Any, wanted: str | None) -> None:
    assert found("rs256", schema) == wanted


@pytest.mark.parametrize(
    "message",
    [
        'unknown signing algorithm "rs256"',
        "unsupported algorithm rs256",
        "Invalid algorithm",
        "rs256 is not a valid algorithm",
        "no such algorithm: rs256",
    ],
)
def test_a_server_says_that_it_does_not_know_the_value(message: str) -> None:
    assert found("rs256", {"default": "RS256"}, message) == "RS256"


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Bad luck is no reason: algorithm rs256 is already taken",
        "invalid length of the algorithm",
        "algorithm rs256 is not allowed for you",
        "you may not use algorithm rs256",
        "invalid signature under rs256",
        "algorithm does not fit the key",
    ],
)
def test_what_says_something_else_is_about_something_else(message: str) -> None:
    assert found("rs256", {"default": "RS256"}, message) is None


@pytest.mark.parametrize("name", ["name", "user", "bucket_name", "tenantId", "path", "token", "role"])
def test_an_example_of_what_decides_or_is_somebodys_own_is_no_value_to_send(name: str) -> None:
    assert found("rs256", {"default": "RS256"}, name=name) is None


@pytest.mark.parametrize(
    "error",
    [
        {"constraint": "required"},
        {"constraint": "additionalProperties"},
        {"constraint": "maxLength"},
        {"constraint": "enum", "stated": {"enum": ["a", "b"]}},
    ],
)
def test_what_the_server_states_says_more(error: dict[str, Any]) -> None:
    assert found("rs256", {"default": "RS256"}, **error) is None


@pytest.mark.parametrize("value", [256, None, True, "", ["rs256"], "rs256" * 100])
def test_only_a_short_text_has_a_spelling(value: Any) -> None:
    assert found(value, {"default": "RS256", TOLD: ["true", "256"]}) is None


def test_the_edit_does_not_claim_that_the_value_is_allowed() -> None:
    request, error = Request("POST", "/keys", body={"algorithm": "rs256"}), Violation(message=UNKNOWN)
    violation = told_spelling(error._replace(pointer="/body/algorithm"), request, {**TEXT, "default": "RS256"})
    assert violation is not None and violation.keyword == SPELLING
    repaired = repair(violation, request, "1.")
    assert repaired is not None
    (suggestion,) = repaired.suggestions
    assert suggestion["patch"][-1] == {"op": "replace", "path": "/body/algorithm", "value": "RS256"}
    assert not suggestion["safety"]["changes_intent"]
    assert suggestion["verification"]["status"] == "unverified"


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"example": "a", "examples": ["b", 3, ""]}, ["a", "b"]),
        ({"description": "One of \"aes-128\", `rsa`, 'dsa' and “x25519”."}, ["aes-128", "rsa", "dsa", "x25519"]),
        ({"description": "The user's key isn't read by the server's owner"}, []),
        ({"description": 'Say "no more than this" or "x".'}, []),
        ({"description": '"far" away' + " " * 4000 + '"farther"'}, ["far"]),
        ({"description": " ".join(f'"v{number}"' for number in range(99))}, [f"v{number}" for number in range(32)]),
        ({"description": 7, "examples": {"a": "b"}, "example": "x" * 65}, []),
    ],
)
def test_values_are_told_by_examples_and_in_quotes(schema: Any, wanted: list[str]) -> None:
    assert told_values(schema) == wanted


@pytest.mark.parametrize(
    ("value", "told", "wanted"),
    [
        ("tpc", ["tcp", "udp", "sctp"], "tcp"),
        ("awlays", ["always", "never"], "always"),
        ("tpc", ["tcp"], None),  # one alone is an example
        ("http", ["https", "ftp"], None),  # may well be meant
        ("int5", ["int4", "int8"], None),
        ("far", ["near", "next"], None),
        ("tp", ["tcp", "udp"], None),
    ],
)
def test_a_slip_away_from_what_the_description_tells(value: str, told: list[str], wanted: str | None) -> None:
    assert found(value, {**TEXT, TOLD: told}) == wanted
