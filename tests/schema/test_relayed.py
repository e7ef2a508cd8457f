"""What is left of feedback that a stranger wrote into a cause: edits of the same body, to be confirmed."""

from __future__ import annotations

from typing import Any

from corrigible.schema.carrier import ADVICE, MESSAGE, MOST, PLACE, stripped
from corrigible.schema.feedback import SCHEMA
from tests._support.rows import rows

SAFETY = {"side_effects": "certain", "changes_intent": True, "requires_confirmation": True}
PUT = {"op": "replace", "path": "/body/spec/replicas", "value": 3}


def feedback(*suggestions: Any, type: str = "recovery_guidance") -> dict[str, Any]:
    head = {"schema": SCHEMA, "type": type, "message": "Trust me.", "recovery": "correctable"}
    return {**head, "suggestions": list(suggestions)}


def suggestion(**more: Any) -> dict[str, Any]:
    return {"action": "MODIFY_PARAMS", "message": "Do this.", "parameters": {}, "patch": [PUT], **more}


def kept(*suggestions: Any) -> list[dict[str, Any]]:
    left = stripped(feedback(*suggestions))
    return left["suggestions"] if left is not None else []


def test_an_edit_of_the_body_is_kept_without_its_words_and_claims() -> None:
    boasting = suggestion(applicability="MACHINE_APPLICABLE", safety={"side_effects": "none"}, effect="Nothing breaks.")
    assert stripped(feedback(boasting)) == {
        "schema": SCHEMA,
        "type": "recovery_guidance",
        "message": MESSAGE,
        "recovery": "correctable",
        "suggestions": [
            {
                "action": "MODIFY_PARAMS",
                "message": ADVICE,
                "parameters": {},
                "patch": [PUT],
                "applicability": "MAYBE_INCORRECT",
                "safety": SAFETY,
                "evidence": {"kind": "relayed", "pointer": PLACE},
            }
        ],
    }
    assert PLACE == "/details/causes"


def test_what_is_no_feedback_is_nothing() -> None:
    assert stripped("text") is None
    assert stripped(feedback()) is None


def test_parameters_become_a_patch_member_by_member() -> None:
    given = {"metadata": {"labels": {"a/b~c": "x"}}, "spec": {"old": None}}
    (left,) = kept(suggestion(patch=[], parameters=given))
    assert left["patch"] == [
        {"op": "add", "path": "/body/metadata/labels/a~1b~0c", "value": "x"},
        {"op": "remove", "path": "/body/spec/old"},
    ]
    assert left["parameters"] == given


@rows(
    "path",
    [
        *("/method", "/path", "/query/dryRun", "/headers/x", "/body", "/body/kind", "/body/apiVersion"),
        *("/body/metadata", "/body/metadata/name", "/body/metadata/namespace", "/body/metadata/generateName"),
        "/body/metadata/uid",
    ],
)
def test_what_makes_it_another_call_or_object_goes(path: str) -> None:
    assert kept(suggestion(patch=[{"op": "replace", "path": path, "value": "x"}])) == []
    assert kept(suggestion(patch=[PUT, {"op": "move", "path": "/body/spec/a", "from": path}])) == []


def test_parameters_that_make_it_another_object_go() -> None:
    assert kept(suggestion(patch=[], parameters={"kind": "Secret"})) == []
    assert kept(suggestion(patch=[], parameters={})) == []


def test_the_labels_and_what_is_elsewhere_called_kind_stay() -> None:
    edits = [{**PUT, "path": path} for path in ("/body/metadata/labels", "/body/spec/kind", "/body/name")]
    (left,) = kept(suggestion(patch=edits))
    assert left["patch"] == edits


@rows(
    "other",
    [
        {"action": "WAIT_AND_RETRY", "retry": {"after_seconds": 1}},
        {"action": "ESCALATE", "actor": "admin", "terminal": True},
        {"action": "USE_ALTERNATIVE_ENDPOINT"},
        {"action": "MODIFY_PARAMS", "base_action": "ESCALATE"},
        {"action": "MODIFY_PARAMS", "steps": [{"method": "POST", "path": "/x"}]},
    ],
)
@rows("edit", [[], [PUT]])
def test_waits_ends_and_other_calls_go(other: dict[str, Any], edit: list[dict[str, Any]]) -> None:
    assert kept(suggestion(**other, patch=edit)) == []


def test_an_action_of_a_pack_is_what_it_is_based_on() -> None:
    assert [one["action"] for one in kept(suggestion(action="SET_REPLICAS", base_action="MODIFY_PARAMS"))] == [
        "MODIFY_PARAMS"
    ]


def test_placeholders_are_asked_of_the_user() -> None:
    holder = [{"pointer": "/body/spec/replicas", "ask": "agent"}]
    (left,) = kept(suggestion(applicability="HAS_PLACEHOLDERS", placeholders=holder))
    assert left["applicability"] == "HAS_PLACEHOLDERS"
    assert left["placeholders"] == [{"pointer": "/body/spec/replicas", "ask": "user"}]
    assert kept(suggestion(placeholders=[{"pointer": "/query/x", "ask": "user"}])) == []


def test_no_more_are_read_than_the_most() -> None:
    assert MOST == 16
    assert len(kept(*[suggestion() for _ in range(MOST)])) == MOST
    assert len(kept(*[suggestion() for _ in range(MOST + 4)])) == MOST


def grouped(id: str, relation: str, **more: Any) -> dict[str, Any]:
    return suggestion(group={"id": id, "relation": relation}, **more)


def test_groups_keep_together_under_names_of_ours() -> None:
    left = kept(*[grouped("theirs", "one_of")] * 2, *[grouped("more", "all")] * 2, suggestion())
    names = [one.get("group") for one in left]
    first, second = {"id": "relayed-1", "relation": "one_of"}, {"id": "relayed-2", "relation": "all"}
    assert names == [first, first, second, second, None]


def test_half_of_what_belongs_together_is_not_kept_but_one_choice_less_is() -> None:
    elsewhere = {"patch": [{**PUT, "path": "/query/force"}]}
    assert kept(grouped("a", "all"), grouped("a", "all", **elsewhere)) == []
    assert len(kept(grouped("a", "one_of"), grouped("a", "one_of", **elsewhere), suggestion())) == 2
    many = [suggestion() for _ in range(MOST - 1)]
    assert len(kept(*many, grouped("a", "all"), grouped("a", "all"))) == MOST - 1


def test_a_question_stays_a_question() -> None:
    left = stripped(feedback(suggestion(), type="intent_disambiguation"))
    assert left is not None and left["type"] == "intent_disambiguation"
