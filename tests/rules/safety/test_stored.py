"""What the answer to a dry run holds of what was sent."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.safety.stored import dropped_values, in_the_original
from corrigible.schema.exchange import Request
from tests._support.rows import rows


def missing(sent: Any, answer: Any, method: str = "POST", **more: Any) -> tuple[str, ...]:
    return dropped_values(Request(method, "/x", body=sent), answer, **more)


@rows(
    ("sent", "answer"),
    [
        ({"a": 1}, {"a": 1, "status": {}, "b": [1]}),
        ({"cpu": "0.5"}, {"cpu": "500m"}),
        ({"list": ["a", "b"]}, {"list": ["b", "a", "c"]}),
        ({"list": [{"name": "a"}]}, {"list": [{"name": "sidecar"}, {"name": "a", "pull": "Always"}]}),
        ({"host": False, "tags": [], "note": "", "n": 0, "x": None, "y": {}}, {}),
        ({"labels": {"a": None}}, {"labels": {}}),
        ({"a": 0}, {"a": ""}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
    ],
)
def test_held(sent: Any, answer: Any) -> None:
    assert missing(sent, answer) == ()


@rows(
    ("sent", "answer", "gone"),
    [
        ({"timeZone": "UTC", "schedule": "* * * * *"}, {"schedule": "* * * * *"}, ("/body/timeZone",)),
        ({"target": 70}, {"target": 80}, ("/body/target",)),
        ({"metrics": [{"n": "cpu"}]}, {"metrics": []}, ("/body/metrics/0/n",)),
        ({"list": [{"name": "a", "env": ["x"]}]}, {"list": [{"name": "a"}]}, ("/body/list/0/env/0",)),
        ({"a/b": "x"}, {}, ("/body/a~1b",)),
        ({"a": 1}, [], ("/body/a",)),
        ({"a": 0}, {"a": 5}, ("/body/a",)),
        ({"a": False}, {"a": True}, ("/body/a",)),
        ({"a": 0.0}, {}, ("/body/a",)),
        ("text", {"a": 1}, ("/body",)),
        ({"a": {"b": 1, "c": 0}}, {}, ("/body/a/b",)),
        ({"a": [{"b": 1}]}, {"a": [7]}, ("/body/a/0/b",)),
        ({"list": [{"a": 1, "b": 2}]}, {"list": [{"a": 9, "b": 9}, {"a": 1}]}, ("/body/list/0/b",)),
        ({"x": None, "a": 1}, {"b": 2}, ("/body/a",)),
        ({"list": [{"a": 1, "b": 2}]}, {"list": [{"a": 1}, {"b": 2}]}, ("/body/list/0/b",)),
    ],
)
def test_dropped_or_changed(sent: Any, answer: Any, gone: tuple[str, ...]) -> None:
    assert missing(sent, answer) == gone


def test_what_answers_never_hold_does_not_count() -> None:
    sent = {"stringData": {"key": "x"}, "metadata": {"name": "n", "uid": "u"}}
    assert missing(sent, {"metadata": {"name": "n"}}, unanswered=["/stringData", "/metadata/uid"]) == ()


def test_a_json_patch_is_judged_by_what_it_puts() -> None:
    patch = [
        {"op": "test", "path": "/kind", "value": "Pod"},
        {"op": "add", "path": "/metadata/labels/a", "value": "b"},
        {"op": "add", "path": "/spec/list/-", "value": {"name": "n"}},
        {"op": "remove", "path": "/spec/old"},
    ]
    answer = {"metadata": {"labels": {"a": "b"}}, "spec": {"list": [{"name": "m"}, {"name": "n", "more": 1}]}}
    assert missing(patch, answer, "PATCH") == ()
    assert missing(patch, {"metadata": {}, "spec": {"list": []}}, "PATCH") == ("/body/1/value", "/body/2/value/name")


def test_what_was_dropped_is_named_where_it_stood_in_the_request() -> None:
    before = Request("POST", "/x", body={"titel": "t", "kept": 1})
    sent = Request("POST", "/x", body={"title": "t", "kept": 1, "added": 5})
    assert in_the_original(["/body/title", "/body/kept", "/body/added"], sent, before) == ["/body/titel", "/body/kept"]


def nested(depth: int, value: Any = 1) -> Any:
    for _ in range(depth):
        value = {"a": value}
    return value


def test_what_is_nested_deeper_than_anybody_nests_counts_as_dropped() -> None:
    assert missing(nested(100), nested(100)) == ()
    assert missing(nested(101), nested(101)) == ("/body" + "/a" * 101,)


def listed(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_lists_count_as_levels() -> None:
    assert missing(listed(100), listed(100)) == ()
    assert missing(listed(101), listed(101)) == ("/body" + "/0" * 101,)


def test_a_merge_patch_is_compared_by_members() -> None:
    assert missing({"a": 1}, {"a": 1, "b": 2}, "PATCH") == ()
    assert missing({"a": 1, "b": {"c": 2}}, {"a": 1}, "PATCH") == ("/body/b/c",)


def test_a_replacement_in_a_json_patch_is_looked_for() -> None:
    patch = [{"op": "replace", "path": "/a", "value": 1}, {"op": "replace", "path": "/b", "value": 2}]
    assert missing(patch, {"a": 1, "b": 3}, "PATCH") == ("/body/1/value",)


@pytest.mark.parametrize("patch", [[5], [{"op": "add", "path": 5, "value": 1}], [{"op": "add", "value": 1}]])
def test_a_json_patch_that_is_none_puts_nothing(patch: Any) -> None:
    assert missing(patch, {}, "PATCH") == ()


def test_a_json_patch_into_a_list_is_found_in_the_list() -> None:
    patch = [{"op": "add", "path": "/list/0", "value": "n"}]
    assert missing(patch, {"list": ["m", "n"]}, "PATCH") == ()
    assert missing(patch, {"list": ["m"]}, "PATCH") == ("/body/0/value",)
    assert missing([{"op": "add", "path": "/list/-", "value": "n"}], {}, "PATCH") == ("/body/0/value",)
    assert missing([{"op": "add", "path": "/list/-", "value": 0}], {}, "PATCH") == ("/body/0/value",)
    assert missing(patch, {"list": ["m"]}, "POST") == ("/body/0/op", "/body/0/path", "/body/0/value")


def test_what_still_stands_in_the_request_is_not_where_another_was() -> None:
    before = Request("POST", "/x", body={"old": "t", "name": "t"})
    sent = Request("POST", "/x", body={"new": "t", "old": "t"})
    assert in_the_original(["/body/new"], sent, before) == ["/body/name"]
    among = Request("POST", "/x", body={"other": "o", "name": "t"})
    assert in_the_original(["/body/new"], Request("POST", "/x", body={"new": "t"}), among) == ["/body/name"]
    assert in_the_original(["/body/new"], Request("POST", "/x", body={"new": "z"}), among) == []
    both = Request("POST", "/x", body={"new": "t", "old": "t", "name": "t"})
    assert in_the_original(["/body/new"], both, before) == []


def test_of_two_places_where_a_value_stood_the_first_is_told() -> None:
    original = Request("POST", "/x", body={"a": 1, "b": 1, "kept": 2})
    sent = Request("POST", "/x", body={"c": 1, "kept": 2})
    assert in_the_original(["/body/c", "/body/kept"], sent, original) == ["/body/a", "/body/kept"]
