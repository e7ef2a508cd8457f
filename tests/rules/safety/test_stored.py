"""What the answer to a dry run holds of what was sent."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.safety.stored import dropped, in_the_original
from corrigible.schema.exchange import Request


def missing(sent: Any, answer: Any, method: str = "POST", **more: Any) -> tuple[str, ...]:
    return dropped(Request(method, "/x", body=sent), answer, **more)


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        ({"a": 1}, {"a": 1, "status": {}, "b": [1]}),
        ({"cpu": "0.5"}, {"cpu": "500m"}),
        ({"list": ["a", "b"]}, {"list": ["b", "a", "c"]}),
        ({"list": [{"name": "a"}]}, {"list": [{"name": "sidecar"}, {"name": "a", "pull": "Always"}]}),
        ({"host": False, "tags": [], "note": "", "n": 0, "x": None, "y": {}}, {}),
        ({"labels": {"a": None}}, {"labels": {}}),
    ],
)
def test_held(sent: Any, answer: Any) -> None:
    assert missing(sent, answer) == ()


@pytest.mark.parametrize(
    ("sent", "answer", "gone"),
    [
        ({"timeZone": "UTC", "schedule": "* * * * *"}, {"schedule": "* * * * *"}, ("/body/timeZone",)),
        ({"target": 70}, {"target": 80}, ("/body/target",)),
        ({"metrics": [{"n": "cpu"}]}, {"metrics": []}, ("/body/metrics/0/n",)),
        ({"list": [{"name": "a", "env": ["x"]}]}, {"list": [{"name": "a"}]}, ("/body/list/0/env/0",)),
        ({"a/b": "x"}, {}, ("/body/a~1b",)),
        ({"a": 1}, [], ("/body/a",)),
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
