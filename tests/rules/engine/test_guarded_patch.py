"""Parameters become guarded patches, or nothing: never an edit that could mean something else."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.engine.guarded_patch import (
    PatchError,
    changes_request,
    derive,
    guarded,
    with_new_idempotency_key,
)
from corrigible.rules.functions.builtin import Operation
from corrigible.schema.exchange import Request
from tests._support.counted import counted
from tests._support.rows import rows

SECRETS = frozenset({"cvc", "pin"})


def expect(path: str, value: Any) -> Operation:
    return {"op": "test", "path": path, "value": value}


def add(path: str, value: Any) -> Operation:
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: Any) -> Operation:
    return {"op": "replace", "path": path, "value": value}


def remove(path: str) -> Operation:
    return {"op": "remove", "path": path}


@rows(
    ("body", "parameters", "patch"),
    [
        ({"a": 1}, {"b": 2}, [add("/body/b", 2)]),
        ({"a": 1}, {"a": 2}, [expect("/body/a", 1), replace("/body/a", 2)]),
        ({"a": 1}, {"a": None}, [expect("/body/a", 1), remove("/body/a")]),
        ({"a": 1}, {"b": None}, []),
        ({"a": None}, {"a": 1}, [expect("/body/a", None), replace("/body/a", 1)]),
        ({"a": 1}, {}, []),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, [expect("/body/a/b", 1), replace("/body/a/b", 3)]),
        ({"a": {"b": 1}}, {"a": {"c": {"d": 1}}}, [add("/body/a/c", {"d": 1})]),
        ({"a": {"b": 1}}, {"a": None}, [remove("/body/a")]),
        ({"a": {"b": 1}}, {"a": {"b": None}, "c": 2}, [expect("/body/a/b", 1), remove("/body/a/b"), add("/body/c", 2)]),
        ({"a": 1}, {"a": {"b": 1}}, [expect("/body/a", 1), replace("/body/a", {"b": 1})]),
        (
            {"a/b": 1, "~": 2},
            {"a/b": 3, "~": None},
            [
                expect("/body/a~1b", 1),
                replace("/body/a~1b", 3),
                expect("/body/~0", 2),
                remove("/body/~0"),
            ],
        ),
        ({"cvc": "12345"}, {"cvc": "54321"}, [replace("/body/cvc", "54321")]),
        ({"card": {"pin": "12345"}}, {"card": {"pin": None}}, [remove("/body/card/pin")]),
        ({"text": "x" * 256}, {"text": None}, [expect("/body/text", "x" * 256), remove("/body/text")]),
        ({"text": "x" * 257}, {"text": None}, [remove("/body/text")]),
        (None, {"a": 1, "b": None}, [add("/body", {"a": 1})]),
        ({}, {"a": 1}, [add("/body", {"a": 1})]),
        ("", {"a": {"b": 1}}, [add("/body", {"a": {"b": 1}})]),
    ],
)
def test_derived_for_a_body(body: Any, parameters: dict[str, Any], patch: list[Operation]) -> None:
    assert derive(Request("POST", "/x", body=body), parameters, SECRETS) == patch


@rows("method", ["GET", "HEAD", "DELETE"])
@rows("body", [None, {}])
def test_without_a_body_they_go_into_the_query(method: str, body: Any) -> None:
    request = Request(method, "/x", query={"limit": "500", "old": "1"}, body=body)
    assert derive(request, {"limit": 100, "old": None, "new": "x"}, SECRETS) == [
        expect("/query/limit", "500"),
        replace("/query/limit", 100),
        expect("/query/old", "1"),
        remove("/query/old"),
        add("/query/new", "x"),
    ]


def test_a_secret_of_the_query_is_not_repeated() -> None:
    request = Request("GET", "/x", query={"card[cvc]": "12345"})
    assert derive(request, {"card[cvc]": None}, SECRETS) == [remove("/query/card[cvc]")]


def test_a_delete_with_a_body_is_edited_there() -> None:
    request = Request("DELETE", "/x", query={"a": "1"}, body={"a": 1})
    assert derive(request, {"a": 2}, SECRETS) == [expect("/body/a", 1), replace("/body/a", 2)]


@rows(
    ("body", "parameters", "expected_message"),
    [
        ({"a": 1}, {"a": [1]}, "/body/a is an array, write the patch"),
        ({"a": [1]}, {"a": 1}, "/body/a is an array, write the patch"),
        ({"a": [1]}, {"a": None}, "/body/a is an array, write the patch"),
        ({"a": {"b": [1]}}, {"a": {"b": {"c": 1}}}, "/body/a/b is an array, write the patch"),
        ([1], {"a": 1}, "the request's body is no object, write the patch"),
        ("text", {"a": 1}, "the request's body is no object, write the patch"),
        (0, {"a": 1}, "the request's body is no object, write the patch"),
    ],
)
def test_what_cannot_be_derived(body: Any, parameters: dict[str, Any], expected_message: str) -> None:
    with pytest.raises(PatchError) as caught:
        derive(Request("POST", "/x", body=body), parameters, SECRETS)
    assert str(caught.value) == expected_message


DOCUMENT = Request("POST", "/x", body={"items": [{"id": "a", "tags": ["x", "y"]}, {"id": "b"}], "n": 1}).document()
FIRST = expect("/body/items/0/id", "a")


@rows(
    "patch",
    [
        [replace("/body/n", 2)],
        [replace("/body/items", [])],
        [replace("/path", "/y"), replace("/method", "GET"), add("/query/a", 1), add("/headers/x-a", "1")],
        [FIRST, remove("/body/items/0")],
        [expect("/body/items/0", {"id": "a"}), replace("/body/items/0/id", "c")],
        [FIRST, expect("/body/items/0/tags/1", "y"), remove("/body/items/0/tags/1")],
        [add("/body/items/-", {"id": "c"})],
        [add("/body/items/2", {"id": "c"})],
        [FIRST, {"op": "move", "from": "/body/items/0/id", "path": "/body/first"}],
    ],
)
def test_guarded(patch: list[Operation]) -> None:
    guarded(DOCUMENT, patch)


def test_a_test_counts_only_until_elements_move() -> None:
    second = expect("/body/items/1/id", "b")
    guarded(DOCUMENT, [FIRST, second, remove("/body/items/1"), remove("/body/items/0")])
    guarded(DOCUMENT, [FIRST, replace("/body/items/0/id", "c"), remove("/body/items/0")])
    guarded(DOCUMENT, [FIRST, remove("/body/items/0"), expect("/body/items/0/id", "b"), remove("/body/items/0")])
    guarded(DOCUMENT, [FIRST, add("/body/items/-", {}), remove("/body/items/0")])
    with pytest.raises(PatchError, match=r"^/body/items/1 edits an array element without a test"):
        guarded(DOCUMENT, [FIRST, second, remove("/body/items/0"), remove("/body/items/1")])


@rows(
    ("patch", "expected_message"),
    [
        ([remove("/body/items/0")], "/body/items/0 edits an array element without a test of it first"),
        ([remove("/body/items/0"), FIRST], "/body/items/0 edits an array element without a test of it first"),
        ([remove("/body/items/2")], "/body/items/2 edits an array element without a test of it first"),
        (
            [FIRST, remove("/body/items/0"), remove("/body/items/0")],
            "/body/items/0 edits an array element without a test of it first",
        ),
        ([add("/body/n", 1)] * 401, "a patch of 401 operations, 400 are the most"),
        ([FIRST, remove("/body/items/1")], "/body/items/1 edits an array element without a test of it first"),
        ([replace("/body/items/0/id", "c")], "/body/items/0/id edits an array element without a test of it first"),
        ([add("/body/items/0", {})], "/body/items/0 edits an array element without a test of it first"),
        (
            [FIRST, remove("/body/items/0/tags/1")],
            "/body/items/0/tags/1 edits an array element without a test of it first",
        ),
        (
            [{"op": "move", "from": "/body/items/1", "path": "/body/x"}],
            "/body/items/1 edits an array element without a test of it first",
        ),
        (
            [expect("/body/items/10/id", "a"), remove("/body/items/1")],
            "/body/items/1 edits an array element without a test of it first",
        ),
        ([replace("/headers/Authorization", "x")], "/headers/Authorization is a credential"),
        ([expect("/headers/cookie", "x")], "/headers/cookie is a credential"),
        (
            [{"op": "copy", "from": "/headers/authorization", "path": "/body/x"}],
            "/headers/authorization is a credential",
        ),
    ],
)
def test_unguarded(patch: list[Operation], expected_message: str) -> None:
    with pytest.raises(PatchError) as caught:
        guarded(DOCUMENT, patch)
    assert str(caught.value) == expected_message


def test_the_body_may_be_an_array_itself() -> None:
    document = Request("POST", "/x", body=[{"id": 1}]).document()
    guarded(document, [expect("/body/0/id", 1), remove("/body/0")])
    with pytest.raises(PatchError):
        guarded(document, [remove("/body/0")])


@pytest.mark.parametrize(
    ("patch", "changes"),
    [
        ([], False),
        ([FIRST], False),
        ([add("/headers/x", "1")], False),
        ([replace("/path", "/y")], True),
        ([FIRST, remove("/body/items/0")], True),
    ],
)
def test_whether_the_request_changes(patch: list[Operation], changes: bool) -> None:
    assert changes_request(patch) is changes


def test_the_longest_patch_is_allowed_and_counted() -> None:
    patch = [add("/body/n", 1)] * 400
    guarded(DOCUMENT, patch)
    assert counted(lambda: guarded(DOCUMENT, patch))[1] >= 400


@pytest.mark.parametrize(("length", "operations"), [(256, ["test", "replace"]), (257, ["replace"])])
def test_a_long_text_is_replaced_without_a_test(length: int, operations: list[str]) -> None:
    patch = derive(Request("POST", "/x", body={"a": "x" * length}), {"a": "y"}, SECRETS)
    assert [op["op"] for op in patch] == operations


@rows(
    ("header", "patch", "renewed"),
    [
        ("key", [replace("/body/n", 2)], True),
        ("key", [FIRST], False),
        ("key", [replace("/headers/x", "1")], False),
        ("key", [replace("/body/n", 2), replace("/headers/key", "k2")], False),
        ("other", [replace("/body/n", 2)], False),
        ("", [replace("/body/n", 2)], False),
    ],
)
def test_whether_the_idempotency_key_is_new(header: str, patch: list[Operation], renewed: bool) -> None:
    request = Request("POST", "/x", headers={"key": "k"}, body={"n": 1})
    out = with_new_idempotency_key(patch, request, header, "seed")
    assert out[: len(patch)] == patch
    assert [op["path"] for op in out[len(patch) :]] == ["/headers/key"] * renewed
