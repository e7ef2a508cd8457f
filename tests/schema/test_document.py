"""Pointers, paths, headers and pairs of request documents: which are valid, and how values become text."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.schema.document import (
    form_pairs,
    header_problem,
    is_credential_name,
    is_method,
    is_path,
    pointer_parts,
    pointer_problem,
    query_pairs,
    scalar_text,
)
from tests._support.rows import rows


@rows(
    ("pointer", "parts"),
    [
        ("", ()),
        ("/", ("",)),
        ("/body/a~1b/c~0d/~01", ("body", "a/b", "c~d", "~1")),
        ("body", None),
        ("/a~2", None),
        ("/a~", None),
    ],
)
def test_a_pointer_has_parts_or_is_none(pointer: str, parts: tuple[str, ...] | None) -> None:
    assert pointer_parts(pointer) == parts


@rows(
    ("pointer", "problem"),
    [
        ("body", "is no JSON pointer"),
        ("", "points to no member of the request document"),
        ("/status", "points to no member of the request document"),
        ("/method/0", "points into method, which is text"),
        ("/path/0", "points into path, which is text"),
        ("/headers", "points to no header that may change"),
        ("/headers/a/b", "points to no header that may change"),
        ("/headers/Authorization", "points to no header that may change"),
        ("/headers/cookie", "points to no header that may change"),
        ("/headers/x-a", None),
        ("/method", None),
        ("/body", None),
        ("/query/a", None),
    ],
)
def test_where_a_suggestion_must_not_point(pointer: str, problem: str | None) -> None:
    assert pointer_problem(pointer) == problem


@rows(
    ("path", "valid"),
    [
        ("", True),
        ("/v1/a%20b", True),
        ("/a%252520b", True),
        ("/a/%252e%252e/b", False),
        ("/a/%25252e%25252e/b", False),
        ("/a/%25252525252e/b", False),
        ("/a//b", False),
        ("//host", False),
        ("/a/../b", False),
        ("/a/...b/.c", True),
        ("/größe/東京/%E6%9D%B1", True),
        ("/a/%20../b", False),
        ("/a/. ./b", False),
        ("/a/..%23/b", False),
        ("/a/\uff0e\uff0e/b", False),
        ("/a/\u2025/b", False),
        ("/a\u2215b", False),
        ("/a/%c0%ae%c0%ae/b", False),
        ("/a/%u002e/b", False),
        ("/caf%E9", False),
        ("/~ann", True),
        ("/a\u200bb", False),
        ("/a%E2%80%A8b", False),
        ("/a\ud800", False),
        ("/a?b", False),
        ("a", False),
    ],
)
def test_a_path_names_one_place_however_often_it_is_unescaped(path: str, valid: bool) -> None:
    assert is_path(path) is valid


def test_methods_are_tokens_or_full_names() -> None:
    assert [is_method(name) for name in ("GET", "M-SEARCH", "/a.v1.B/C", "get", "/a", "")] == [True] * 3 + [False] * 3


@pytest.mark.parametrize("name", ["Host", "Content-Length", "transfer-encoding", "Connection", "upgrade"])
def test_headers_of_routing_and_framing_are_the_senders(name: str) -> None:
    assert header_problem({"x-a": "1", name: "x"}) == f"{name.lower()}, which is the sender's own"


@rows(
    ("headers", "problem"),
    [
        ({}, None),
        ({"x-a": "\tb c"}, None),
        ({"a b": "1"}, "a header name that is no token"),
        ({"Authorization": "x"}, "the credential authorization"),
        ({"x-a": 1}, "no valid value for header x-a"),
        ({"X-A": "a\nb"}, "no valid value for header x-a"),
    ],
)
def test_headers_that_no_document_has(headers: dict[str, Any], problem: str | None) -> None:
    assert header_problem(headers) == problem


@pytest.mark.parametrize("end", ["", "-", "_policy", "s"])
def test_usual_names_of_credentials(end: str) -> None:
    for name in (
        "X-Shop-Api-Key",
        "api_key",
        "access-token",
        "apikey",
        "X-Shop-Authorization",
        "passwd",
        "client-secret",
    ):
        assert is_credential_name(f"{name}{end}") is not bool(end)


def test_scalars_on_the_wire() -> None:
    assert [scalar_text(one) for one in ("a", True, False, None, 1, 1.5)] == ["a", "true", "false", "", "1", "1.5"]


def test_a_form_is_flat() -> None:
    value = {"a": {"b": [1, {"c": None}]}, "d": (True,), "e": "x"}
    assert list(form_pairs(value)) == [("a[b][0]", "1"), ("a[b][1][c]", ""), ("d[0]", "true"), ("e", "x")]
    assert list(form_pairs(["x"])) == [("0", "x")]


def test_a_query_repeats_the_name_of_a_flat_list_only() -> None:
    query = {"a": [1, "b"], "c": [{"d": 1}], "m": [1, {"n": 2}], "e": [[2]], "f": "g", "h": {"i": 1}}
    assert list(query_pairs(query)) == [
        ("a", "1"),
        ("a", "b"),
        ("c[0][d]", "1"),
        ("m[0]", "1"),
        ("m[1][n]", "2"),
        ("e[0][0]", "2"),
        ("f", "g"),
        ("h[i]", "1"),
    ]
