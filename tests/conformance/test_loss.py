"""What is lost between two request documents, worked out without asking whoever made the edit."""

from __future__ import annotations

from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from corrigible.conformance.validators.intent import lost_values, request_leaves, text
from tests._support.rows import rows


def document(body: Any, query: Any = None) -> dict[str, Any]:
    return {"method": "POST", "path": "/things", "query": query or {}, "headers": {}, "body": body}


KEPT: dict[str, tuple[Any, Any]] = {
    "nothing changed": ({"a": 1}, {"a": 1}),
    "something is new": ({"a": 1}, {"a": 1, "b": [1]}),
    "renamed": ({"curency": "eur"}, {"currency": "eur"}),
    "moved": ({"a": {"b": {"c": [1, 2]}}}, {"c": [1, 2], "a": {"b": {}}}),
    "moved into an array": ({"tag": "x"}, {"tags": ["x"]}),
    "renamed and cast": ({"curency": "5"}, {"price": 5}),
    "another spelling of a boolean": ({"on": "True"}, {"enabled": True}),
    "5.0 is 5": ({"a": 5.0}, {"b": "5"}),
    "what its text says in JSON": ({"input": '{"a": [1]}'}, {"input": {"a": [1]}}),
    "joined": ({"first": "Ada", "last": "Lovelace"}, {"name": "Ada Lovelace"}),
    "split up": ({"names": "tea,coffee,cocoa"}, {"items": ["tea", "coffee", "cocoa"]}),
    "another value in its place": ({"currency": "eurr"}, {"currency": "eur"}),
    "the same element twice, then once": ({"l": [{"a": 1}, {"a": 1}]}, {"l": [{"a": 1}]}),
    "names with slashes and tildes": ({"a/b~c": 1, "d": 2}, {"a/b~c": 1, "d": 2}),
    "another version of what was read": ({"version": 1}, {"version": 3}),
    "what was empty is filled": ({"selector": {}}, {"selector": {"app": "web"}}),
    "another unit": ({"trial_end": 1767225600000}, {"trial_end": 1767225600}),
    "a title for a name": ({"license": "MIT License"}, {"license": "mit"}),
    "a letter too many": ({"category": "drinks"}, {"category": "drink"}),
    "elements in another order": ({"l": ["a", "b", "c"]}, {"l": ["c", "a", "b"]}),
    "a container becomes its only member": ({"a": {"value": 5}}, {"a": 5}),
}
LOST: dict[str, tuple[Any, Any, list[str]]] = {
    "what its text says otherwise in JSON": ({"input": '{"a": 1}'}, {"input": {"a": 2}}, ["/body/input"]),
    "taken away": ({"a": 1, "b": 2}, {"a": 1}, ["/body/b"]),
    "taken away, while another place has the same value": ({"a": 1, "b": 1}, {"a": 1}, ["/body/b"]),
    "two of one value, moved to one place": ({"a": "x", "b": "x"}, {"c": "x"}, ["/body/b"]),
    "all below an object": ({"spec": {"a": 1, "b": {"c": [2]}}}, {}, ["/body/spec/a", "/body/spec/b/c/0"]),
    "an element": ({"l": [1, 2, 3]}, {"l": [1, 2]}, ["/body/l/2"]),
    "the first element": ({"l": [1, 2, 3]}, {"l": [2, 3]}, ["/body/l/0"]),
    "the first text": ({"l": ["tea", "coffee"]}, {"l": ["coffee"]}, ["/body/l/0"]),
    "a number for another one": ({"limit": 500, "b": "7"}, {"limit": 100, "b": 8}, ["/body/limit", "/body/b"]),
    "the opposite": ({"gift": "True"}, {"gift": False}, ["/body/gift"]),
    "a text cut short": ({"note": "ring twice, please"}, {"note": "ring twice"}, ["/body/note"]),
    "an object becomes a scalar": ({"a": {"b": 17, "c": 18}}, {"a": 17}, ["/body/a/c"]),
    "false is no nothing": ({"a": 1, "b": False}, {"a": 1}, ["/body/b"]),
    "an empty object that meant something": ({"selector": {}, "a": 1}, {"a": 1}, ["/body/selector"]),
    "an escaped name": ({"a/b~c": 1}, {}, ["/body/a~1b~0c"]),
    "a short text found by accident in a longer one": ({"x": "no", "y": 1}, {"y": 1, "z": "notes"}, ["/body/x"]),
}


