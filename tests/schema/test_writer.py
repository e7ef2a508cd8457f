"""What a writer must not send: by code, and by the published JSON Schema where a schema can tell."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

from corrigible.schema import FeedbackError, Vocabulary, parse, validate
from tests._support.rows import rows

SCHEMA = Draft202012Validator(
    json.loads(files("corrigible.schema").joinpath("feedback.schema.json").read_text("utf-8"))
)


class Broken(NamedTuple):
    name: str
    feedback: dict[str, Any]
    problem: str
    by_schema: bool = True


def one(_feedback: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    suggestion = {"action": "MODIFY_PARAMS", "parameters": {}, **members}
    return {"type": "recovery_guidance", "message": "No.", "suggestions": [suggestion], **(_feedback or {})}


def patch(*operations: dict[str, Any]) -> dict[str, Any]:
    return one(patch=list(operations))


def add(path: str, value: Any = 1) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def observed(successes: int, trials: int) -> dict[str, Any]:
    return {"basis": "observed", "successes": successes, "trials": trials}


TERMINAL = {"recovery": "terminal"}
SURE: dict[str, Any] = {
    "applicability": "MACHINE_APPLICABLE",
    "verification": {"status": "verified", "method": "schema"},
}
PLACE = [{"pointer": "/body/currency", "ask": "user"}]

BROKEN = [
    Broken(
        "no-suggestions", {"type": "recovery_guidance", "message": "No.", "suggestions": []}, "suggestions is empty"
    ),
    Broken("no-message", one({"message": " \n"}), "message is empty"),
    Broken("lower-case-action", one(action="fix-it", base_action="MODIFY_PARAMS"), "not upper snake case"),
    Broken("unknown-without-base", one(action="FIX_IT"), "FIX_IT is no base action and has no base_action"),
    Broken("base-is-no-base", one(action="FIX_IT", base_action="FIX_THAT"), "base_action FIX_THAT is no base action"),
    Broken("base-with-other-base", one(base_action="ESCALATE"), "MODIFY_PARAMS is a base action"),
    Broken("terminal-not-so-called", one(action="ESCALATE"), "ESCALATE needs recovery terminal"),
    Broken(
        "terminal-but-correctable",
        one({"recovery": "correctable"}, action="ALREADY_DONE"),
        "ALREADY_DONE needs recovery terminal",
    ),
    Broken("terminal-without-action", one(TERMINAL), "recovery terminal needs a terminal action"),
    Broken(
        "terminal-in-company",
        one({**TERMINAL, "suggestions": [{"action": a, "parameters": {}} for a in ("MODIFY_PARAMS", "ESCALATE")]}),
        "ESCALATE does not stand alone",
    ),
    Broken(
        "pack-terminal-in-company",
        one(
            {
                **TERMINAL,
                "suggestions": [
                    {"action": "GIVE_UP", "base_action": "NO_RECOVERY_AVAILABLE", "parameters": {}},
                    {"action": "ESCALATE", "parameters": {}},
                ],
            }
        ),
        "GIVE_UP does not stand alone",
    ),
    Broken("terminal-with-retry", one({**TERMINAL, "retry": {}}, action="ESCALATE"), "recovery terminal forbids retry"),
    Broken("terminal-with-patch", one(TERMINAL, action="ESCALATE", patch=[add("/body/a")]), "ESCALATE has patch"),
    Broken(
        "terminal-with-steps",
        one(TERMINAL, action="ALREADY_DONE", steps=[{"method": "GET", "path": "/a"}]),
        "ALREADY_DONE has steps",
    ),
    Broken("wait-in-parameters", one(action="WAIT_AND_RETRY", parameters={"after": 3}), "the wait belongs into retry"),
    Broken("sure-without-evidence", one(applicability="MACHINE_APPLICABLE"), "MACHINE_APPLICABLE needs evidence"),
    Broken(
        "sure-by-author",
        one(applicability="MACHINE_APPLICABLE", confidence={"basis": "author", "value": 1}),
        "MACHINE_APPLICABLE needs evidence",
    ),
    Broken(
        "sure-of-too-few",
        one(applicability="MACHINE_APPLICABLE", confidence=observed(19, 19)),
        "MACHINE_APPLICABLE needs evidence",
    ),
    Broken(
        "sure-below-the-bound",
        one(applicability="MACHINE_APPLICABLE", confidence=observed(34, 34)),
        "MACHINE_APPLICABLE needs evidence",
        by_schema=False,
    ),
    Broken("sure-of-another-intent", one(**SURE, safety={"changes_intent": True}), "with changes_intent"),
    Broken("sure-but-asks", one(**SURE, safety={"requires_confirmation": True}), "with requires_confirmation"),
    Broken("sure-with-placeholders", one(**SURE, placeholders=PLACE), "placeholders need applicability"),
    Broken("placeholders-unsaid", one(placeholders=PLACE), "placeholders need applicability HAS_PLACEHOLDERS"),
    Broken("placeholders-missing", one(applicability="HAS_PLACEHOLDERS"), "HAS_PLACEHOLDERS without placeholders"),
    Broken(
        "placeholder-nowhere",
        one(applicability="HAS_PLACEHOLDERS", placeholders=[{"pointer": "currency"}]),
        "placeholder 0: is no JSON pointer",
    ),
    Broken("refuted", one(verification={"status": "refuted"}), "refuted, so it is not sent"),
    Broken("verified-somehow", one(verification={"status": "verified"}), "verified by no method"),
    Broken("observed-nothing", one(confidence={"basis": "observed", "value": 1}), "needs successes and trials"),
    Broken("more-hits-than-tries", one(confidence=observed(3, 2)), "more successes than trials", by_schema=False),
    Broken(
        "group-of-two-minds",
        one(
            {
                "suggestions": [
                    {"action": "MODIFY_PARAMS", "parameters": {}, "group": {"id": "g", "relation": relation}}
                    for relation in ("all", "one_of")
                ]
            }
        ),
        "group g is both all and one_of",
        by_schema=False,
    ),
    Broken("pointer-without-slash", patch(add("body/a")), "path is no JSON pointer"),
    Broken("pointer-with-bad-escape", patch(add("/body/a~2")), "path is no JSON pointer"),
    Broken("pointer-to-the-whole", patch(add("", {})), "points to no member of the request document"),
    Broken("pointer-outside", patch(add("/cookies/a")), "points to no member of the request document"),
    Broken("pointer-into-path", patch(add("/path/0", "x")), "points into path, which is text"),
    Broken("all-headers", patch(add("/headers", {})), "points to no header that may change"),
    Broken("credential", patch(add("/headers/Authorization", "x")), "points to no header that may change"),
    Broken(
        "credential-copied",
        patch({"op": "copy", "path": "/body/a", "from": "/headers/cookie"}),
        "from points to no header that may change",
    ),
    Broken("add-without-value", patch({"op": "add", "path": "/body/a"}), "add needs a value"),
    Broken("remove-with-value", patch({"op": "remove", "path": "/body/a", "value": 1}), "remove has a value"),
    Broken("move-without-from", patch({"op": "move", "path": "/body/a"}), "move needs from"),
    Broken("test-with-from", patch({**add("/body/a"), "op": "test", "from": "/body/b"}), "test has from"),
    Broken("path-off-the-host", patch(add("/path", "//evil.example/x")), "value is no path on the same host"),
    Broken("path-with-query", patch(add("/path", "/a?b=c")), "value is no path on the same host"),
    Broken("method-of-two-words", patch(add("/method", "GET /")), "value is no method", by_schema=False),
    Broken(
        "array-edit-unguarded",
        patch({"op": "replace", "path": "/body/items/2/name", "value": "x"}),
        "edit inside an array without a test at /body/items/2 before it",
        by_schema=False,
    ),
    Broken(
        "array-edit-unguarded-in-a-query",
        patch({"op": "remove", "path": "/query/items/2"}),
        "edit inside an array without a test at /query/items/2 before it",
        by_schema=False,
    ),
    Broken(
        "array-element-added-to-unguarded",
        patch(add("/body/items/2/name")),
        "edit inside an array without a test at /body/items/2 before it",
        by_schema=False,
    ),
    Broken(
        "array-edit-guarded-elsewhere",
        patch({"op": "test", "path": "/body/items/1/name", "value": "y"}, {"op": "remove", "path": "/body/items/2"}),
        "without a test at /body/items/2",
        by_schema=False,
    ),
    Broken(
        "array-edit-guarded-late",
        patch({"op": "remove", "path": "/body/0"}, {"op": "test", "path": "/body/0", "value": 1}),
        "without a test at /body/0",
        by_schema=False,
    ),
    Broken(
        "array-element-moved",
        patch({"op": "move", "path": "/body/a", "from": "/body/b/0"}),
        "without a test at /body/b/0",
        by_schema=False,
    ),
    Broken("step-elsewhere", one(steps=[{"method": "GET", "path": "https://a.example/"}]), "no path on the same host"),
    Broken("step-with-no-method", one(steps=[{"method": "get it", "path": "/a"}]), "step 0: no method"),
    Broken(
        "step-with-credential",
        one(steps=[{"method": "GET", "path": "/a", "headers": {"Cookie": "x"}}]),
        "step 0: the credential cookie",
    ),
    Broken(
        "step-with-second-header-line",
        one(steps=[{"method": "GET", "path": "/a", "headers": {"x": "1\r\ny: 2"}}]),
        "step 0: no valid value for header x",
        by_schema=False,
    ),
]

broken = rows("case", BROKEN, ids=lambda case: case.name)


@broken
def test_code_refuses(case: Broken) -> None:
    with pytest.raises(FeedbackError) as caught:
        validate(parse(case.feedback))
    assert [p for p in caught.value.problems if case.problem in p], caught.value.problems


@broken
def test_schema_refuses_what_a_schema_can_tell(case: Broken) -> None:
    # "MODIFY_PARAMS that rests on ESCALATE" is told apart by the terminal clause, not by a clause of its own
    assert SCHEMA.is_valid(case.feedback) is not case.by_schema


@rows(
    "fine",
    [
        patch(add("/body/items/-")),
        patch(add("/body/items/2")),
        patch({"op": "test", "path": "/body/items/2/id", "value": 7}, {"op": "remove", "path": "/body/items/2"}),
        patch({"op": "test", "path": "/body/a/0/b/1", "value": 7}, {"op": "remove", "path": "/body/a/0/b/1/c"}),
        patch(add("/path", "/v1/items:batch"), add("/method", "DELETE"), add("/headers/x-id", "1")),
        patch(add("/method", "/etcdserverpb.KV/Range")),
        one(applicability="MACHINE_APPLICABLE", confidence=observed(35, 35)),
        one(**SURE, safety={"changes_intent": False}),
        one(action="X1_Y", base_action="WAIT_AND_RETRY"),
        one(TERMINAL, action="GIVE_UP", base_action="ESCALATE"),
    ],
)
def test_both_accept(fine: dict[str, Any]) -> None:
    validate(parse(fine))
    SCHEMA.validate(fine)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(FeedbackError) as caught:
        validate(parse(one({"message": ""}, action="ESCALATE", applicability="HAS_PLACEHOLDERS")))
    assert caught.value.problems == (
        "message is empty",
        "ESCALATE needs recovery terminal",
        "suggestion 0: HAS_PLACEHOLDERS without placeholders",
    )


def test_with_a_vocabulary_actions_are_registered_and_parameters_fit() -> None:
    known = Vocabulary.base().register(
        "USE_BRAND",
        base_action="MODIFY_PARAMS",
        description="Use this brand.",
        parameters={"type": "object", "required": ["brand"]},
    )
    good = parse(one(action="USE_BRAND", base_action="MODIFY_PARAMS", parameters={"brand": "x"}))
    assert validate(good, vocabulary=known) is good
    with pytest.raises(FeedbackError, match="suggestion 0: USE_BRAND is not registered"):
        validate(good, vocabulary=Vocabulary.base())
    empty = parse(one(action="USE_BRAND", base_action="MODIFY_PARAMS"))
    with pytest.raises(FeedbackError, match='suggestion 0: USE_BRAND: /parameters: "brand" is a required property'):
        validate(empty, vocabulary=known)
    other = parse(one(action="USE_BRAND", base_action="RESOLVE_PRECONDITION", parameters={"brand": "x"}))
    with pytest.raises(FeedbackError, match="USE_BRAND rests on MODIFY_PARAMS"):
        validate(other, vocabulary=known)
