"""Paths in feedback where the proxy takes a prefix away: as the caller sends them."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest

from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.http.codec import with_prefix
from tests._support.rows import rows

PATCH = [
    {"op": "replace", "path": "/path", "value": "/v1/b"},
    {"op": "replace", "path": "/body/path", "value": "/v1/b"},
]
ASKED = {"pointer": "/path", "schema": {"pattern": "^/v1/", "enum": ["/v1/a"]}}


@pytest.mark.parametrize(
    ("member", "value", "expected"),
    [
        ("patch", PATCH, [{**PATCH[0], "value": "/x-1/v1/b"}, PATCH[1]]),
        ("steps", [{"method": "POST", "path": "/v1/c", "body": {"path": "/d"}}], None),
        ("placeholders", [ASKED], [{**ASKED, "schema": {"pattern": "^/x-1/v1/", "enum": ["/x-1/v1/a"]}}]),
        ("placeholders", [{"pointer": "/body/path", "schema": {"enum": ["/a"]}}], "same"),
        ("parameters", {"path": "/v1/c"}, "same"),
    ],
)
def test_paths_that_the_caller_would_send_get_the_prefix(member: str, value: Any, expected: Any) -> None:
    if member == "steps":
        expected = [{"method": "POST", "path": "/x-1/v1/c", "body": {"path": "/d"}}]
    feedback = {"message": "m", "suggestions": [{"action": "MODIFY_PARAMS", member: value}]}
    decision: Any = Annotate(None, feedback, b"")  # type: ignore[arg-type]  # nobody looks at the case
    out = with_prefix(decision, "/x-1")
    assert orjson.loads(out.encoded) == out.feedback
    (suggestion,) = orjson.loads(out.encoded)["suggestions"]
    assert suggestion[member] == (value if expected == "same" else expected)


def test_another_endpoint_is_below_the_prefix() -> None:
    suggestion = {"action": "USE_ALTERNATIVE_ENDPOINT", "parameters": {"path": "/v1/c"}}
    decision: Any = Annotate(None, {"suggestions": [suggestion]}, b"")  # type: ignore[arg-type]  # as above
    assert orjson.loads(with_prefix(decision, "/x").encoded)["suggestions"][0]["parameters"] == {"path": "/x/v1/c"}


@rows(
    ("suggestion", "expected"),
    [
        ({"action": "ALREADY_DONE", "parameters": {"path": "/v1/c"}}, {"path": "/x/v1/c"}),
        (
            {"action": "ESCALATE", "parameters": {"path": "/v1/c", "method": "PUT"}},
            {"path": "/x/v1/c", "method": "PUT"},
        ),
        ({"action": "NO_RECOVERY_AVAILABLE", "parameters": {"path": "/v1/c"}}, {"path": "/x/v1/c"}),
        ({"action": "STOP", "base_action": "ESCALATE", "parameters": {"path": "/v1/c"}}, {"path": "/x/v1/c"}),
        ({"action": "ESCALATE", "parameters": {"method": "PUT /v1/c"}}, {"method": "PUT /x/v1/c"}),
        ({"action": "ESCALATE", "parameters": {"origin": "https://b", "path": "/c"}}, "same"),
        ({"action": "ALREADY_DONE", "parameters": {"path": "dashboard"}}, "same"),
        ({"action": "FIX", "base_action": "MODIFY_PARAMS", "parameters": {"path": "/v1/c"}}, "same"),
        ({"action": "RESOLVE_PRECONDITION", "parameters": {"path": "/mnt/a"}}, "same"),
    ],
)
def test_what_is_told_of_a_path_has_the_prefix_and_a_member_of_the_body_has_not(
    suggestion: dict[str, Any], expected: Any
) -> None:
    decision: Any = Annotate(None, {"suggestions": [suggestion]}, b"")  # type: ignore[arg-type]  # as above
    told = orjson.loads(with_prefix(decision, "/x").encoded)["suggestions"][0]["parameters"]
    assert told == (suggestion["parameters"] if expected == "same" else expected)


SIGNS = "".join(map(chr, range(32, 127)))


def test_a_pattern_of_a_prefix_holds_in_the_dialect_of_json_schema() -> None:
    """ECMA-262 with the flag `u` takes an escape of its syntax characters and of `/` only."""
    suggestion = {"placeholders": [{"pointer": "/path", "schema": {"pattern": "^/a$"}}]}
    decision: Any = Annotate(None, {"suggestions": [suggestion]}, b"")  # type: ignore[arg-type]  # as above
    out = orjson.loads(with_prefix(decision, f"/{SIGNS}").encoded)
    pattern = out["suggestions"][0]["placeholders"][0]["schema"]["pattern"]
    assert set(re.findall(r"\\(.)", pattern)) == set("^$\\.*+?()[]{}|")
    assert re.fullmatch(pattern, f"/{SIGNS}/a")