@rows(("before", "after"), KEPT.values(), ids=KEPT.keys())
def test_what_is_kept(before: Any, after: Any) -> None:
    assert lost_values(document(before), document(after)) == []


@rows(("before", "after", "places"), LOST.values(), ids=LOST.keys())
def test_what_is_lost(before: Any, after: Any, places: list[str]) -> None:
    assert lost_values(document(before), document(after)) == places


def test_queries_lose_as_bodies_do_and_paths_and_headers_do_not() -> None:
    before = document({"a": 1}, {"page": "2", "sort": "up"})
    assert lost_values(before, document({"a": 1}, {"sort": "up"})) == ["/query/page"]
    assert lost_values(before, {**before, "method": "PUT", "path": "/others", "headers": {"x": "1"}}) == []
    assert lost_values(before, document({"a": 1, "page": 2}, {"sort": "up"})) == []


def test_what_a_path_or_a_step_has_is_kept() -> None:
    before = document({"charge": "ch_17", "amount": 400})
    moved = {**document({"amount": 400}), "path": "/charges/ch_17/capture"}
    assert lost_values(before, moved) == []
    assert lost_values({**before, "path": "/ch_17"}, {**moved, "path": "/ch_17"}) == ["/body/charge"]
    step = {"method": "POST", "path": "/charges", "body": {"id": "ch_17"}}
    assert lost_values(before, document({"amount": 400}), steps=[step]) == []


def test_after_a_look_up_a_new_name_may_stand_for_one_that_is_gone_and_for_no_two() -> None:
    before = document({"sha": "fee1dead", "force": True, "count": 7})
    after = document({"head": "feature"})
    assert lost_values(before, after) == ["/body/sha", "/body/force", "/body/count"]
    assert len(lost_values(before, after, looked_up=True)) == 2
    assert lost_values(document({"count": 7}), document({"other": 8}), looked_up=True) == ["/body/count"]


def test_what_is_stored_for_the_first_time_has_no_version_yet() -> None:
    before = document({"metadata": {"name": "a", "resourceVersion": "5"}})
    after = document({"metadata": {"name": "a"}})
    assert lost_values(before, after) == []
    assert lost_values({**before, "method": "PUT"}, {**after, "method": "PUT"}) == ["/body/metadata/resourceVersion"]


def changing(body: Any) -> dict[str, Any]:
    """Return the document of a request that changes what there is: versions, such as an `etag`, count then."""
    return {**document(body), "method": "PUT"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(body=st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=6))
def test_taking_everything_away_loses_every_leaf_and_keeping_it_none(body: dict[str, Any]) -> None:
    whole = changing(body)
    assert lost_values(whole, whole) == []
    kept = [pointer for pointer, value in request_leaves(whole) if value is not None]
    assert lost_values(whole, changing(None)) == kept


@given(body=st.dictionaries(st.text(max_size=4), st.integers(1000, 9999), min_size=1, max_size=6), data=st.data())
def test_a_member_that_is_renamed_is_kept_and_one_that_is_removed_is_not(body: dict[str, int], data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(body)))
    pointer = f"/body/{name.replace('~', '~0').replace('/', '~1')}"
    whole = changing(body)
    moved = jsonpatch.apply_patch(whole, [{"op": "move", "from": pointer, "path": "/body/something new"}])
    assert lost_values(whole, moved) == []
    removed = jsonpatch.apply_patch(whole, [{"op": "remove", "path": pointer}])
    assert lost_values(whole, removed) == [pointer]


def test_text_forms() -> None:
    assert text("5") == text(5) == text(5.0) == "5"
    assert text(9007199254740993) == "9007199254740993" != text("9007199254740992")
    assert text("TRUE") == text(True) == "true"
    assert text("1e400") and text("nan") and text("") == text(None) == ""
