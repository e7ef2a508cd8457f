"""One suggestion, one request: patches, merges, equality."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from corrigible.schema import Request, Suggestion
from corrigible.schema.edit import (
    MAX_REQUEST_DEPTH,
    NotApplicable,
    after_edit,
    after_suggestion,
    apply_operation,
    same_json,
    same_text,
    step_requests,
)
from tests._support.rows import rows


def patched(request: Request, *operations: dict[str, Any]) -> Request:
    suggestion = Suggestion.model_validate({"action": "MODIFY_PARAMS", "patch": operations})
    return after_suggestion(suggestion, request)


def merged(request: Request, **parameters: Any) -> Request:
    return after_suggestion(Suggestion(action="MODIFY_PARAMS", parameters=parameters), request)


def op(verb: str, path: str, *value: Any) -> dict[str, Any]:
    return {"op": verb, "path": path, **({"value": value[0]} if value else {})}


@rows(
    ("have", "want", "in_json", "in_text"),
    [
        (500, 500, True, True),
        ("500", 500, False, True),
        (1, 1.0, True, False),
        (True, True, True, True),
        (True, 1, False, False),
        (1, True, False, False),
        (0, False, False, False),
        ("true", True, False, True),
        ("false", False, False, True),
        ("True", True, False, False),
        (None, None, True, True),
        ("", None, False, True),
        (None, False, False, False),
        ("null", None, False, False),
        ([1, "a"], [1, "a"], True, True),
        (["1"], [1], False, True),
        ([1], [True], False, False),
        (["1", 2], [1, 3], False, False),
        (["a", 2], ["a", 3], False, False),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, False, False),
        ({"a": 1}, {"a": 1, "b": 2}, False, False),
        ([], "", False, False),
        ([1], [1, 1], False, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, True),
        ({"a": "1"}, {"a": 1}, False, True),
        ({"a": 1}, {"a": True}, False, False),
        ({"a": 1}, {"b": 1}, False, False),
        ({}, [], False, False),
        ({}, "", False, False),
        ("", [], False, False),
        (2**63, 2**63, True, True),
        (2**53, 2**53 + 1, False, False),
    ],
)
def test_equality(have: Any, want: Any, in_json: bool, in_text: bool) -> None:
    assert same_json(have, want) is same_json(want, have) is in_json
    assert same_text(have, want) is same_text(want, have) is in_text


@pytest.mark.parametrize(
    ("where", "form", "loose"), [("body", False, False), ("body", True, True), ("query", False, True)]
)
def test_a_test_is_by_text_in_forms_and_queries_only(where: str, form: bool, loose: bool) -> None:
    members = {"a": "5", "deep": {"on": "true"}}
    request = Request("POST", "/x", query=members, body=members, form=form)
    for guard in (op("test", f"/{where}/a", 5), op("test", f"/{where}/deep/on", True)):
        if loose:
            assert patched(request, guard) == request
        else:
            with pytest.raises(NotApplicable, match="is not what the suggestion is for"):
                patched(request, guard)


def test_a_test_of_true_does_not_take_one_in_json() -> None:
    request = Request("POST", "/x", body={"a": 1})
    with pytest.raises(NotApplicable):
        patched(request, op("test", "/body/a", True))
    assert patched(request, op("test", "/body/a", 1.0)) == request


BODY = {"items": [{"id": "x"}, {"id": "y", "n": 1}], "name": "box", "~/": 0, "0": "zero"}
JSON = Request("POST", "/v1/boxes", query={"expand": ["a"]}, headers={"x-version": "1"}, body=BODY)


@rows(
    ("operations", "changes"),
    [
        (
            [op("test", "/body/items/1/id", "y"), op("remove", "/body/items/1")],
            {"body": {**BODY, "items": [{"id": "x"}]}},
        ),
        ([op("add", "/body/items/-", 1)], {"body": {**BODY, "items": [*BODY["items"], 1]}}),  # type: ignore[misc]  # a list
        ([op("replace", "/body/~0~1", None)], {"body": {**BODY, "~/": None}}),
        ([op("test", "/body/0", "zero"), op("replace", "/body/0", 0)], {"body": {**BODY, "0": 0}}),
        (
            [op("replace", "/method", "PATCH"), op("replace", "/path", "/v1/boxes/7")],
            {"method": "PATCH", "path": "/v1/boxes/7"},
        ),
        ([op("add", "/query/limit", 100)], {"query": {"expand": ["a"], "limit": 100}}),
        ([op("remove", "/query")], {"query": {}}),
        ([op("replace", "/query/expand/0", "b")], {"query": {"expand": ["b"]}}),
        ([op("replace", "/headers/X-Version", "2")], {"headers": {"x-version": "2"}}),
        ([op("add", "/headers/x-count", 5)], {"headers": {"x-version": "1", "x-count": "5"}}),
        ([op("remove", "/body")], {"body": None}),
        ([op("replace", "/body", [1])], {"body": [1]}),
        (
            [{"op": "move", "path": "/query/name", "from": "/body/name"}, op("remove", "/body")],
            {"query": {"expand": ["a"], "name": "box"}, "body": None},
        ),
        (
            [{"op": "copy", "path": "/body/copy", "from": "/body/items"}, op("remove", "/body/copy/0")],
            {"body": {**BODY, "copy": [{"id": "y", "n": 1}]}},
        ),
    ],
)
def test_a_patch_that_fits(operations: list[dict[str, Any]], changes: dict[str, Any]) -> None:
    assert patched(JSON, *operations) == replace(JSON, **changes)
    assert BODY["items"] == [{"id": "x"}, {"id": "y", "n": 1}]


@rows(
    "operations",
    [
        [op("remove", "/body/missing")],
        [op("replace", "/body/missing", 1)],
        [op("test", "/body/missing", None)],
        [op("test", "/body/name/0", "b")],
        [op("test", "/body/items/01", {"id": "y", "n": 1})],
        [op("test", "/body/items/-", 1)],
        [op("test", "/body/items/٣", 1)],
        [op("test", "/body/name")],
        [op("add", "/body/name/0", "b")],
        [op("add", "/body/items/3", 1)],
        [op("remove", "/body/items/2")],
        [op("add", "/body/a")],
        [op("add", "body/a", 1)],
        [op("add", "/cookies", 1)],
        [op("replace", "", {"method": "GET"})],
        [op("replace", "", [])],
        [op("remove", "/method")],
        [op("replace", "/method", 7)],
        [op("replace", "/method", "GET /x HTTP/1.1\r\n")],
        [op("remove", "/path")],
        [op("replace", "/path", "//evil.example/x")],
        [op("replace", "/path", "https://evil.example/x")],
        [op("replace", "/path", "/\\evil.example")],
        [op("replace", "/path", "/x?admin=1")],
        [op("replace", "/path", "/x\r\nHost: evil")],
        [op("replace", "/path", "x")],
        [op("replace", "/query", "a=b")],
        [op("replace", "/headers", [])],
        [op("add", "/headers/x y", "1")],
        [op("add", "/headers/x", "1\r\nauthorization: y")],
        [op("add", "/headers/x", None)],
        [op("add", "/headers/x", ["1"])],
        [{"op": "move", "path": "/body/items/0", "from": "/body/items"}],
        [{"op": "move", "path": "/body/a", "from": "/body/missing"}],
        [{"op": "copy", "path": "/body/a"}],
        [op("test", "/body/items/" + "9" * 5000, 1)],
    ],
)
def test_a_patch_that_does_not_fit_is_not_applied_at_all(operations: list[dict[str, Any]]) -> None:
    with pytest.raises(NotApplicable):
        patched(JSON, op("add", "/body/first", 1), *operations)
    assert "first" not in BODY


SECRET = Request("POST", "/x", headers={"authorization": "Bearer t", "Cookie": "c=1", "x": "1"}, body={})


@rows(
    "operation",
    [
        op("add", "/headers/authorization", "Bearer other"),
        op("replace", "/headers/Authorization", "Bearer other"),
        op("remove", "/headers/cookie"),
        op("test", "/headers/authorization", "Bearer t"),
        op("add", "/headers/proxy-authorization", "x"),
        op("replace", "/headers", {"AUTHORIZATION": "x"}),
        {"op": "copy", "path": "/body/leak", "from": "/headers/authorization"},
        {"op": "move", "path": "/body/leak", "from": "/headers/Cookie"},
    ],
)
def test_credentials_are_neither_read_nor_changed(operation: dict[str, Any]) -> None:
    with pytest.raises(NotApplicable):
        patched(SECRET, operation)


def test_credentials_survive_a_patch_of_everything_else() -> None:
    after = patched(
        SECRET, {"op": "copy", "path": "/body/all", "from": "/headers"}, op("replace", "/headers", {"y": "2"})
    )
    assert after.headers == {"y": "2", "authorization": "Bearer t", "cookie": "c=1"}
    assert after.body == {"all": {"x": "1"}}


@rows(
    ("request_", "changes"),
    [
        (Request("POST", "/x"), {"body": {"a": {"c": 2}}}),
        (Request("post", "/x", body={"a": {"b": 1, "c": 1}, "z": 0}), {"body": {"a": {"b": 1, "c": 2}, "z": 0}}),
        (Request("POST", "/x", body={"a": [1, 2]}), {"body": {"a": {"c": 2}}}),
        (Request("GET", "/x", query={"n": "1"}), {"query": {"n": "1", "a": {"c": 2}}}),
        (Request("head", "/x"), {"query": {"a": {"c": 2}}}),
        (Request("DELETE", "/x"), {"query": {"a": {"c": 2}}}),
        (Request("DELETE", "/x", body={}), {"body": {"a": {"c": 2}}}),
        (Request("", "pkg.S/M"), {"body": {"a": {"c": 2}}}),
    ],
)
def test_where_parameters_go(request_: Request, changes: dict[str, Any]) -> None:
    assert merged(request_, a={"c": 2}, gone=None) == replace(request_, **changes)


def test_arrays_are_replaced_and_null_removes() -> None:
    before = Request("POST", "/x", body={"list": [1, 2, 3], "a": 1, "deep": {"b": 1, "c": 2}})
    assert merged(before, list=[9], a=None, deep={"b": None}).body == {"list": [9], "deep": {"c": 2}}


@pytest.mark.parametrize("body", [[1], "text", 7, True])
def test_a_body_that_is_no_object_takes_no_parameters(body: Any) -> None:
    with pytest.raises(NotApplicable, match="the body is no object"):
        merged(Request("POST", "/x", body=body), a=1)


def test_the_outcome_shares_nothing_with_the_suggestion() -> None:
    suggestion = Suggestion(action="MODIFY_PARAMS", parameters={"list": [1], "deep": {"list": [1]}})
    body: Any = after_suggestion(suggestion, Request("POST", "/x")).body
    body["list"].append(2)
    body["deep"]["list"].append(2)
    assert suggestion.parameters == {"list": [1], "deep": {"list": [1]}}


def test_a_body_nested_too_deep_is_left_alone() -> None:
    body: Any = 1
    for _ in range(MAX_REQUEST_DEPTH * 20):
        body = [body]
    request = Request("POST", "/x", body={"deep": body})
    with pytest.raises(NotApplicable, match="nested deeper"):
        merged(request, a=1)
    with pytest.raises(NotApplicable, match="nested deeper"):
        patched(request, op("add", "/body/a", 1))


def step(request: Request, **members: Any) -> Request:
    suggestion = Suggestion.model_validate({"action": "RESOLVE_PRECONDITION", "steps": [members]})
    (only,) = step_requests(suggestion, request)
    return only


@pytest.mark.parametrize(
    ("form", "headers", "body", "expected"),
    [
        (True, {}, {"a": 1}, True),
        (True, {}, None, False),
        (True, {"Content-Type": "application/json"}, {"a": 1}, False),
        (False, {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}, {"a": 1}, True),
        (False, {}, {"a": 1}, False),
    ],
)
def test_a_step_is_a_form_where_it_says_so_or_the_request_was(
    form: bool, headers: dict[str, str], body: Any, expected: bool
) -> None:
    request = Request("POST", "/x", body={}, form=form)
    assert step(request, method="POST", path="/y", headers=headers, body=body).form is expected


@pytest.mark.parametrize(
    "members",
    [
        {"method": "GET", "path": "//evil.example"},
        {"method": "GET", "path": "http://evil.example/"},
        {"method": "GET\r\n", "path": "/x"},
        {"method": "GET", "path": "/x", "headers": {"Authorization": "x"}},
        {"method": "GET", "path": "/x", "headers": {"a b": "x"}},
    ],
)
def test_a_step_that_is_no_request_to_the_same_host(members: dict[str, Any]) -> None:
    with pytest.raises(NotApplicable, match="a step "):
        step(JSON, **members)


HEADED = Request("POST", "/x", {"q": "1"}, {"accept": "a", "authorization": "secret"}, {"a": 1, "b": "two", "c": [1]})


@rows(
    ("operations", "changes"),
    [
        ([op("replace", "/body/a", 2)], {"body": {"a": 2, "b": "two", "c": [1]}}),
        ([op("add", "/body/d", {"e": 1})], {"body": {"a": 1, "b": "two", "c": [1], "d": {"e": 1}}}),
        ([op("add", "/body/a", 2)], {"body": {"a": 2, "b": "two", "c": [1]}}),
        ([op("remove", "/body/c")], {"body": {"a": 1, "b": "two"}}),
        ([op("test", "/body/b", "two"), op("remove", "/body/a")], {"body": {"b": "two", "c": [1]}}),
        ([op("remove", "/body/a"), op("add", "/body/a", 3)], {"body": {"b": "two", "c": [1], "a": 3}}),
        ([op("replace", "/headers/accept", "b")], {"headers": {"accept": "b", "authorization": "secret"}}),
        ([op("replace", "/headers/Accept", "b")], {"headers": {"accept": "b", "authorization": "secret"}}),
        ([op("add", "/headers/x-new", "b")], {"headers": {"accept": "a", "x-new": "b", "authorization": "secret"}}),
        ([op("replace", "/headers/accept", 5)], {"headers": {"accept": "5", "authorization": "secret"}}),
        ([op("remove", "/headers/accept")], {"headers": {"authorization": "secret"}}),
        ([op("replace", "/query/q", "2")], {"query": {"q": "2"}}),
        ([op("add", "/query/a", "2")], {"query": {"q": "1", "a": "2"}}),
        ([op("replace", "/method", "PUT")], {"method": "PUT"}),
        ([op("test", "/body/a", 1.0), op("remove", "/body/c")], {"body": {"a": 1, "b": "two"}}),
        ([op("replace", "/body/c/0", 2)], {"body": {"a": 1, "b": "two", "c": [2]}}),
        ([op("add", "/body/x~1y", 2)], {"body": {"a": 1, "b": "two", "c": [1], "x/y": 2}}),
        ([{"op": "move", "from": "/body/a", "path": "/body/z"}], {"body": {"b": "two", "c": [1], "z": 1}}),
        ([op("test", "/body/a", 2), op("remove", "/body/c")], None),
        ([op("test", "/body/a", True), op("remove", "/body/c")], None),
        ([op("test", "/body/none", None), op("remove", "/body/c")], None),
        ([op("remove", "/body/none")], None),
        ([op("replace", "/body/none", 1)], None),
        ([op("remove", "/headers/none")], None),
        ([op("replace", "/headers/accept", "a\r\nb: c")], None),
        ([op("replace", "/headers/authorization", "mine")], None),
        ([op("add", "/cookies/a", 1)], None),
        ([op("increment", "/body/a", 1)], None),
    ],
)  # fmt: skip
def test_a_plain_edit_does_what_any_other_does(
    operations: list[dict[str, Any]], changes: dict[str, Any] | None
) -> None:
    """Edits of single members go a shorter way: it must lead to the same request."""
    before = orjson.dumps(HEADED.document())
    after = after_edit({"action": "MODIFY_PARAMS", "patch": operations}, HEADED)
    assert after == (None if changes is None else replace(HEADED, **changes))
    assert orjson.dumps(HEADED.document()) == before, "the request itself stays"
    try:
        assert after == patched(HEADED, *operations)
    except (NotApplicable, ValidationError):
        assert after is None


@pytest.mark.parametrize("body", [None, [1], "text"])
def test_a_body_of_no_members_is_edited_as_a_whole(body: Any) -> None:
    request = replace(HEADED, body=body)
    after = after_edit({"action": "MODIFY_PARAMS", "patch": [op("add", "/body", {"a": 1})]}, request)
    assert after == replace(request, body={"a": 1})
    assert after_edit({"action": "MODIFY_PARAMS", "patch": [op("add", "/body/a/b", 1)]}, request) is None


def test_an_edit_may_be_parameters_or_nothing() -> None:
    assert after_edit({"action": "MODIFY_PARAMS", "parameters": {"a": 2}}, HEADED) == merged(HEADED, a=2)
    assert after_edit({"action": "MODIFY_PARAMS"}, HEADED) == HEADED
    assert after_edit({"action": "WAIT_AND_RETRY", "parameters": {"a": 2}}, HEADED) == HEADED


DOCUMENT = {"a": {"b": [{"c": 1}, 2]}, "d": [[1], [2]]}


@rows(
    ("operation", "after"),
    [
        (op("replace", "/a/b/0/c", 9), {"a": {"b": [{"c": 9}, 2]}, "d": [[1], [2]]}),
        (op("add", "/d/1/-", 9), {"a": {"b": [{"c": 1}, 2]}, "d": [[1], [2, 9]]}),
        ({"op": "move", "from": "/d/0", "path": "/a/e"}, {"a": {"b": [{"c": 1}, 2], "e": [1]}, "d": [[2]]}),
        (op("remove", "/a/b/1"), {"a": {"b": [{"c": 1}]}, "d": [[1], [2]]}),
        (op("remove", "/a/b/2"), None),
        (op("remove", "/a/b/1/c"), None),
        (op("remove", "/a/b/x/c"), None),
        (op("remove", f"/a/b/{10**20}/c"), None),
        (op("remove", "/nowhere/b"), None),
        (op("remove", "no pointer"), None),
    ],
)
def test_one_operation_leaves_the_given_document_as_it_was(operation: dict[str, Any], after: Any) -> None:
    before = orjson.dumps(DOCUMENT)
    if after is None:
        with pytest.raises(NotApplicable, match="does not fit"):
            apply_operation(DOCUMENT, operation)
    else:
        assert apply_operation(DOCUMENT, operation) == after
    assert orjson.dumps(DOCUMENT) == before


def test_copies_of_copies_are_limited() -> None:
    patch = [{"op": "copy", "from": "/body", "path": f"/body/c{i}"} for i in range(40)]
    suggestion = Suggestion.model_validate({"action": "MODIFY_PARAMS", "parameters": {}, "patch": patch})
    with pytest.raises(NotApplicable, match="more than 50000 values"):
        after_suggestion(suggestion, Request("POST", "/", {}, {}, {"a": 1}))


def test_copies_count_what_they_write() -> None:
    long = [{"op": "copy", "from": "/body/a", "path": f"/body/c{i}"} for i in range(1000)]
    suggestion = Suggestion.model_validate({"action": "MODIFY_PARAMS", "parameters": {}, "patch": long})
    with pytest.raises(NotApplicable, match="more than 50000 values of 64 characters"):
        after_suggestion(suggestion, Request("POST", "/", body={"a": "x" * 1_000_000}))
    with pytest.raises(NotApplicable, match="more than 50000 values of 64 characters"):
        after_suggestion(suggestion, Request("POST", "/", body={"a": {"x" * 1_000_000: 1}}))
    after_suggestion(suggestion, Request("POST", "/", body={"a": "x" * 1000}))


PLACES = [
    "/body/a",
    "/body/a/b",
    "/body/a/b/0",
    "/body/l/0",
    "/body/l/-",
    "/body/l/1/c",
    "/body/n",
    "/body/n/b",
    "/body",
]
OPERATIONS = st.one_of(
    st.builds(
        lambda verb, path, value: {"op": verb, "path": path, "value": value},
        st.sampled_from(["add", "replace"]),
        st.sampled_from(PLACES),
        st.sampled_from([1, {"b": [1]}, [2, {"c": {}}]]),
    ),
    st.builds(
        lambda verb, path, source: {"op": verb, "path": path, "from": source},
        st.sampled_from(["move", "copy"]),
        st.sampled_from(PLACES),
        st.sampled_from(PLACES),
    ),
    st.builds(lambda path: {"op": "remove", "path": path}, st.sampled_from(PLACES)),
)


@given(st.lists(OPERATIONS, min_size=1, max_size=8))
def test_a_patch_does_what_its_operations_do_one_by_one(patch: list[dict[str, Any]]) -> None:
    body = {"a": {"b": [1, 2]}, "l": [[1], {"c": 1}]}
    request, sent = Request("POST", "/x", body=body), orjson.dumps(body)
    expected: Any = request.document()
    try:
        for operation in patch:
            expected = apply_operation(expected, operation)
    except NotApplicable:
        expected = None
    try:
        after = after_suggestion(Suggestion(action="MODIFY_PARAMS", patch=patch), request).document()
    except NotApplicable:
        assert expected is None
    else:
        assert expected is not None and after.get("body") == expected.get("body")
    assert orjson.dumps(body) == sent


def test_many_edits_of_one_object_copy_it_once() -> None:
    own: dict[int, Any] = {}
    document: Any = {"body": {"a": {}}}
    for number in range(50):
        document = apply_operation(document, {"op": "add", "path": f"/body/a/x{number}", "value": {}}, own)
    assert (len(document["body"]["a"]), len(own)) == (50, 2)


def test_a_move_within_a_list_leaves_the_given_document_as_it_was() -> None:
    document: Any = {"l": [1, [2], {"c": 3}]}
    after = apply_operation(document, {"op": "move", "from": "/l/0", "path": "/l/1/d"})
    assert (after, document) == ({"l": [[2], {"c": 3, "d": 1}]}, {"l": [1, [2], {"c": 3}]})
