"""The base path that the examples of a description tell: commands with addresses of described paths."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.openapi.compiler import told_base
from tests._support.rows import rows

PATHS: dict[str, Any] = {"/barns": {}, "/barns/json": {}, "/barns/{barn}": {}, "/": {}}


def told(text: str, paths: Any = PATHS) -> str:
    return told_base({"info": {"title": "Barns", "description": text}, "paths": paths})


@rows(
    ("text", "base"),
    [
        ("curl --unix-socket /run/barns.sock http://d/v4.0.0/barns/json", "/v4.0.0"),
        ("    $ curl -XPOST 'http://localhost:8080/api/v2/barns?x=1' | jq", "/api/v2"),
        ("GET https://barns.example/rest/barns", "/rest"),
        ("curl http://a/v1/barns\n\ncurl http://a/v1/barns/json", "/v1"),
        ("curl http://a/v1/barns\n\ncurl http://a/v2/barns", ""),  # either may be the one
        ("curl http://a/v1/barns\n\ncurl http://a/barns", ""),
        ("See https://docs.example/api/barns for more.", ""),  # a page, and nothing to call
        ("curl http://a/farm/barns", ""),  # may be the place of somebody's own server
        ("curl http://a/v1/stables", ""),
        ("curl http://a/barns", ""),
        ("All routes are prefixed with /gateway.", "/gateway"),
        ("", ""),
    ],
)
def test_commands_tell_what_stands_before_described_paths(text: str, base: str) -> None:
    assert told(text) == base


def test_paths_that_are_written_in_full_have_no_other_base() -> None:
    assert told("curl http://a/v1/barns", {"/v1/barns": {}, "/barns": {}}) == ""


@pytest.mark.parametrize("document", [{}, {"info": 3, "paths": {}}, {"info": {"description": 3}, "paths": PATHS}])
def test_without_a_text_nothing_is_told(document: Any) -> None:
    assert told_base(document) == ""
