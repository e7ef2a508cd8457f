"""A read by POST beside a read, from the description alone."""

from __future__ import annotations

from typing import Any

from corrigible.adapters.mapping.rewriting import reading_sibling, rewritten, sibling_path
from corrigible.adapters.operation import Operations
from corrigible.schema.exchange import Request
from tests._support.rows import rows

OPERATIONS = Operations(
    {
        "POST /runs/filter": "filterRuns",
        "POST /runs": "createRun",
        "POST /tasks/{id}": "changeTask",
        "POST /jobs/{id}/logs/search": "searchLogs",
        "GET /things/search": "searchThings",
    }
)


@rows(
    ("method", "path", "found"),
    [
        ("GET", "/runs", "/runs/filter"),
        ("GET", "/runs/", "/runs/filter"),
        ("GET", "/jobs/7/logs", "/jobs/7/logs/search"),
        ("GET", "/tasks", ""),  # there the word would be a name
        ("GET", "/things", ""),  # read by GET
        ("DELETE", "/runs", ""),
    ],
)
def test_what_stands_beside_a_read(method: str, path: str, found: str) -> None:
    assert sibling_path(OPERATIONS, Request(method, path)) == found


@rows(
    ("schema", "sent", "wanted"),
    [
        ({"type": "integer"}, "5", 5),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
        ({"type": "number"}, "0.5", 0.5),
        ({"type": "boolean"}, "true", True),
        ({"type": "array"}, "x", ["x"]),
        ({"type": "string"}, "5", "5"),
        ({"type": "integer"}, "five", None),
        ({"type": "object"}, "x", None),
        ({"type": ["integer", "string"]}, "5", None),  # which of them is meant, nobody says
        (None, "x", None),
    ],
)
def test_a_text_of_the_query_becomes_what_the_body_takes(schema: Any, sent: str, wanted: Any) -> None:
    request = Request("GET", "/runs", query={"a": sent})
    facts = {"properties": {"a": schema} if schema else {}, "required": []}
    after = rewritten(reading_sibling(request, "/runs/filter", facts), request, {})
    assert after is not None
    assert (after.request.body, after.lost) == (({"a": wanted}, ()) if wanted is not None else (None, ("/query/a",)))
