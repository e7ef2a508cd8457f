"""Fields of gRPC messages whose content a parser refuses."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.place_of_content import is_of_bytes, is_of_query, place_of_content
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.vocabulary import Vocabulary
from corrigible.schema.exchange import Request


def place(message: str, body: Any, *names: str) -> str:
    request = Request("/depot.v1.Depot/Run", "", body=body)
    declared = Vocabulary(tuple(("body", *name.split(".")) for name in names))
    return place_of_content(message, request, declared, list(sent_places(request)))


@pytest.mark.parametrize(
    "message",
    [
        "Error during planning: table 'depot.public.node' not found",
        "Schema error: No field named colour. Valid fields are nodes.id, nodes.name.",
        'SQL error: ParserError("Expected: an SQL statement, found: SELEC at Line: 1, Column: 1")',
        "syntax error at or near FORM",
        "mismatched input 'FORM' expecting FROM",
        'column "colour" does not exist',
        "unknown function: len",
    ],
)
def test_a_sentence_about_a_query_is_about_the_field_that_holds_one(message: str) -> None:
    assert place(message, {"depot": "d-1", "sqlQuery": "SELEC 1"}, "depot", "sqlQuery") == "/body/sqlQuery"
    assert place(message, {"plan": {"sql": "SELEC 1"}}, "plan", "plan.sql", "filter") == "/body/plan/sql"
    assert place(message, {"depot": "d-1"}, "depot", "query") == ""  # what is not there has no fault in it
    assert place(message, {"query": "SELEC 1", "filter": "x ="}, "query", "filter") == ""
    assert place(message, {"depot": "d-1"}, "depot") == ""


def test_an_empty_query_is_one_that_ends_too_early() -> None:
    assert place("syntax error at end of input", {"depot": "d-1"}, "depot", "query") == "/body/query"


def test_what_a_query_names_is_no_name_of_the_call() -> None:
    request = Request("/depot.v1.Depot/Run", "", body={"query": "SELECT * FROM node"})
    declared = Vocabulary((("body", "query"), ("body", "depot")))
    assert is_of_query("table node not found", request, declared)
    assert not is_of_query("depot not found", request, declared)
    assert not is_of_query("table node not found", request, Vocabulary((("body", "depot"),)))


@pytest.mark.parametrize(
    ("message", "body", "names", "wanted"),
    [
        ("Expecting value: line 1 column 1 (char 0)", {"key": "a"}, ("key", "value"), "/body/value"),
        ("invalid store config: EOF while parsing a value at line 1 column 0", {}, ("force", "storeConfig"),
            "/body/storeConfig"),
        ("EOF while parsing a value at line 1 column 0", {}, ("force", "storeConfig"), ""),
        ("unexpected end of JSON input", {"plan": "", "id": "1"}, ("id", "plan", "note"), "/body/plan"),
        ("expected value at line 1 column 1", {"name": "a", "config": "hello"}, ("name", "config"), "/body/config"),
        ("illegal base64 data at input byte 4", {"name": "a", "config": "?"}, ("name", "config"), "/body/config"),
        ("yaml: line 2: could not find expected ':'", {"a": "x", "b": "y"}, ("a", "b"), ""),
        ("invalid weather", {"config": "hello"}, ("config",), ""),
    ],
)  # fmt: skip
def test_a_sentence_of_a_decoder_is_about_the_only_text(
    message: str, body: Any, names: tuple[str, ...], wanted: str
) -> None:
    assert place(message, body, *names) == wanted


@pytest.mark.parametrize(
    ("body", "names", "wanted"),
    [
        ({"app": {"content": "aGk="}}, ("app", "app.content"), "/body/app/content"),
        ({"app": {"hash": "a"}}, ("app", "app.content", "app.hash"), "/body/app/content"),
        ({}, ("app", "app.content"), "/body/app"),
        ({"data": "aGk="}, ("data", "app", "app.content"), "/body/data"),
        ({"data": "aGk=", "file": "aGk="}, ("data", "file"), ""),
        ({"name": "a"}, ("name",), ""),
    ],
)
def test_bytes_that_are_of_no_form_are_in_the_field_that_holds_bytes(
    body: Any, names: tuple[str, ...], wanted: str
) -> None:
    assert place("File is not a zip file", body, *names) == wanted
    request = Request("/depot.v1.Depot/Run", "", body=body)
    declared = Vocabulary(tuple(("body", *name.split(".")) for name in names))
    assert is_of_bytes("File is not a zip file", request, declared) is bool(wanted)
    assert not is_of_bytes("the file is not there", request, declared)
