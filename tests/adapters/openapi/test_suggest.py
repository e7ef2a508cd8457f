"""Paths that are nearly an operation's: also where a segment is right elsewhere, or another method has the path."""

from __future__ import annotations

import pytest

from corrigible.adapters.openapi.suggest_operation import OperationSuggester
from corrigible.adapters.operation import Operations
from tests._support.rows import rows

KNOWN = Operations(
    {
        "GET /user": "me",
        "GET /user/repos": "my-repos",
        "GET /users/{name}/repos": "repos-of",
        "GET /repos/{repo}/git/ref/{ref}": "get-ref",
        "PATCH /repos/{repo}/git/refs/{ref}": "move-ref",
        "DELETE /repos/{repo}/git/refs/{ref}": "delete-ref",
        "POST /searches": "search",
        "GET /stores/{store}/gift_cards": "cards",
        "POST /jobs/{job}:cancel": "cancel",
        "POST /hosts/{host}/stop": "stop",
        "GET /account": "account",
        "PUT /account": "change-account",
        "POST /accounts": "create-account",
    }
)


@rows(
    ("method", "path", "keyword", "offered"),
    [
        ("GET", "/user/ann/repos", "path", ["/users/ann/repos"]),
        ("GET", "/user/repo", "path", ["/user/repos"]),
        ("GET", "/repos/r/git/refs/main", "path", ["/repos/r/git/ref/main"]),
        ("PATCH", "/repos/r/git/ref/main", "elsewhere", ["/repos/r/git/refs/main"]),
        ("DELETE", "/repos/r/git/ref/main", "method", ["GET"]),
        ("PUT", "/repos/r/git/refs/main", "method", ["PATCH", "DELETE"]),
        ("GET", "/searches", "method", ["POST"]),
        ("GET", "/stores/7/cards", "path", ["/stores/7/gift_cards"]),
        ("POST", "/jobs/7/cancel", "path", ["/jobs/7:cancel"]),
        ("POST", "/hosts/7:stop", "path", ["/hosts/7/stop"]),
        # What is to be created is not what is changed, and a list is not the one thing.
        ("POST", "/account", "elsewhere", ["/accounts"]),
        ("PUT", "/accounts", "method", ["POST"]),
        ("GET", "/accounts", "method", ["POST"]),
    ],
)
def test_what_is_near(method: str, path: str, keyword: str, offered: list[str]) -> None:
    found = OperationSuggester(KNOWN).nearest(method, path)
    assert found is not None
    assert (found.keyword, found.schema, found.value) == (
        keyword,
        {"enum": offered},
        method if keyword == "method" else path,
    )


@pytest.mark.parametrize(
    ("path", "value", "offered"),
    [
        ("/users/ann/repo", "repo", ["/users/ann/repos"]),
        ("/users/ann/repo", "ann", None),  # another segment is the one that does not fit
        ("/user/42", "42", None),
    ],
)
def test_a_value_that_cannot_be_one_may_be_a_misspelt_path(path: str, value: str, offered: list[str] | None) -> None:
    found = OperationSuggester(KNOWN).alternatives("GET", path, value)
    assert (found.schema["enum"] if found is not None else None) == offered


def test_what_takes_all_that_is_left_may_have_taken_a_misspelt_path() -> None:
    near = OperationSuggester(
        Operations({"GET /branches/{+branch}": "get", "GET /branches/{branch}/protection": "guard"})
    )
    found = near.nearest("GET", "/branches/main/protectoin")
    assert found is not None
    assert found.schema == {"enum": ["/branches/main/protection"]}
    assert near.nearest("GET", "/branches/main") is None


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("/api/v1/things/7", ["/api/v2/things/7"]),
        ("/api/v2beta1/things", ["/api/v2/things"]),
        ("/api/things/7", ["/api/v2/things/7"]),  # a half of the base path
        ("/other/v1/things", []),
        ("/api/old/things", []),
    ],
)
def test_another_version_of_the_api(path: str, near: list[str]) -> None:
    table = {f"GET /api/v2/{name}{tail}": f"{name}{tail}" for name in ("things", "parts") for tail in ("", "/{id}")}
    violation = OperationSuggester(Operations(table)).nearest("GET", path)
    assert (violation.schema["enum"] if violation is not None else []) == near


@pytest.mark.parametrize(
    ("method", "path", "offered"),
    [
        ("POST", "/order", ["/orders/"]),
        ("POST", "/order/", ["/orders/"]),
        ("PUT", "/order/7/", ["/orders/7/"]),
        ("POST", "/orders/create", ["/orders/"]),
        ("GET", "/shipments/", ["/shipment"]),
    ],
)
def test_a_path_is_offered_with_the_slash_at_its_end_that_the_description_has(
    method: str, path: str, offered: list[str]
) -> None:
    suggester = OperationSuggester(
        Operations({"POST /orders/": "create", "PUT /orders/{id}/": "update", "GET /shipment": "track"})
    )
    found = suggester.nearest(method, path)
    assert found is not None
    assert (found.keyword, found.schema["enum"]) == ("path", offered)


