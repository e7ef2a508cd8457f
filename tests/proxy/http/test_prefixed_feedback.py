"""Paths in feedback where the proxy takes a prefix away: as the caller sends them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.http.prefixed_feedback import with_prefix

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
        ("placeholders", [ASKED], [{**ASKED, "schema": {"pattern": "^/x\\-1/v1/", "enum": ["/x-1/v1/a"]}}]),
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
