"""Paths that are nearly an operation's: also where a segment is right elsewhere, or another method has the path."""

from __future__ import annotations

import pytest

from corrigible.adapters.openapi.near import NearOperations
from corrigible.adapters.operation import Operations

KNOWN = Operations(
    {
        "GET /user": "me",
        "GET /user/repos": "my-repos",
        "GET /users/{name}/repos": "repos-of",
        "GET /repos/{repo}/git/ref/{ref}": "get-ref",
        "PATCH /repos/{repo}/git/refs/{ref}": "move-ref",
        "DELETE /repos/{repo}/git/refs/{ref}": "delete-ref",
        "POST /searches": "search",
    }
)


@pytest.mark.parametrize(
    ("method", "path", "keyword", "offered"),
    [
        ("GET", "/user/ann/repos", "path", ["/users/ann/repos"]),
        ("GET", "/user/repo", "path", ["/user/repos"]),
        ("GET", "/repos/r/git/refs/main", "path", ["/repos/r/git/ref/main"]),
        ("PATCH", "/repos/r/git/ref/main", "method", ["GET"]),
        ("PUT", "/repos/r/git/refs/main", "method", ["PATCH", "DELETE"]),
        ("GET", "/searches", "method", ["POST"]),
    ],
)
def test_what_is_near(method: str, path: str, keyword: str, offered: list[str]) -> None:
    found = NearOperations(KNOWN).nearest(method, path)
    assert found is not None
    assert (found.keyword, found.schema, found.value) == (
        keyword,
        {"enum": offered},
        path if keyword == "path" else method,
    )
