"""GitHub's operations and its own description, on github.com and on an Enterprise Server."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from corrigible.adapters.apis.github.adapter import ADAPTER, description
from corrigible.schema.exchange import Request
from tests._support.rows import rows

GENERATE = runpy.run_path(str(Path(__file__).parents[4] / "adapters/generate_operations.py"))


def test_every_operation_of_the_description_is_known_by_its_name() -> None:
    described = set(description().operations.names)
    assert len(described) > 1100
    assert described <= set(ADAPTER.operations.names)


@rows(
    ("method", "path", "name", "values"),
    [
        ("PUT", "/repos/o/r/contents/docs/a%20b.md", "repos/create-or-update-file-contents", {"path": "docs/a b.md"}),
        ("GET", "/repos/o/r/contents", "repos/get-content", {}),
        ("PATCH", "/repos/o/r/git/refs/heads/feature/x", "git/update-ref", {"ref": "heads/feature/x"}),
        ("GET", "/repos/o/r/commits/main/status", "repos/get-combined-status-for-ref", {"ref": "main"}),
        ("PUT", "/repos/o/r/pulls/7/merge", "pulls/merge", {"pull_number": "7"}),
    ],
)
@rows("base", ["", "/api/v3"])
def test_operations_are_found_under_both_bases(
    base: str, method: str, path: str, name: str, values: dict[str, str]
) -> None:
    found = ADAPTER.operations.find(method, base + path)
    assert found == (name, {"owner": "o", "repo": "r", **values})


@pytest.mark.parametrize("base", ["", "/api/v3"])
def test_a_request_is_held_against_the_description_under_both_bases(base: str) -> None:
    request = Request("POST", f"{base}/repos/o/r/issues", body={"body": "x"})
    assert [(b.pointer, b.keyword) for b in description().schema_violations(request, "issues/create")] == [
        ("/body/title", "required")
    ]
    assert list(description().schema_violations(request, "issues/create", at="/body/body")) == []


@pytest.mark.parametrize("base", ["", "/api/v3"])
def test_a_list_that_is_taken_for_an_account(base: str) -> None:
    (violation,) = description().schema_violations(Request("GET", f"{base}/user/repo"), "users/get-by-id")
    assert (violation.keyword, violation.value, violation.schema["enum"]) == (
        "path",
        f"{base}/user/repo",
        [f"{base}/user/repos"],
    )


@pytest.mark.parametrize("base", ["", "/api/v3"])
def test_the_nearest_path_keeps_its_base(base: str) -> None:
    violation = description().nearest_operation(Request("GET", f"{base}/repos/o/r/pull"))
    assert violation is not None
    assert (violation.keyword, violation.value, violation.schema["enum"]) == (
        "path",
        f"{base}/repos/o/r/pull",
        [f"{base}/repos/o/r/pulls"],
    )
    wrong = description().nearest_operation(Request("PUT", f"{base}/repos/o/r/issues/3"))
    assert wrong is not None
    assert (wrong.keyword, wrong.schema["enum"]) == ("method", ["GET", "PATCH"])
    assert description().nearest_operation(Request("GET", f"{base}/zzz/yyy/xxx/www")) is None


def test_facts_are_those_of_the_description() -> None:
    facts = description().facts("issues/create-label")
    assert facts["required"] == ["name"]
    assert facts["properties"]["color"]["type"] == "string"


def test_operations_are_written_with_their_paths_whole() -> None:
    paths = {
        "/b": {"get": {"operationId": "b"}, "parameters": []},
        "/repos/{owner}/{repo}/git/ref/{ref}": {"get": {"operationId": "ref"}},
        "/a": {"post": {"operationId": "a2"}, "get": {"operationId": "a1"}},
    }
    written = GENERATE["github_operations"]({"paths": paths})
    assert list(written.items()) == [
        ("GET /a", "a1"),
        ("POST /a", "a2"),
        ("GET /b", "b"),
        *GENERATE["UNWRITTEN"].items(),
        ("GET /repos/{owner}/{repo}/git/ref/{+ref}", "ref"),
    ]
    assert "/repos/{owner}/{repo}/contents/{path}" in GENERATE["SLASHED"]
