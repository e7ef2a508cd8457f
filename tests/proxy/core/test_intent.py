"""What a suggestion takes from the request is computed from its edit, whatever its author claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from corrigible.proxy.core.intent import declare_losses, losing, undeclared_losses, with_losses
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.pack.load import Pack, load_pack
from corrigible.schema.exchange import Request
from tests._support.rows import rows

BODY = {"kind": "V1", "name": "n", "size": 50, "hooks": [{}, {}]}
REQUEST = Request("POST", "/x", {"q": "1"}, {"x-tenant": "a"}, BODY)
MEANINGS = """\
tokens: [etag]
meanings:
- {where: {/kind: V1}, becomes: {/kind: V2}, at: /mode, value: {}, because: An empty mode is all in V1.}
- {where: {/kind: V1}, becomes: {/kind: V3}, at: /hooks/*/policy, because: None is a refusal in V1.}
- {where: {/kind: V2}, becomes: {/kind: V1}, at: /name, value: n, because: It is another name.}
"""


class Author(NamedTuple):
    id: str = "a.b"
    diagnosis: str = "d"
    code: str = ""
    verbose_code: str = "B"
    may_guess: bool = False


@pytest.fixture
def pack(write_pack: Callable[..., Path]) -> Pack:
    rule = "suggest: [{action: ESCALATE, actor: you, message: m}]\n"
    return load_pack(write_pack(manifest=MEANINGS, x=rule))


def setting(**members: Any) -> list[dict[str, Any]]:
    return [{"op": "replace", "path": f"/body/{name}", "value": value} for name, value in members.items()]


def edit(*patch: dict[str, Any], **more: Any) -> dict[str, Any]:
    safety = {"side_effects": "none", "changes_intent": False}
    head = {"action": "MODIFY_PARAMS", "message": "m", "parameters": {}, "applicability": "MACHINE_APPLICABLE"}
    return {**head, "safety": safety, "patch": list(patch), **more}


def result(*suggestions: dict[str, Any]) -> RuleResult:
    return RuleResult(Author(), suggestions, "recovery_guidance", "correctable", None, False)


def losses(pack: Pack, *results: RuleResult, request: Request = REQUEST) -> list[list[Any]]:
    """Return what each suggestion of each result says that it loses; that it changes the intent where that is all."""
    out: list[list[Any]] = []
    for one in declare_losses(results, request, pack):
        out.append([])
        for suggestion in one.suggestions:
            changed = suggestion["safety"]["changes_intent"]
            assert (suggestion["applicability"] == "MACHINE_APPLICABLE") is not changed
            out[-1].append(suggestion["safety"].get("loses", changed))
    return out


ONE_OF = {"group": {"id": "1", "relation": "one_of"}}
REMOVE_SIZE = {"op": "remove", "path": "/body/size"}


def test_one_suggestion(pack: Pack) -> None:
    assert losses(pack, result(edit(*setting(size="50")))) == [[False]]
    assert losses(pack, result(edit(*setting(size=10)))) == [[["/body/size"]]]
    assert losses(pack, result(edit(*setting(name="m", size=1)))) == [[["/body/name", "/body/size"]]]
    assert losses(pack, result(edit(REMOVE_SIZE))) == [[["/body/size"]]]
    assert losses(pack, result(edit({"op": "move", "from": "/body/size", "path": "/body/length"}))) == [[False]]
    assert losses(pack, result(edit({"op": "replace", "path": "/query/q", "value": "2"}))) == [[["/query/q"]]]


@pytest.mark.parametrize(
    "unedited",
    [
        edit(action="ESCALATE", parameters={"size": 1}),
        edit(action="ASK_SOMEBODY", base_action="ESCALATE", parameters={"size": 1}),
        edit(),
        edit({"op": "replace", "path": "/body/not/there", "value": 1}),
    ],
    ids=["terminal", "based on one", "nothing to edit", "does not fit"],
)
def test_what_edits_nothing_loses_nothing(pack: Pack, unedited: dict[str, Any]) -> None:
    (one, other) = declare_losses([result(unedited), result(edit(REMOVE_SIZE))], REQUEST, pack)
    assert one.suggestions == (unedited,)
    assert other.suggestions[0]["safety"]["loses"] == ["/body/size"]


def test_parameters_are_an_edit_too(pack: Pack) -> None:
    merged = edit(parameters={"size": 10})
    assert losses(pack, result({name: value for name, value in merged.items() if name != "patch"})) == [
        [["/body/size"]]
    ]


def test_steps_may_keep_what_an_edit_takes(pack: Pack) -> None:
    steps = [{"method": "POST", "path": "/sizes", "body": {"size": 50}}]
    assert losses(pack, result(edit(REMOVE_SIZE, steps=steps))) == [[False]]


def test_suggestions_are_applied_one_after_the_other(pack: Pack) -> None:
    """What an earlier one put there was never sent, so that nobody loses it; what it took is lost once."""
    add = edit({"op": "add", "path": "/body/extra", "value": "made up"})
    again = edit({"op": "replace", "path": "/body/extra", "value": "other"})
    remove = edit({"op": "remove", "path": "/body/extra"})
    assert losses(pack, result(add), result(again), result(remove)) == [[False], [False], [False]]
    assert losses(pack, result(edit(*setting(size=10))), result(edit(*setting(size=5)))) == [
        [["/body/size"]],
        [["/body/size"]],
    ]
    header = {"op": "replace", "path": "/headers/X-Tenant", "value": "b"}
    assert losses(pack, result(add), result(edit(header))) == [[False], [["/headers/x-tenant"]]]


def test_what_does_not_fit_behind_another_is_applied_alone(pack: Pack) -> None:
    rename = edit({"op": "move", "from": "/body/size", "path": "/body/length"})
    assert losses(pack, result(rename), result(edit(REMOVE_SIZE))) == [[False], [["/body/size"]]]


def test_of_alternatives_each_counts_for_itself_and_readers_apply_the_first(pack: Pack) -> None:
    one, other = edit(*setting(size="50"), **ONE_OF), edit(REMOVE_SIZE, **ONE_OF)
    third = edit({"op": "test", "path": "/body/size", "value": "50"}, *setting(name="m"))
    assert losses(pack, result(one, other), result(third)) == [[False, ["/body/size"]], [["/body/name"]]]
    assert losses(pack, result(other, one), result(edit({"op": "remove", "path": "/body/name"}))) == [
        [["/body/size"], False],
        [["/body/name"]],
    ]


def test_a_token_may_be_another_one(pack: Pack) -> None:
    request = replace(REQUEST, body={"etag": "1", "name": "n"})
    assert losses(pack, result(edit(*setting(etag="2"))), request=request) == [[False]]
    assert losses(pack, result(edit(*setting(etag="2")), edit(*setting(name="m"))), request=request) == [
        [False, ["/body/name"]]
    ]


@rows(
    ("body", "patch", "lost"),
    [
        ({"mode": {}}, setting(kind="V2"), ["/body/kind", "/body/mode"]),
        ({"mode": {"a": 1}}, setting(kind="V2"), ["/body/kind"]),
        ({}, setting(kind="V2"), ["/body/kind"]),
        ({}, setting(kind="V3"), ["/body/kind"]),
        ({"hooks": [{"policy": "p"}, {"policy": "p"}]}, setting(kind="V3"), ["/body/kind"]),
        ({"mode": {}}, setting(kind="V4"), ["/body/kind"]),
        ({"mode": {}}, setting(name="m"), ["/body/name"]),
        ({"kind": "V2"}, setting(kind="V1"), ["/body/kind", "/body/name"]),
    ],
)
def test_a_value_may_mean_something_else_after_an_edit(
    pack: Pack, body: dict[str, Any], patch: list[dict[str, Any]], lost: list[str]
) -> None:
    request = replace(REQUEST, body={**BODY, **body})
    assert losses(pack, result(edit(*patch)), request=request) == [[lost]]


@pytest.mark.parametrize(
    ("hooks", "changes"),
    [
        ([{"policy": "p"}, {}], True),
        ([{"policy": "p"}, {"policy": "p"}], False),
        ([{}], True),
        ([], True),
    ],
)
def test_an_absent_value_may_mean_something_else_after_a_move(pack: Pack, hooks: list[Any], changes: bool) -> None:
    """The kind is said in another member as well, so that nothing is lost but the meaning of what is not there."""
    request = replace(REQUEST, body={"kind": "V1", "was": "V3", "hooks": hooks})
    swap = [
        {"op": "move", "from": "/body/kind", "path": "/body/before"},
        {"op": "move", "from": "/body/was", "path": "/body/kind"},
    ]
    assert losses(pack, result(edit(*swap)), request=request) == [[changes]]


def test_somebody_elses_feedback_says_what_it_takes(pack: Pack) -> None:
    feedback = {"message": "m", "suggestions": [edit(REMOVE_SIZE), edit(*setting(size="50"))]}
    declared = with_losses(feedback, REQUEST, pack)
    assert declared["message"] == "m"
    assert [one["safety"]["changes_intent"] for one in declared["suggestions"]] == [True, False]


def test_what_a_dry_run_kept_may_be_under_another_version(write_pack: Callable[..., Path]) -> None:
    rule = "suggest: [{action: ESCALATE, actor: you, message: m}]\n"
    manifest = "dry_run: {query: {dryRun: All}, methods: [POST], version: kind}\n"
    pack = load_pack(write_pack(manifest=manifest, x=rule))
    verified = {"verification": {"status": "verified", "method": "dry_run"}}
    assert losses(pack, result(edit(*setting(kind="V2"), **verified))) == [[False]]
    for other in (
        {"verification": {"status": "verified", "method": "lookup"}},
        {"verification": {"status": "unverified", "method": "dry_run"}},
        {},
    ):
        assert losses(pack, result(edit(*setting(kind="V2"), **other))) == [[["/body/kind"]]]


def test_what_authors_do_not_declare(pack: Pack) -> None:
    honest = edit(REMOVE_SIZE, safety={"side_effects": "none", "changes_intent": True})
    claimed = [result(edit(REMOVE_SIZE), honest), result(edit(*setting(name="m")))]
    declared = declare_losses(claimed, REQUEST, pack)
    assert undeclared_losses(claimed, declared) == ["/body/size", "/body/name"]
    assert undeclared_losses(declared, declared) == []


def test_losses_add_up() -> None:
    once = losing(edit(), ["/a", "/b"])
    assert (once["safety"]["loses"], once["applicability"]) == (["/a", "/b"], "MAYBE_INCORRECT")
    assert losing(once, ["/b", "/c"])["safety"]["loses"] == ["/a", "/b", "/c"]
    assert once["safety"]["loses"] == ["/a", "/b"], "the one given stays as it was"
    assert losing(once, []) is once
    asked = losing({"action": "MODIFY_PARAMS", "applicability": "HAS_PLACEHOLDERS"}, ["/a"])
    assert asked["applicability"] == "HAS_PLACEHOLDERS"


@rows(
    ("kind", "searches", "kept"),
    [
        ("spec", False, True),
        ("answer", False, True),
        ("rule", True, True),
        ("rule", False, False),
        ("lookup", False, False),
        ("mapping", False, False),
        (None, False, False),
    ],
)
def test_what_is_near_is_meant_only_where_it_is_known_which_values_there_are(
    pack: Pack, kind: str | None, searches: bool, kept: bool
) -> None:
    request = Request("POST", "/widgets", body={"state": "opned", "host": "node-1"})
    evidence = {} if kind is None else {"evidence": {"kind": kind}}
    for name, put in (("state", "opened"), ("host", "node-10")):
        one = result(edit(*setting(**{name: put}), **evidence))._replace(rule=Author(may_guess=searches))
        (declared,) = declare_losses([one], request, pack)
        safety = declared.suggestions[0]["safety"]
        assert safety.get("loses") == (None if kept and name == "state" else [f"/body/{name}"])
        assert (declared.suggestions[0]["applicability"] == "MACHINE_APPLICABLE") is not safety["changes_intent"]
