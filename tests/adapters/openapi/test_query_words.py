"""Names inside a query: bracketed parameters, and fields of the API that no schema of a query lists."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from corrigible.adapters.openapi.description import Description
from corrigible.adapters.openapi.load import load
from corrigible.adapters.openapi.suggest_operation import misspelt_words
from corrigible.rules.schema_repair.repair import repair
from corrigible.schema.edit import after_edit
from corrigible.schema.exchange import Request
from tests._support.rows import rows

PAGE = {"type": "object", "properties": {"size": {"type": "integer"}, "number": {}}, "additionalProperties": False}
ARTICLE = {"type": "object", "properties": {"title": {"type": "string"}, "views": {"type": "integer"}}}
PATHS = {
    "/articles": {
        "get": {
            "parameters": [
                {"name": "page", "in": "query", "style": "deepObject", "schema": PAGE},
                {"name": "pagination[pageSize]", "in": "query", "schema": {"type": "integer", "maximum": 50}},
                {"name": "sort", "in": "query", "schema": {"type": "string"}},
                {"name": "filters", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
            ],
            "responses": {"200": {"description": "all"}},
        },
        "post": {
            "requestBody": {
                "content": {"application/json": {"schema": {"type": "object", "properties": {"data": ARTICLE}}}}
            },
            "responses": {"201": {"description": "made"}},
        },
    }
}


@pytest.fixture(scope="module")
def articles(tmp_path_factory: pytest.TempPathFactory) -> Description:
    folder: Path = tmp_path_factory.mktemp("articles")
    file = folder / "articles.json"
    file.write_bytes(orjson.dumps({"openapi": "3.0.3", "info": {"title": "A", "version": "1"}, "paths": PATHS}))
    return load(file, cache=folder)


def mended(articles: Description, query: dict[str, str], message: str = "") -> dict[str, str] | None:
    request = Request("GET", "/articles", query=query)
    violations = articles.schema_violations(request, "GET /articles")
    violations = violations or articles.misspelt_words(request, message)
    for violation in violations[:1]:
        repaired = repair(violation, request, "1.")
        after = after_edit(repaired.suggestions[0], request) if repaired is not None else None
        return None if after is None else dict(after.query)
    return None


@rows(
    ("query", "expected"),
    [
        ({"page[siz]": "5"}, {"page[size]": "5"}),
        ({"pge[size]": "5"}, {"page[size]": "5"}),
        ({"page_size": "5"}, {"page[size]": "5"}),
        ({"size": "5"}, {"page[size]": "5"}),
        ({"pageSize": "5"}, {"page[size]": "5"}),  # which is no other spelling of `pagination[pageSize]`
        ({"pagination[page_size]": "5"}, {"pagination[pageSize]": "5"}),
        ({"pagination[pagesize]": "5", "sort": "a"}, {"pagination[pageSize]": "5", "sort": "a"}),
        ({"pagination[pageSize]": "500"}, {"pagination[pageSize]": 50}),
        ({"pagination[start]": "5"}, None),
        ({"colour": "5"}, None),
    ],
)
def test_bracketed_parameters(articles: Description, query: dict[str, str], expected: dict[str, str] | None) -> None:
    operation = articles.operations.find("GET", "/articles")
    assert operation is not None and operation[0] == "GET /articles"
    assert mended(articles, query) == expected


@rows(
    ("query", "message", "expected"),
    [
        ({"sort": "titel:asc"}, "Invalid key titel", {"sort": "title:asc"}),
        ({"sort": "views:asc,titel:desc"}, "Invalid key 'titel'", {"sort": "views:asc,title:desc"}),
        ({"filters[titel][$eq]": "x"}, "Invalid key titel", {"filters[title][$eq]": "x"}),
        ({"sort": "titel:asc"}, "Invalid query", None),  # the message does not say which word
        ({"sort": "titel:asc"}, "Invalid sort", {"sort": "title:asc"}),  # the only one there that is no field
        ({"sort": "titel:asc,viws"}, "Invalid sort", None),
        ({"filters[titel][$eq]": "x"}, "Invalid sort", None),
        ({"sort": "titel:asc"}, "The order was not found, order_id is unknown", None),
        ({"sort": "titel", "filters[titel][$eq]": "x"}, "Invalid key titel", None),  # nor which place
        ({"sort": "colour:asc"}, "Invalid key colour", None),
        ({"sort": "title:asc"}, "Invalid key title", None),
    ],
)
def test_a_word_that_the_message_is_about(
    articles: Description, query: dict[str, str], message: str, expected: dict[str, str] | None
) -> None:
    assert mended(articles, query, message) == expected


def test_what_a_parameter_holds_is_not_called_like_it() -> None:
    assert list(misspelt_words({"kinds": "kind.boat"}, ("kinds", "size"), "Invalid kinds: kind.boat")) == []
    assert list(misspelt_words({"kinds": "kind", "in": "kind"}, ("kinds", "size"), "Invalid kind")) == []
    assert len(list(misspelt_words({"sort": "kind"}, ("kinds", "size"), "Invalid sort: kind"))) == 1


def test_bounds() -> None:
    query = {f"p{number}": "titel" for number in range(1000)}
    assert list(misspelt_words(query, ("title",), "titel " * 10_000)) == []
    assert list(misspelt_words({"sort": "x" * 10_000 + " titel"}, ("title",), "titel")) == []


ORDERS = "Invalid order. order can only be one of asc|desc|ASC|DESC"


@rows(
    ("query", "message", "expected"),
    [
        ({"sort": "title:ascending"}, ORDERS, {"sort": "title:asc"}),
        ({"sort": "views:descending"}, ORDERS, {"sort": "views:desc"}),
        ({"sort": "title:desc"}, "Unknown order: use ascending or descending", {"sort": "title:descending"}),
        ({"sort": "title:up"}, ORDERS, None),
        ({"sort": "title:asc"}, ORDERS, None),  # what the message lists is right
        ({"sort": "ascending:ascending"}, ORDERS, None),
        ({"filters[title]": "ascending"}, ORDERS, None),
        ({"sort": "viewz"}, "Invalid key viewz", {"sort": "views"}),  # another ending, and no word
        ({"sort": "tibtle"}, "Invalid key tibtle", {"sort": "title"}),
        ({"sort": "titel"}, "Invalid key titel", {"sort": "title"}),
        ({"sort": "title:ascending"}, "Only asc and desc are known", None),  # nothing says that it is about the order
    ],
)
def test_a_direction_is_called_as_the_message_calls_it(
    articles: Description, query: dict[str, str], message: str, expected: dict[str, str] | None
) -> None:
    assert mended(articles, query, message) == expected
