"""Suggestions made apart agree when they are applied one after the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import jsonpatch

from corrigible.proxy.core.merge import merge_suggestions
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.schema.exchange import Request

Patch = list[dict[str, Any]]


class Rule(NamedTuple):
    id: str = "a.b"
    diagnosis: str = "d"
    code: str = ""
    verbose_code: str = "B"


def spoken(*patches: Patch, relation: str = "") -> RuleResult:
    group = {"group": {"id": "1.1", "relation": relation}} if relation else {}
    said = tuple({"action": "MODIFY_PARAMS", "patch": patch, **group} for patch in patches)
    return RuleResult(Rule(), said, "recovery_guidance", "correctable", None, used_live_state=False)


def asked(body: Any) -> Request:
    return Request("POST", "/x", body=body)


def after(body: Any, said: list[RuleResult]) -> Any:
    document = asked(body).document()
    for one in said:
        for suggestion in one.suggestions:
            document = jsonpatch.apply_patch(document, suggestion["patch"])
    return document["body"]


def test_the_second_to_make_a_parent_adds_to_the_first_ones() -> None:
    one: Patch = [{"op": "add", "path": "/body/limits", "value": {"cpu": {"max": 1}}}]
    two: Patch = [{"op": "add", "path": "/body/limits", "value": {"memory": 2, "cpu": {"min": 0}}}]
    said = merge_suggestions([spoken(one), spoken(two)], asked({}))
    assert after({}, said) == {"limits": {"cpu": {"max": 1, "min": 0}, "memory": 2}}
    assert said[0].suggestions[0]["patch"] == one


def test_what_is_done_already_is_not_done_again() -> None:
    one: Patch = [{"op": "add", "path": "/body/a", "value": 1}]
    said = merge_suggestions([spoken(one), spoken(list(one))], asked({}))
    assert [len(s.suggestions) for s in said] == [1, 0]


def test_the_first_to_change_a_place_has_the_say() -> None:
    first: Patch = [{"op": "test", "path": "/body/a", "value": 0}, {"op": "replace", "path": "/body/a", "value": 1}]
    second: Patch = [
        {"op": "test", "path": "/body/a", "value": 0},
        {"op": "replace", "path": "/body/a", "value": 2},
        {"op": "add", "path": "/body/b", "value": 3},
    ]
    assert after({"a": 0}, merge_suggestions([spoken(first), spoken(second)], asked({"a": 0}))) == {"a": 1, "b": 3}


def test_a_member_removed_twice_is_removed_once() -> None:
    one: Patch = [{"op": "test", "path": "/body/a", "value": 0}, {"op": "remove", "path": "/body/a"}]
    said = merge_suggestions([spoken(one), spoken(list(one))], asked({"a": 0}))
    assert (len(said[1].suggestions), after({"a": 0}, said)) == (0, {})


def test_a_member_renamed_twice_is_renamed_once() -> None:
    one: Patch = [{"op": "move", "from": "/body/a", "path": "/body/b"}]
    said = merge_suggestions([spoken(one), spoken(list(one))], asked({"a": 0}))
    assert (len(said[1].suggestions), after({"a": 0}, said)) == (0, {"b": 0})


def test_what_is_asked_twice_is_asked_once() -> None:
    ask = {"action": "MODIFY_PARAMS", "placeholders": [{"pointer": "/body/image"}], "evidence": {"rule": "a"}}
    other = {**ask, "evidence": {"rule": "b"}}
    said = [spoken()._replace(suggestions=(one,)) for one in (ask, other)]
    assert [one.suggestions for one in merge_suggestions(said, asked({}))] == [(ask,), ()]


def test_alternatives_stay_and_go_together() -> None:
    one: Patch = [{"op": "add", "path": "/body/a", "value": 1}]
    other: Patch = [{"op": "add", "path": "/body/a", "value": 2}]
    choice = spoken(one, other, relation="one_of")
    assert merge_suggestions([choice, spoken([{"op": "add", "path": "/body/b", "value": 1}])], asked({}))[0] == choice
    assert merge_suggestions([spoken(one), choice], asked({})) == [spoken(one), choice._replace(suggestions=())]


def test_one_that_does_not_fit_is_left_as_it_is() -> None:
    wrong: Patch = [{"op": "replace", "path": "/body/gone/deep", "value": 1}]
    right: Patch = [{"op": "add", "path": "/body/b", "value": 1}]
    said = merge_suggestions([spoken(wrong), spoken(right)], asked({}))
    assert [s.suggestions[0]["patch"] for s in said] == [wrong, right]


def test_a_single_suggestion_is_handed_back() -> None:
    said = [spoken([{"op": "add", "path": "/body/a", "value": 1}])]
    assert merge_suggestions(said, asked({"a": 1})) == said
