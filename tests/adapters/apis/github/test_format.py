"""GitHub's error dialect: every complaint is found, with its place in the request where it has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from corrigible.adapters.apis.github.format import GITHUB
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

DOCS = "https://docs.github.com/rest"


def read(body: Any, request: Request | None = None, status: int = 422) -> Sequence[Violation]:
    return GITHUB.read(Exchange(request or Request("POST", "/repos/o/r/issues", body={}), status, {}, b""), body)


def said(body: Any, request: Request | None = None) -> list[tuple[str, str, str]]:
    return [(one.code, one.param, one.pointer) for one in read(body, request)]


def failed(*errors: Any) -> dict[str, Any]:
    return {"message": "Validation Failed", "errors": list(errors), "documentation_url": DOCS, "status": "422"}


def test_an_entry_is_one_complaint_with_its_resource_and_its_own_message() -> None:
    entry = {"resource": "Issue", "field": "title", "code": "custom", "message": "title is too long", "value": "x"}
    (one,) = read(failed(entry), Request("POST", "/repos/o/r/issues", body={"title": "x"}))
    assert (one.code, one.message, one.pointer, one.type, one.param) == (
        "custom",
        "title is too long",
        "/body/title",
        "Issue",
        "title",
    )
    assert one.native["value"] == "x"
    assert one.native["top"] == "Validation Failed"
    assert one.native["documentation_url"] == DOCS


def test_an_entry_without_a_message_says_the_top_one() -> None:
    (one,) = read(failed({"resource": "Issue", "field": "title", "code": "missing_field"}))
    assert (one.message, one.pointer) == ("Validation Failed", "/body/title")


@pytest.mark.parametrize(
    ("errors", "found"),
    [
        (["Could not resolve it."], [("", "", "", "Could not resolve it.")]),
        ("Only one sentence.", [("", "", "", "Only one sentence.")]),
        ([], [("", "", "", "Validation Failed")]),
        ([7, None, ""], [("", "", "", "Validation Failed")]),
        (["config.url is required", {"code": "custom", "message": "no"}], [
            ("missing_field", "config.url", "/body/config/url", "config.url is required"),
            ("custom", "", "", "no"),
        ]),
    ],
)  # fmt: skip
def test_entries_may_be_sentences(errors: Any, found: list[tuple[str, str, str, str]]) -> None:
    body = {"message": "Validation Failed", "errors": errors}
    assert [(one.code, one.param, one.pointer, one.message) for one in read(body)] == found


@rows(
    ("entry", "pointer"),
    [
        ({"resource": "PullRequest", "field": "head_sha", "code": "missing_field"}, ""),
        ({"resource": "PullRequest", "field": "base_sha", "code": "missing_field"}, ""),
        ({"resource": "CheckRun", "field": "head_sha", "code": "missing_field"}, "/body/head_sha"),
        ({"resource": "PullRequest", "field": "head", "code": "invalid"}, "/body/head"),
        ({"resource": "IssueComment", "field": "data", "code": "unprocessable"}, ""),
        ({"resource": "X", "field": "thread.line", "code": "invalid"}, "/body/line"),
        ({"resource": "X", "field": None, "code": "custom", "message": "no"}, ""),
        ({"resource": "X", "field": "a/b", "code": "missing_field"}, "/body/a~1b"),
    ],
)
def test_a_place_is_named_where_the_request_has_it(entry: dict[str, Any], pointer: str) -> None:
    request = Request("POST", "/repos/o/r/pulls", body={"head": "f", "line": 3})
    assert [one.pointer for one in read(failed(entry), request)] == [pointer]


def test_parameters_of_a_query_are_in_the_query() -> None:
    missing = failed({"resource": "Search", "field": "q", "code": "missing"})
    assert said(missing, Request("GET", "/search/users")) == [("missing", "q", "/query/q")]
    taken = failed({"resource": "ReleaseAsset", "field": "name", "code": "already_exists"})
    upload = Request("POST", "/repos/o/r/releases/1/assets", {"name": "a.zip"})
    assert said(taken, upload) == [("already_exists", "name", "/query/name")]


@rows(
    ("message", "body", "found"),
    [
        ('Invalid request.\n\n"sha" wasn\'t supplied.', {}, [("missing_field", "sha", "/body/sha")]),
        (
            '"sha" wasn\'t supplied. README.md already exists.',
            {"content": ""},
            [("missing_field", "sha", "/body/sha")],
        ),
        (
            'Invalid request.\n\n"base", "head" weren\'t supplied.',
            {},
            [("missing_field", "base", "/body/base"), ("missing_field", "head", "/body/head")],
        ),
        (
            "Invalid request.\n\nFor 'properties/sha', nil is not a string.",
            {},
            [("missing_field", "sha", "/body/sha")],
        ),
        (
            "Invalid request.\n\nFor 'properties/labels', \"bug\" is not an array.",
            {"labels": "bug"},
            [("invalid", "labels", "/body/labels")],
        ),
        (
            'Invalid request.\n\n"mascot" is not a permitted key.',
            {"mascot": 1},
            [("unpermitted", "mascot", "/body/mascot")],
        ),
        (
            'Invalid request.\n\n"a", "b" are not permitted keys.',
            {},
            [("unpermitted", "a", "/body/a"), ("unpermitted", "b", "/body/b")],
        ),
        ("new_owner is required", {}, [("missing_field", "new_owner", "/body/new_owner")]),
        ("tree array is required", {}, [("missing_field", "tree", "/body/tree")]),
        (
            "conclusion is required when status is completed",
            {},
            [("missing_field", "conclusion", "/body/conclusion")],
        ),
        ("role must be admin or member", {"role": "boss"}, [("invalid", "role", "/body/role")]),
        ("role must be admin or member", {}, [("missing_field", "role", "/body/role")]),
        ("Invalid sha", {"sha": "main"}, [("invalid", "sha", "/body/sha")]),
        ("Invalid sha", {"ref": "main"}, [("", "", "")]),
        ("Invalid repository name", {"name": "a b"}, [("", "", "")]),
        ("Not Found", {}, [("", "", "")]),
    ],
)
def test_sentences_that_name_a_member(message: str, body: Any, found: list[tuple[str, str, str]]) -> None:
    assert said({"message": message}, Request("PUT", "/repos/o/r/x", body=body)) == found


def test_a_type_that_is_wanted_is_the_constraint() -> None:
    (one,) = read({"message": "Invalid request.\n\nFor 'properties/draft', \"true\" is not a boolean."})
    assert one.constraint == "type:boolean"


def test_a_query_names_its_members_too() -> None:
    request = Request("GET", "/user/repos", {"sort": "stars"})
    assert said({"message": "Invalid sort parameter"}, request) == [("invalid", "sort", "/query/sort")]
    asked = {"message": "Validation Failed: repository_id is required"}
    assert said(asked, Request("GET", "/search/labels")) == [("missing_field", "repository_id", "/query/repository_id")]


@rows(
    ("path", "base", "repo", "where"),
    [
        ("/repos/o/r", "", "/repos/o/r", "o/r"),
        ("/repos/o/r%20s/issues/1", "", "/repos/o/r%20s", "o/r%20s"),
        ("/api/v3/repos/o/r/labels/a", "/api/v3", "/api/v3/repos/o/r", "o/r"),
        ("/api/v3/user", "/api/v3", "", "/api/v3/user"),
        ("/orgs/acme/repos", "", "", "acme"),
        ("/api/v3/orgs/acme", "/api/v3", "", "acme"),
        ("/repos/o", "", "", "/repos/o"),
    ],
)
def test_where_the_api_and_the_repository_begin(path: str, base: str, repo: str, where: str) -> None:
    (one,) = read({"message": "Not Found"}, Request("GET", path), 404)
    assert (one.native["base"], one.native["repo"], one.native["where"]) == (base, repo, where)


@rows(
    ("body", "status"),
    [
        ({"message": "Hello", "documentation_url": DOCS}, 200),
        ({"message": ""}, 404),
        ({"message": 7}, 404),
        ({"message": "No", "code": 7}, 404),
        ({"error": {"message": "No"}}, 404),
        (["Not Found"], 404),
        ("Not Found", 404),
        (None, 404),
    ],
)
def test_what_is_no_such_answer(body: Any, status: int) -> None:
    assert list(read(body, status=status)) == []
