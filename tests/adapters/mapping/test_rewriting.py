"""Every value that a caller sent is in the rewritten request, or told as lost, whatever the mapping."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.adapters.mapping.mapping import (
    Constant,
    Equivalence,
    FieldMapping,
    OperationMapping,
    OperationName,
    ValueMapping,
)
from corrigible.adapters.mapping.rewriting import Rewritten, edit_operations, pattern_of, rewritten
from corrigible.rules.pointer import MISSING, resolve
from corrigible.schema.edit import after_edit, same_json
from corrigible.schema.exchange import Request
from tests._support.rows import rows

NAMES = ("a", "b", "c", "d/e", "items")
PLACES = (
    "/path/id",
    "/query/a",
    "/query/b",
    "/body",
    "/body/a",
    "/body/b",
    "/body/c/a",
    "/body/items/*/a",
    "/body/items",
)
TARGETS = (*PLACES, "/body/x", "/body/x/y", "/body/list/*/z", "/query/x", "/path/other", "/body/one")
CONVERSIONS = ("", "", "", "to text", "to integer", "to list", "only item", "if text")


def mapping_of(**members: Any) -> OperationMapping:
    return OperationMapping(
        **{
            "source": OperationName(api="old", method="POST", path="/old/{id}"),
            "target": OperationName(api="new", method="POST", path="/new"),
            "equivalence": Equivalence.SAME,
            "score": 1.0,
            **members,
        }
    )


def moved(*pairs: str | tuple[str, str], **members: Any) -> OperationMapping:
    several = [one if isinstance(one, tuple) else (one, one) for one in pairs]
    return mapping_of(arguments=tuple(FieldMapping(source=s, target=t) for s, t in several), **members)


def done(mapping: OperationMapping, request: Request, **variables: str) -> Rewritten:
    after = rewritten(mapping, request, variables)
    assert after is not None
    return after


scalars = st.one_of(st.integers(-9, 9), st.sampled_from(["", "1", "07", "x", "true"]), st.booleans(), st.none())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)),
    max_leaves=8,
)
bodies = st.dictionaries(st.sampled_from(NAMES), values, max_size=4)
mappings = st.builds(
    lambda fields, lost, template: mapping_of(
        arguments=tuple(FieldMapping(source=s, target=t, conversion=c) for s, t, c in fields),
        lost_arguments=tuple(lost),
        target=OperationName(api="new", method="POST", path=template),
    ),
    st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(TARGETS), st.sampled_from(CONVERSIONS)), max_size=6),
    st.lists(st.sampled_from(PLACES), max_size=2),
    st.sampled_from(["/new", "/new/{id}", "/new/{other}"]),
)


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(inner, f"{place}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{place}/{index}")
    else:
        yield place, value


def shown(value: Any) -> Iterator[str]:
    """Yield the values that a request holds, in a form in which a converted one is the same."""
    for _, one in leaves(value):
        yield str(one).lower() if isinstance(one, bool) else str(one)


@given(mappings, bodies, st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["1", "x"]), max_size=2))
def test_every_value_is_kept_or_told_as_lost(mapping: OperationMapping, body: Any, query: Any) -> None:
    request = Request("POST", "/old/7", query=query, body=body)
    after = rewritten(mapping, request, {"id": "7"})
    if after is None:
        return
    there = [*shown(after.request.body), *shown(dict(after.request.query)), *after.path_values.values()]
    for place, value in [*leaves(body, "/body"), *leaves(query, "/query"), ("/path", "7")]:
        if place in ("/body", "/query"):
            continue  # nothing was sent there
        is_told = "id" in after.lost_variables if place == "/path" else place in after.lost
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if not is_told:
            assert text in there, (place, value, after)


@given(mappings, bodies)
def test_the_patch_makes_the_rewritten_request(mapping: OperationMapping, body: Any) -> None:
    request = Request("POST", "/old/7", headers={"accept": "x"}, body=body)
    after = rewritten(mapping, request, {"id": "7"})
    if after is None or "/path" in after.asked:
        return
    ops = edit_operations(request, after.request)
    edited = after_edit({"action": "USE_ALTERNATIVE_ENDPOINT", "parameters": {}, "patch": ops}, request)
    assert edited is not None
    assert (edited.method, edited.path, dict(edited.query)) == ("POST", after.request.path, dict(after.request.query))
    assert same_json(edited.body, after.request.body)


def test_what_lies_below_a_mapped_place_goes_along_except_what_is_told_otherwise() -> None:
    mapping = moved("/body", ("/body/spec/old", "/body/spec/new"), lost_arguments=("/body/spec/gone",))
    body = {"kind": "K", "spec": {"old": 1, "gone": {"x": 2, "y": 3}, "kept": [{"z": None}]}}
    after = done(mapping, Request("POST", "/old/7", body=body), id="7")
    assert after.request.body == {"kind": "K", "spec": {"new": 1, "kept": [{"z": None}]}}
    assert after.lost == ("/body/spec/gone/x", "/body/spec/gone/y")
    assert after.lost_variables == ("id",)


def test_items_keep_their_places() -> None:
    mapping = moved("/body", ("/body/rules/*/paths/*/service/name", "/body/rules/*/paths/*/serviceName"))
    paths = [{"path": "/a", "service": {"name": "x"}}, {"path": "/b", "service": {"name": "y"}}]
    after = done(mapping, Request("POST", "/old/7", body={"rules": [{"paths": paths}, {"host": "h"}]}), id="7")
    wanted = [{"path": "/a", "serviceName": "x"}, {"path": "/b", "serviceName": "y"}]
    assert after.request.body == {"rules": [{"paths": wanted}, {"host": "h"}]}


@pytest.mark.parametrize(("count", "lost"), [(1, ()), (2, ("/body/items/0/id", "/body/items/1/id"))])
def test_the_only_item_stands_for_itself(count: int, lost: tuple[str, ...]) -> None:
    mapping = moved(("/body/items/*/id", "/path/item"), target=OperationName(api="n", method="POST", path="/i/{item}"))
    after = done(mapping, Request("POST", "/old/7", body={"items": [{"id": f"si_{n}"} for n in range(count)]}), id="7")
    assert after.lost == lost
    assert (after.request.path, after.asked) == (("/i/si_0", ()) if count == 1 else ("/i/{item}", ("/path",)))


def test_the_first_conversion_that_accepts_a_value_is_taken() -> None:
    fields = (
        FieldMapping(source="/body/port", target="/body/number", conversion="if integer"),
        FieldMapping(source="/body/port", target="/body/name", conversion="if text"),
    )
    for port, body in ((80, {"number": 80}), ("http", {"name": "http"})):
        assert done(mapping_of(arguments=fields), Request("POST", "/old", body={"port": port})).request.body == body
    after = done(mapping_of(arguments=fields), Request("POST", "/old", body={"port": 8.5}))
    assert (after.request.body, after.lost) == (None, ("/body/port",))


def test_values_are_called_otherwise_and_others_stay() -> None:
    values = (ValueMapping(source="batch/v1", target="batch/v1beta1"),)
    field = FieldMapping(source="/body/apiVersion", target="/body/apiVersion", values=values)
    mapping = mapping_of(arguments=(field,))
    for sent, wanted in (("batch/v1", "batch/v1beta1"), ("other/v1", "other/v1")):
        assert done(mapping, Request("POST", "/old", body={"apiVersion": sent})).request.body == {"apiVersion": wanted}


class TestConstants:
    policy = (
        Constant(target="/query/policy", value="Background", unless=("/body", "/query/orphan")),
        Constant(target="/body/policy", value="Background", unless=("/body/orphan",)),
    )
    delete = OperationName(api="new", method="DELETE", path="/new")

    @rows(
        ("query", "body", "wanted"),
        [
            ({}, None, ({"policy": "Background"}, None)),
            ({"dryRun": "All"}, None, ({"dryRun": "All", "policy": "Background"}, None)),
            ({"policy": "Orphan"}, None, ({"policy": "Orphan"}, None)),
            ({"orphan": "true"}, None, ({"orphan": "true"}, None)),
            ({}, {"grace": 1}, ({}, {"grace": 1, "policy": "Background"})),
            ({}, {"policy": "Orphan"}, ({}, {"policy": "Orphan"})),
            ({}, {"orphan": True}, ({}, {"orphan": True})),
        ],
    )
    def test_they_stand_only_where_the_caller_said_nothing(self, query: Any, body: Any, wanted: Any) -> None:
        mapping = moved("/query", "/body", target=self.delete, constants=self.policy)
        after = done(mapping, Request("DELETE", "/old/7", query=query, body=body), id="7")
        assert (dict(after.request.query), after.request.body) == wanted
        assert after.lost == ()

    def test_each_item_gets_its_own(self) -> None:
        constant = Constant(target="/body/rules/*/paths/*/type", value="T")
        mapping = moved("/body", constants=(constant,))
        body = {"rules": [{"paths": [{"p": 1}, {"p": 2, "type": "mine"}]}, {"host": "h"}]}
        after = done(mapping, Request("POST", "/old", body=body))
        paths = [{"p": 1, "type": "T"}, {"p": 2, "type": "mine"}]
        assert after.request.body == {"rules": [{"paths": paths}, {"host": "h"}]}


def test_what_the_target_needs_and_nobody_gave_is_asked_for() -> None:
    target = OperationName(api="n", method="POST", path="/new/{id}/{part}")
    mapping = moved("/path/id", "/body/a", target=target, needed=("/path/part", "/query/q", "/body/b", "/body/a"))
    after = done(mapping, Request("POST", "/old/7", body={"a": 1}), id="7")
    assert after.asked == ("/path", "/query/q", "/body/b")
    assert after.request.path == "/new/7/{part}"
    assert pattern_of(after.request.path) == "^/new/7/[^/]+$"


def test_a_value_of_the_path_stays_one_segment() -> None:
    mapping = moved("/path/id", target=OperationName(api="n", method="GET", path="/new/{id}/x"))
    after = done(mapping, Request("POST", "/old/7"), id="a/../b?c")
    assert after.request.path == "/new/a%2F..%2Fb%3Fc/x"


def test_a_list_as_body_is_not_said_to_be_read() -> None:
    """A JSON patch says what it changes in its texts."""
    body = [{"op": "remove", "path": "/spec/old"}]
    whole = done(moved("/body"), Request("POST", "/old", body=body))
    assert (whole.request.body, whole.is_sure) == (body, True)
    assert not done(moved("/body", ("/body/spec/old", "/body/spec/new")), Request("POST", "/old", body=body)).is_sure


def test_the_same_request_is_no_alternative() -> None:
    mapping = moved("/body", target=OperationName(api="n", method="POST", path="/old"))
    assert rewritten(mapping, Request("POST", "/old", body={"a": 1}), {}) is None


def test_a_grpc_method_is_another_method() -> None:
    target = OperationName(api="n", method="POST", path="/shop.v1.Shop/Get")
    after = done(moved("/body", target=target), Request("/shop.v1beta1.Shop/Get", "", body={"id": "1"}))
    assert (after.request.method, after.request.path, after.request.body) == ("/shop.v1.Shop/Get", "", {"id": "1"})
    assert resolve(after.request.document(), "/body/id") is not MISSING


@pytest.mark.parametrize(("fields", "is_sure"), [(("/body",), True), (("/body", "/body/id"), False), ((), False)])
def test_a_message_that_nobody_read_goes_along_only_as_it_is(fields: tuple[str, ...], is_sure: bool) -> None:
    mapping = moved(*fields, target=OperationName(api="n", method="POST", path="/shop.v1.Shop/Get"))
    assert done(mapping, Request("/shop.v1beta1.Shop/Get", "")).is_sure is is_sure


SECRET_HEADERS = (
    *("x-secret", "x-shop-pass", "dpop", "x-csrf", "x-goog-iap-jwt-assertion", "x-vault-token", "private-token"),
    *("x-session-id", "x-ms-token", "apikey", "x-sig", "x-tenant-key", "authtoken"),
)


@rows("name", SECRET_HEADERS)
@rows("target", ["/body/p", "/query/p", "/path/p", "/header/x-plain"])
def test_a_header_called_like_a_credential_stays_where_it_is(name: str, target: str) -> None:
    there = OperationName(api="n", method="POST", path="/new/{p}" if target == "/path/p" else "/new")
    mapping = moved("/body/a", (f"/header/{name}", target), target=there)
    request = Request("POST", "/old/7", headers={name: "hidden value"}, body={"a": 1})
    after = done(mapping, request)
    assert after.request.headers[name] == "hidden value"
    assert "hidden" not in str(edit_operations(request, after.request))
    assert name not in str((after.lost, edit_operations(request, after.request)))
    assert after.leaves_credential
    assert not after.is_sure
    same = done(moved("/body/a", (f"/header/{name}", f"/header/{name}")), request)
    assert not same.leaves_credential
    assert same.is_sure


def test_the_value_of_a_header_goes_to_headers_alone() -> None:
    request = Request("POST", "/old/7", headers={"x-colour": "red", "x-size": "7"}, body={"a": 1})
    mapping = moved("/body/a", ("/header/X-Colour", "/body/colour"), ("/header/X-Size", "/header/x-length"))
    after = done(mapping, request)
    assert after.lost == ("/headers/x-colour",)
    assert after.request.body == {"a": 1}
    assert after.request.headers == {"x-length": "7"}


@pytest.mark.parametrize(("source", "target"), [("/query/api_key", "/query/q"), ("/body/password", "/query/q")])
def test_what_is_called_like_a_credential_is_not_moved(source: str, target: str) -> None:
    request = Request("POST", "/old/7", query={"api_key": "hidden"}, body={"password": "hidden", "a": 1})
    after = done(moved("/body/a", (source, target)), request)
    assert source in after.lost
    assert "hidden" not in str(edit_operations(request, after.request))


@pytest.mark.parametrize("part", ["query", "body"])
def test_each_item_of_a_list_has_the_name_that_the_target_has(part: str) -> None:
    values = (ValueMapping(source="open", target="OPEN"), ValueMapping(source="done", target="DONE"))
    field = FieldMapping(source=f"/{part}/status", target=f"/{part}/state", values=values)
    sent: Any = {part: {"status": ["open", "done", "other"]}}
    request = Request("POST", "/old/7", **sent)
    after = done(mapping_of(arguments=(field,)), request)
    assert getattr(after.request, part) == {"state": ["OPEN", "DONE", "other"]}
    assert not after.lost


def test_a_list_that_becomes_its_only_item_has_the_name_that_the_target_has() -> None:
    values = (ValueMapping(source="open", target="OPEN"),)
    field = FieldMapping(source="/body/status", target="/body/state", values=values, conversion="only item")
    after = done(mapping_of(arguments=(field,)), Request("POST", "/old/7", body={"status": ["open"]}))
    assert after.request.body == {"state": "OPEN"}
    after = done(mapping_of(arguments=(field,)), Request("POST", "/old/7", body={"status": ["open", "b"]}))
    assert after.lost == ("/body/status/0", "/body/status/1")
