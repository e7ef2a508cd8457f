"""Arguments in another shape than the tool has: what was meant, or nothing where that is not clear."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.client.tool import Tool, mended
from corrigible.client.tool_list import tools_of
from tests._support.rows import rows

ISSUE = {
    "allOf": [
        {"type": "object", "properties": {"title": {"type": "string"}, "labels": {"type": "array"}}},
        {"$ref": "#/components/schemas/Dates"},
    ]
}
SELF = {"$ref": "#/components/schemas/Tree"}
TREE = {"properties": {"leaf": {}}, "allOf": [SELF, {"properties": {"root": {}}}], "anyOf": [SELF]}
DOCUMENT: dict[str, Any] = {
    "components": {
        "schemas": {
            "Issue": ISSUE,
            "Tree": TREE,
            "Dates": {"type": "object", "properties": {"start_date": {}, "state": {}}},
        },
    },
    "paths": {
        "/{repo}/issues": {
            "post": {
                "operationId": "create",
                "parameters": [
                    {"name": "dry_run", "in": "query", "schema": {"type": "boolean"}},
                    {"name": "filter", "in": "query", "schema": {"type": "object"}},
                ],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Issue"}}}},
            }
        },
        "/charges/{charge}": {"get": {"operationId": "read"}},
        "/tree": {
            "post": {
                "operationId": "tree",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}},
            }
        },
        "/free": {"post": {"operationId": "free", "requestBody": {"content": {"application/json": {}}}}},
        "/sort": {
            "get": {
                "operationId": "sort",
                "parameters": [{"name": name, "in": "query", "schema": {}} for name in ("sort_by", "sort_to", "limit")],
            }
        },
    },
}
TOOLS = {tool.name: tool for tool in tools_of(DOCUMENT)}


@pytest.fixture
def tool() -> Tool:
    return TOOLS["create"]


@rows(
    ("given", "meant"),
    [
        ({"repo": "r", "title": "t"}, {"repo": "r", "body": {"title": "t"}}),
        (
            {"repo": "r", "title": "t", "body": {"state": "open"}},
            {"repo": "r", "body": {"state": "open", "title": "t"}},
        ),
        ({"repo": "r", "dryRun": True}, {"repo": "r", "dry_run": True}),
        ({"repo": "r", "titel": "t"}, {"repo": "r", "body": {"title": "t"}}),
        ({"repo": "r", "startDate": "d"}, {"repo": "r", "body": {"start_date": "d"}}),
        ({"repo": "r", "body": '{"title": "t"}'}, {"repo": "r", "body": {"title": "t"}}),
        ({"repo": "r", "filter": '{"a": 1}'}, {"repo": "r", "filter": {"a": 1}}),
        ({"repo": "r", "issue": {"title": "t", "state": "x"}}, {"repo": "r", "body": {"title": "t", "state": "x"}}),
        ({"repo": "r", "Body": '{"title": "t"}'}, {"repo": "r", "body": {"title": "t"}}),
    ],
)
def test_one_meaning_is_put_right(tool: Tool, given: dict[str, Any], meant: dict[str, Any]) -> None:
    assert mended(tool, given) == meant


@rows(
    "given",
    [
        {"repo": "r", "body": {"title": "t"}},
        {"repo": "r", "colour": "red"},
        {"repo": "r", "issue": {"title": "t", "colour": "red"}},
        {"repo": "r", "title": "t", "body": {"title": "other"}},
        {"repo": "r", "title": "t", "body": "no JSON"},
        {"repo": "r", "body": "[not"},
        {"repo": "1"},
    ],
)
def test_anything_else_stays(tool: Tool, given: dict[str, Any]) -> None:
    assert mended(tool, given) is None


def test_two_names_that_are_near_are_none() -> None:
    assert mended(TOOLS["sort"], {"sort_bo": 1}) is None
    assert mended(TOOLS["sort"], {"limt": 1}) == {"limit": 1}


def test_another_name_for_the_one_that_is_left() -> None:
    assert mended(TOOLS["read"], {"id": "ch_1"}) == {"charge": "ch_1"}
    assert mended(TOOLS["read"], {"id": "ch_1", "other": 1}) is None
    assert mended(TOOLS["read"], {"id": "ch_1", "charge": "ch_2"}) is None
    assert mended(TOOLS["sort"], {"colour": 1}) is None


def test_a_body_of_any_members_takes_all() -> None:
    assert mended(TOOLS["free"], {"a": 1, "b": 2}) == {"body": {"a": 1, "b": 2}}
    assert mended(TOOLS["free"], {"body": '{"a": 1}'}) is None  # it may be text


def test_a_schema_within_itself_ends_and_needs_no_type() -> None:
    assert mended(TOOLS["tree"], {"root": 1, "leaf": 2}) == {"body": {"root": 1, "leaf": 2}}
    assert mended(TOOLS["tree"], {"body": '{"leaf": 1}'}) == {"body": {"leaf": 1}}