def test_a_value_that_cannot_be_one_may_be_a_misspelt_path_that_ends_in_a_slash() -> None:
    suggester = OperationSuggester(Operations({"GET /users/{name}/": "user", "GET /users/search/": "search"}))
    for path in ("/users/serch", "/users/serch/"):
        found = suggester.alternatives("GET", path, "serch")
        assert found is not None
        assert found.schema["enum"] == ["/users/search/"]


WITHIN = Operations(
    {
        "GET /api/hosts": "all-hosts",
        "PATCH /api/hosts": "change-hosts",
        "DELETE /api/hosts": "delete-hosts",
        "POST /api/sites/{site}/hosts": "add-host",
        "GET /api/hosts/{host}": "host",
        "DELETE /api/sites/{site}/hosts/{host}": "delete-host",
        "GET /api/racks": "all-racks",
        "POST /api/sites/{site}/racks": "add-rack",
        "POST /api/rooms/{room}/racks": "add-rack-to-room",
        "GET /api/logs": "logs",
        "PUT /api/logs": "set-logs",
        "PATCH /api/sites/{site}/logs": "change-logs",
    }
)


@pytest.mark.parametrize(
    ("method", "path", "pattern"),
    [
        ("POST", "/api/hosts", "^/api/sites/[^/]+/hosts$"),
        ("DELETE", "/api/hosts/7", "^/api/sites/[^/]+/hosts/[^/]+$"),
    ],
)
def test_a_path_that_leaves_out_where_the_resource_belongs(method: str, path: str, pattern: str) -> None:
    found = OperationSuggester(WITHIN).nearest(method, path)
    assert found is not None
    assert (found.keyword, found.schema) == ("elsewhere", {"type": "string", "pattern": pattern})


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/racks"),  # two have it: which is meant is not known
        ("PATCH", "/api/logs"),  # PUT of the same path may be meant
    ],
)
def test_a_path_of_which_another_method_may_be_meant(method: str, path: str) -> None:
    found = OperationSuggester(WITHIN).nearest(method, path)
    assert found is None or found.keyword == "method"


FLOWS = Operations(
    {
        "GET /flows/{id}": "get",
        "GET /flows/{id}/{version}": "version",
        "POST /flows/{id}/activate": "activate",
        "POST /flows/{id}/deactivate": "deactivate",
        "PUT /flows/{id}/transfer": "transfer",
        "DELETE /types/{id}": "delete-type",
        "GET /types/schema/{name}": "schema",
        "POST /types/{id}/copy": "copy",
    }
)


@rows(
    ("method", "path", "schema"),
    [
        # The last word is no version, though a variable takes it.
        (
            "POST",
            "/flows/7/enable",
            {"type": "string", "enum": ["/flows/7/activate", "/flows/7/deactivate"]},
        ),
        ("PUT", "/flows/7/move", {"type": "string", "enum": ["/flows/7/transfer"]}),
        ("POST", "/flows/7/8", None),  # a number may be a version
        ("DELETE", "/flows/7/enable", None),  # no word has that method
        # The path only leads to those with one name more.
        ("GET", "/types/schema", {"type": "string", "pattern": "^/types/schema/[^/]+$"}),
        ("GET", "/types/other", None),
    ],
)
def test_a_word_that_a_variable_takes_is_asked_about(method: str, path: str, schema: dict[str, object] | None) -> None:
    found = OperationSuggester(FLOWS).nearest(method, path)
    assert found is not None
    assert (found.keyword == "around") is (schema is not None)
    assert schema is None or found.schema == schema


BUILDERS = Operations(
    {
        "GET /builders/{name}": "get",
        "POST /builders/{name}/id": "new-id",
        "POST /builders/gbm": "gbm",
        "POST /builders/glm": "glm",
        "POST /builders/kmeans": "kmeans",
        "GET /builders/trees": "trees",
        "POST /builders/tree": "tree",
    }
)


@pytest.mark.parametrize(
    ("path", "offered"),
    [
        ("/builders/gbmm", ["/builders/gbm"]),
        ("/builders/kmenas", ["/builders/kmeans"]),
        ("/builders/forest", ["/builders/forest/id"]),  # near to none: a name, for all that is known
        ("/builders/trees", ["/builders/trees/id"]),  # it is a word of its own
        ("/builders/gbm7", ["/builders/gbm7/id"]),  # a name with a number is no slip
    ],
)
def test_a_misspelt_word_that_reads_take_for_a_name(path: str, offered: list[str]) -> None:
    found = OperationSuggester(BUILDERS).nearest("POST", path)
    assert found is not None and found.schema["enum"] == offered
