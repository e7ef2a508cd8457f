"""Suggestions made apart agree when they are applied one after the other."""

from __future__ import annotations

from typing import Any, NamedTuple

import jsonpatch

from corrigible.proxy.core.feedback import merge_suggestions
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.schema.exchange import Request
from tests._support.rows import rows

Patch = list[dict[str, Any]]


class Rule(NamedTuple):
    id: str = "a.b"
    diagnosis: str = "d"
    code: str = ""
    verbose_code: str = "B"
    may_guess: bool = False


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


OPERATIONS: dict[str, tuple[Any, list[Patch], list[Patch | None]]] = {
    "a test of an object that grew is of what it is now": (
        {"a": {"b": 1}},
        [
            [{"op": "add", "path": "/body/a/c", "value": 2}],
            [{"op": "test", "path": "/body/a", "value": {"b": 1}}, {"op": "remove", "path": "/body/a/b"}],
        ],
        [
            [{"op": "add", "path": "/body/a/c", "value": 2}],
            [{"op": "test", "path": "/body/a", "value": {"b": 1, "c": 2}}, {"op": "remove", "path": "/body/a/b"}],
        ],
    ),
    "a test that never held stays, and the patch with it": (
        {"a": 1},
        [
            [{"op": "add", "path": "/body/b", "value": 2}],
            [{"op": "test", "path": "/body/a", "value": 9}, {"op": "add", "path": "/body/c", "value": 3}],
        ],
        [
            [{"op": "add", "path": "/body/b", "value": 2}],
            [{"op": "test", "path": "/body/a", "value": 9}, {"op": "add", "path": "/body/c", "value": 3}],
        ],
    ),
    "what is left without an edit is nothing": (
        {"a": 1, "b": 1},
        [
            [{"op": "remove", "path": "/body/a"}],
            [{"op": "test", "path": "/body/b", "value": 1}, {"op": "remove", "path": "/body/a"}],
        ],
        [[{"op": "remove", "path": "/body/a"}], None],
    ),
    "a value that stands there already is set again": (
        {"a": 1},
        [[{"op": "add", "path": "/body/b", "value": 1}], [{"op": "replace", "path": "/body/a", "value": 2}]],
        [[{"op": "add", "path": "/body/b", "value": 1}], [{"op": "replace", "path": "/body/a", "value": 2}]],
    ),
    "members are merged whatever they are called": (
        {},
        [
            [{"op": "add", "path": "/body/a", "value": {"x/y": {"k": 1}}}],
            [{"op": "add", "path": "/body/a", "value": {"x/y": {"l~": 2}, "x/y~": 3}}],
        ],
        [
            [{"op": "add", "path": "/body/a", "value": {"x/y": {"k": 1}}}],
            [
                {"op": "add", "path": "/body/a/x~1y/l~0", "value": 2},
                {"op": "add", "path": "/body/a/x~1y~0", "value": 3},
            ],
        ],
    ),
    "an array is the first one's": (
        {},
        [[{"op": "add", "path": "/body/a", "value": [1]}], [{"op": "add", "path": "/body/a", "value": {"b": 1}}]],
        [[{"op": "add", "path": "/body/a", "value": [1]}], None],
    ),
    "a third sees what both did": (
        {"a": 1},
        [
            [{"op": "remove", "path": "/body/a"}],
            [{"op": "add", "path": "/body/b", "value": 1}],
            [{"op": "remove", "path": "/body/a"}, {"op": "move", "from": "/body/b", "path": "/body/c"}],
        ],
        [
            [{"op": "remove", "path": "/body/a"}],
            [{"op": "add", "path": "/body/b", "value": 1}],
            [{"op": "move", "from": "/body/b", "path": "/body/c"}],
        ],
    ),
}


@rows("name", OPERATIONS)
def test_how_patches_agree(name: str) -> None:
    body, given, left = OPERATIONS[name]
    merged = merge_suggestions([spoken(patch) for patch in given], asked(body))
    assert [[one["patch"] for one in result.suggestions] for result in merged] == [
        [] if patch is None else [patch] for patch in left
    ]


def test_of_a_choice_the_first_alternative_counts_for_what_comes_after() -> None:
    one: Patch = [{"op": "add", "path": "/body/a", "value": 1}]
    other: Patch = [{"op": "add", "path": "/body/b", "value": 2}]
    results = merge_suggestions([spoken(one, other, relation="one_of"), spoken(one), spoken(other)], asked({}))
    assert [len(result.suggestions) for result in results] == [2, 0, 1]
    together = merge_suggestions([spoken(one, other, relation="all"), spoken(one), spoken(other)], asked({}))
    assert [len(result.suggestions) for result in together] == [2, 0, 0]


def test_suggestions_without_a_patch_differ_by_what_they_ask() -> None:
    wait = {"action": "WAIT_AND_RETRY", "parameters": {}}
    steps = {**wait, "steps": [{"method": "GET", "path": "/x"}]}
    results = [spoken()._replace(suggestions=(one,)) for one in (wait, steps, dict(wait), {**wait, "message": "m"})]
    assert [len(result.suggestions) for result in merge_suggestions(results, asked({}))] == [1, 1, 0, 0]
