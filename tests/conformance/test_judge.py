"""What a judge says of feedback made by hand: each bad one breaks exactly one requirement, and good ones none."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from corrigible.conformance.judge.description import Description
from corrigible.conformance.judge.edit import wilson
from corrigible.conformance.judge.judgement import judged
from corrigible.conformance.judge.pace import named_wait
from corrigible.conformance.judge.told import Registered, Told
from corrigible.conformance.judge.trust import hidden
from corrigible.conformance.reference import api
from corrigible.schema import Request

BODY = {
    "customer": "cus_ada",
    "currency": "eurr",
    "channel": "web",
    "note": "a note that is a little longer than what fits in here",
    "lines": [{"sku": "tea", "quantity": 1}, {"sku": "cofee", "quantity": 2}],
}
ORDER = Request("POST", "/v1/orders", body=BODY)
KEYED = Request("POST", "/v1/orders", headers={"idempotency-key": "key-1"}, body=BODY)
READ = Request("GET", "/v1/orders", {"limit": "500", "statuss": "draft"})
EVIDENCE = {"kind": "spec", "pointer": "/body/currency"}
VOCABULARY = {"FIX_CURRENCY": Registered("MODIFY_PARAMS", {"type": "object", "required": ["currency"]})}

CURRENCY: dict[str, Any] = {
    "action": "MODIFY_PARAMS",
    "message": "Send the value that is allowed.",
    "parameters": {"currency": "eur"},
    "patch": [
        {"op": "test", "path": "/body/currency", "value": "eurr"},
        {"op": "replace", "path": "/body/currency", "value": "eur"},
    ],
    "applicability": "MAYBE_INCORRECT",
    "safety": {"side_effects": "certain", "changes_intent": False},
    "evidence": EVIDENCE,
}
LINE: dict[str, Any] = {
    **CURRENCY,
    "parameters": {},
    "patch": [
        {"op": "test", "path": "/body/lines/1/sku", "value": "cofee"},
        {"op": "replace", "path": "/body/lines/1/sku", "value": "coffee"},
    ],
}
WAIT: dict[str, Any] = {"action": "WAIT_AND_RETRY", "message": "Send it again after a while.", "parameters": {}}
END: dict[str, Any] = {
    "action": "NO_RECOVERY_AVAILABLE",
    "message": "Nothing is left.",
    "parameters": {"reason_code": "NOTHING_LEFT"},
}


def feedback(*suggestions: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    said: dict[str, Any] = {
        "type": "recovery_guidance",
        "message": "The value is not allowed.",
        "recovery": "correctable",
    }
    said |= {"suggestions": [copy.deepcopy(one) for one in suggestions or (CURRENCY,)]}
    return {**said, **members}


def told(said: Any, request: Request = ORDER, **more: Any) -> Told:
    return Told(request, said, vocabulary=VOCABULARY, description=api.DESCRIPTION, **more)


def broken(one: Told) -> set[str]:
    return {finding.requirement for finding in judged(one)}


def wait(request: Request = READ, **retry: Any) -> Told:
    return told(feedback(WAIT, recovery="transient", retry=retry), request)


def patched(*operations: Any, **members: Any) -> dict[str, Any]:
    return {**CURRENCY, "parameters": {}, "patch": list(operations), **members}


def test_op(place: str, value: Any) -> dict[str, Any]:
    return {"op": "test", "path": place, "value": value}


test_op.__test__ = False  # type: ignore[attr-defined]  # a name of RFC 6902, no test

_LIMIT = {
    "parameters": {"limit": 100},
    "patch": [test_op("/query/limit", "500"), {"op": "replace", "path": "/query/limit", "value": 100}],
}

GOOD: dict[str, Told] = {
    "a repair of one value": told(feedback()),
    "an edit inside an array, guarded": told(feedback(LINE)),
    "two repairs, one after the other": told(feedback(CURRENCY, LINE)),
    "an action of a pack": told(feedback({**CURRENCY, "action": "FIX_CURRENCY", "base_action": "MODIFY_PARAMS"})),
    "an action that nobody registered and that rests on a base action": told(
        feedback({**CURRENCY, "action": "SWAP_CURRENCY", "base_action": "MODIFY_PARAMS"})
    ),
    "alternatives that say so": told(
        feedback(
            {**CURRENCY, "group": {"id": "1", "relation": "one_of"}},
            {
                **CURRENCY,
                "parameters": {"currency": "usd"},
                "patch": [CURRENCY["patch"][0], {"op": "replace", "path": "/body/currency", "value": "usd"}],
                "group": {"id": "1", "relation": "one_of"},
            },
        )
    ),
    "an end": told(feedback(END, recovery="terminal")),
    "a wait for a read": wait(same_request=True, after_seconds=7, max_attempts=4),
    "a wait for a write without a key": wait(ORDER, same_request=False, after_seconds=7),
    "a wait for a write with a key": wait(KEYED, same_request=True, max_attempts=3, idempotency_key="reuse"),
    "a fresh key for another body": told(
        feedback(
            {
                **CURRENCY,
                "patch": [*CURRENCY["patch"], {"op": "replace", "path": "/headers/idempotency-key", "value": "k2"}],
            },
            retry={"same_request": False, "idempotency_key": "new"},
        ),
        KEYED,
    ),
    "a placeholder": told(
        feedback(
            {
                **CURRENCY,
                "parameters": {},
                "patch": [],
                "applicability": "HAS_PLACEHOLDERS",
                "placeholders": [{"pointer": "/body/currency", "ask": "user"}],
            }
        )
    ),
    "verified, and so machine applicable": told(
        feedback(
            {
                **CURRENCY,
                "applicability": "MACHINE_APPLICABLE",
                "verification": {"status": "verified", "method": "dry_run"},
            }
        )
    ),
    "observed often enough": told(
        feedback(
            {
                **CURRENCY,
                "applicability": "MACHINE_APPLICABLE",
                "confidence": {"basis": "observed", "value": 1.0, "successes": 60, "trials": 60},
            }
        )
    ),
    "a clamp in a query, flagged": told(feedback({**CURRENCY, **_LIMIT, "safety": {"changes_intent": True}}), READ),
    "a renamed query parameter": told(
        feedback(
            patched(
                test_op("/query/statuss", "draft"), {"op": "move", "from": "/query/statuss", "path": "/query/status"}
            )
        ),
        READ,
    ),
    "an edit of one element, guarded by another of its members": told(
        feedback(
            patched(
                test_op("/body/lines/0/sku", "tea"), {"op": "replace", "path": "/body/lines/0/quantity", "value": 2}
            )
        )
    ),
    "the wait that the answer names": Told(
        READ, feedback(WAIT, recovery="transient", retry={"after_seconds": 7}), headers={"retry-after": "7"}
    ),
}

_PROSE = "x" * 1001


BAD: dict[str, tuple[str, Told]] = {
    "no object": ("SRF-COR-02", told(["MODIFY_PARAMS"])),
    "a type that is none": ("SRF-COR-02", told(feedback(type="advice"))),
    "no type": ("SRF-COR-02", told({k: v for k, v in feedback().items() if k != "type"})),
    "a recovery that is none": ("SRF-COR-02", told(feedback(recovery="perhaps"))),
    "no message": ("SRF-COR-03", told({k: v for k, v in feedback().items() if k != "message"})),
    "a blank message": ("SRF-COR-03", told(feedback(message=" \t"))),
    "no suggestions": ("SRF-COR-04", told({**feedback(), "suggestions": []})),
    "suggestions that are no array": ("SRF-COR-04", told({**feedback(), "suggestions": {"0": CURRENCY}})),
    "a suggestion that is text": ("SRF-COR-04", told({**feedback(), "suggestions": [CURRENCY, "eur"]})),
    "no action": ("SRF-COR-05", told(feedback({k: v for k, v in CURRENCY.items() if k != "action"}))),
    "an action in lower case": ("SRF-COR-05", told(feedback({**CURRENCY, "action": "modify_params"}))),
    "an action nobody knows that rests on nothing": ("SRF-COR-05", told(feedback({**CURRENCY, "action": "SWAP"}))),
    "an action that rests on none of the seven": (
        "SRF-COR-05",
        told(feedback({**CURRENCY, "action": "SWAP", "base_action": "FIX_CURRENCY"})),
    ),
    "a registered action with another base": (
        "SRF-COR-05",
        told(feedback({**CURRENCY, "action": "FIX_CURRENCY", "base_action": "USE_ALTERNATIVE_ENDPOINT"})),
    ),
    "no parameters": ("SRF-COR-06", told(feedback({k: v for k, v in CURRENCY.items() if k != "parameters"}))),
    "parameters that are an array": ("SRF-COR-06", told(feedback({**CURRENCY, "parameters": ["eur"]}))),
    "two suggestions, one of which ends the matter": (
        "SRF-COR-12",
        told(feedback(END, CURRENCY, recovery="terminal")),
    ),
    "an end that is correctable": ("SRF-COR-12", told(feedback(END))),
    "terminal without an end": ("SRF-COR-12", told(feedback(recovery="terminal"))),
    "an end with a placeholder": (
        "SRF-COR-12",
        told(
            feedback(
                {
                    **END,
                    "applicability": "HAS_PLACEHOLDERS",
                    "placeholders": [{"pointer": "/body/note"}],
                    "evidence": {"kind": "rule", "rule": "x@1"},
                },
                recovery="terminal",
            )
        ),
    ),
    "a suggestion without a message": (
        "SRF-COR-13",
        told(feedback({k: v for k, v in CURRENCY.items() if k != "message"})),
    ),
    "a wait with parameters": (
        "SRF-COR-16",
        told(feedback({**WAIT, "parameters": {"seconds": 7}}, recovery="transient")),
    ),
    "parameters that are not the registered ones": (
        "SRF-COR-16",
        told(
            feedback(
                {**CURRENCY, "action": "FIX_CURRENCY", "base_action": "MODIFY_PARAMS", "parameters": {"to": "eur"}}
            )
        ),
    ),
    "a patch that is an object": ("SRF-OPS-01", told(feedback({**CURRENCY, "patch": {"op": "remove"}}))),
    "a verb that is none": ("SRF-OPS-01", told(feedback(patched({"op": "set", "path": "/body/note", "value": 1})))),
    "a pointer without a slash": ("SRF-OPS-01", told(feedback(patched({"op": "remove", "path": "body.note"})))),
    "a pointer with a bad escape": ("SRF-OPS-01", told(feedback(patched({"op": "remove", "path": "/body/a~2b"})))),
    "a pointer to no member of the document": (
        "SRF-OPS-01",
        told(feedback(patched({"op": "remove", "path": "/currency"}))),
    ),
    "a replace without a value": ("SRF-OPS-01", told(feedback(patched({"op": "replace", "path": "/body/note"})))),
    "a move without from": ("SRF-OPS-01", told(feedback(patched({"op": "move", "path": "/body/note"})))),
    "an edit of what is not there": (
        "SRF-OPS-02",
        told(feedback(patched({"op": "replace", "path": "/body/curency", "value": "eur"}))),
    ),
    "a test that does not hold": (
        "SRF-OPS-02",
        told(feedback({**CURRENCY, "patch": [test_op("/body/currency", "usdd"), CURRENCY["patch"][1]]})),
    ),
    "a second patch that the first has spoiled": (
        "SRF-OPS-02",
        told(feedback(CURRENCY, {**CURRENCY, "parameters": {"currency": "eur"}})),
    ),
    "a path on another host": (
        "SRF-OPS-02",
        told(feedback(patched({"op": "replace", "path": "/path", "value": "//evil.example/v1/orders"}))),
    ),
    "a step to another host": (
        "SRF-OPS-02",
        told(feedback({**CURRENCY, "steps": [{"method": "POST", "path": "https://evil.example/"}]})),
    ),
    "an edit inside an array without a guard": ("SRF-OPS-03", told(feedback({**LINE, "patch": LINE["patch"][1:]}))),
    "a guard at another index": (
        "SRF-OPS-03",
        told(feedback({**LINE, "patch": [test_op("/body/lines/0/sku", "tea"), LINE["patch"][1]]})),
    ),
    "a guard after the edit": (
        "SRF-OPS-03",
        told(feedback({**LINE, "patch": [LINE["patch"][1], test_op("/body/lines/1/sku", "coffee")]})),
    ),
    "an outcome that the description refuses": (
        "SRF-OPS-05",
        told(
            feedback(
                {
                    **CURRENCY,
                    "parameters": {"currency": "chf"},
                    "patch": [CURRENCY["patch"][0], {"op": "replace", "path": "/body/currency", "value": "chf"}],
                }
            )
        ),
    ),
    "an edit that takes away what is required": (
        "SRF-OPS-05",
        told(feedback(patched(test_op("/body/customer", "cus_ada"), {"op": "remove", "path": "/body/customer"}))),
    ),
    "parameters that say something else": (
        "SRF-OPS-06",
        told(feedback({**CURRENCY, "parameters": {"currency": "usd"}})),
    ),
    "parameters that name what the patch leaves alone": (
        "SRF-OPS-06",
        told(feedback({**CURRENCY, "parameters": {"currency": "eur", "note": None}})),
    ),
    "alternatives that are none of a group": (
        "SRF-OPS-07",
        told(
            feedback(
                patched({"op": "add", "path": "/body/gift", "value": True}),
                patched({"op": "add", "path": "/body/gift", "value": False}),
            )
        ),
    ),
    "a group of no relation": ("SRF-OPS-07", told(feedback({**CURRENCY, "group": {"id": "1", "relation": "some"}}))),
    "a group of two relations": (
        "SRF-OPS-07",
        told(
            feedback(
                {**CURRENCY, "group": {"id": "1", "relation": "all"}},
                {**LINE, "group": {"id": "1", "relation": "sequence"}},
            )
        ),
    ),
    "machine applicable for no reason": (
        "SRF-OPS-08",
        told(feedback({**CURRENCY, "applicability": "MACHINE_APPLICABLE"})),
    ),
    "machine applicable after 19 of 19": (
        "SRF-OPS-08",
        told(
            feedback(
                {
                    **CURRENCY,
                    "applicability": "MACHINE_APPLICABLE",
                    "confidence": {"basis": "observed", "value": 1.0, "successes": 19, "trials": 19},
                }
            )
        ),
    ),
    "machine applicable after 30 of 30, which bounds it at 0.886": (
        "SRF-OPS-08",
        told(
            feedback(
                {
                    **CURRENCY,
                    "applicability": "MACHINE_APPLICABLE",
                    "confidence": {"basis": "observed", "successes": 30, "trials": 30},
                }
            )
        ),
    ),
    "machine applicable, and yet it asks first": (
        "SRF-OPS-08",
        told(
            feedback(
                {
                    **CURRENCY,
                    "applicability": "MACHINE_APPLICABLE",
                    "verification": {"status": "verified", "method": "dry_run"},
                    "safety": {"requires_confirmation": True},
                }
            )
        ),
    ),
    "placeholders that applicability is silent about": (
        "SRF-OPS-08",
        told(feedback({**CURRENCY, "placeholders": [{"pointer": "/body/currency", "ask": "user"}]})),
    ),
    "a clamp that is not flagged": ("SRF-OPS-09", told(feedback({**CURRENCY, **_LIMIT}), READ)),
    "a text cut short in silence": (
        "SRF-OPS-09",
        told(
            feedback(
                patched(
                    test_op("/body/note", BODY["note"]),
                    {"op": "replace", "path": "/body/note", "value": "a note that is a little longer"},
                )
            )
        ),
    ),
    "an element dropped in silence": (
        "SRF-OPS-09",
        told(feedback(patched(test_op("/body/lines/1/sku", "cofee"), {"op": "remove", "path": "/body/lines/1"}))),
    ),
    "a patch that goes on with every application": (
        "SRF-OPS-10",
        told(feedback(patched({"op": "add", "path": "/body/lines/-", "value": {"sku": "tea", "quantity": 1}}))),
    ),
    "an edit of a credential": (
        "SRF-OPS-11",
        told(feedback(patched({"op": "add", "path": "/headers/Authorization", "value": "Bearer x"}))),
    ),
    "a credential copied into the body": (
        "SRF-OPS-11",
        told(
            feedback(patched({"op": "copy", "from": "/headers/cookie", "path": "/body/note"})),
            Request("POST", "/v1/orders", headers={"cookie": "a=b"}, body=BODY),
        ),
    ),
    "a credential in a step": (
        "SRF-OPS-11",
        told(feedback({**CURRENCY, "steps": [{"method": "GET", "path": "/v1/orders", "headers": {"Cookie": "a"}}]})),
    ),
    "an idempotency key taken away": (
        "SRF-OPS-11",
        told(feedback(patched({"op": "remove", "path": "/headers/idempotency-key"})), KEYED),
    ),
    "a wait that is not passed on": (
        "SRF-RTY-01",
        Told(READ, feedback(WAIT, recovery="transient"), headers={"retry-after": "7"}),
    ),
    "a wait that is shorter": (
        "SRF-RTY-01",
        Told(READ, feedback(WAIT, recovery="transient", retry={"after_seconds": 3}), headers={"retry-after": "7"}),
    ),
    "a date that was not worked out": (
        "SRF-RTY-01",
        Told(
            READ,
            feedback(WAIT, recovery="transient", retry={"after_seconds": 3600}),
            headers={"date": "Sun, 01 Mar 2026 12:00:00 GMT", "retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"},
        ),
    ),
    "a write repeated blindly": ("SRF-RTY-02", wait(ORDER, same_request=True, max_attempts=3)),
    "an end with a wait": ("SRF-RTY-03", told(feedback(END, recovery="terminal", retry={"after_seconds": 7}))),
    "repeating without end": ("SRF-RTY-04", wait(same_request=True, after_seconds=7)),
    "repeating a thousand times": ("SRF-RTY-04", wait(same_request=True, max_attempts=1000)),
    "repeating no times": ("SRF-RTY-04", wait(same_request=True, max_attempts=0)),
    "another body under the old key": ("SRF-RTY-05", told(feedback(), KEYED)),
    "the same body under a new key": (
        "SRF-RTY-05",
        wait(KEYED, same_request=True, max_attempts=3, idempotency_key="new"),
    ),
    "a control character": ("SRF-SEC-02", told(feedback(message="The value \u001b[2J is not allowed."))),
    "a mark that turns the text around": ("SRF-SEC-02", told(feedback({**CURRENCY, "message": "Send \u202eit."}))),
    "a tag that only models read": ("SRF-SEC-02", told(feedback(message="The value\U000e0041 is wrong."))),
    "a text without end": ("SRF-SEC-02", told(feedback(message=_PROSE))),
    "no evidence": ("SRF-SEC-03", told(feedback({k: v for k, v in CURRENCY.items() if k != "evidence"}))),
    "evidence of no kind": ("SRF-SEC-03", told(feedback({**CURRENCY, "evidence": {"kind": "guess", "rule": "x"}}))),
    "evidence that names nothing": ("SRF-SEC-03", told(feedback({**CURRENCY, "evidence": {"kind": "rule"}}))),
    "a secret": ("SRF-SEC-05", told(feedback(message="The token tok-123 is wrong."), secrets=("tok-123",))),
    "a secret in base64": ("SRF-SEC-05", told(feedback(message="It is dG9rLTEyMw here."), secrets=("tok-123",))),
    "confidence without trials": (
        "SRF-SEC-10",
        told(feedback({**CURRENCY, "confidence": {"basis": "observed", "value": 0.9}})),
    ),
    "confidence that is no quotient": (
        "SRF-SEC-10",
        told(feedback({**CURRENCY, "confidence": {"basis": "observed", "value": 0.9, "successes": 10, "trials": 20}})),
    ),
    "more successes than trials": (
        "SRF-SEC-10",
        told(feedback({**CURRENCY, "confidence": {"basis": "observed", "successes": 21, "trials": 20}})),
    ),
}


@pytest.mark.parametrize("one", GOOD.values(), ids=GOOD.keys())
def test_good_feedback_breaks_nothing(one: Told) -> None:
    assert not [(finding.requirement, finding.said) for finding in judged(one)]


@pytest.mark.parametrize(("requirement", "one"), BAD.values(), ids=BAD.keys())
def test_bad_feedback_breaks_its_requirement_and_no_other(requirement: str, one: Told) -> None:
    assert broken(one) == {requirement}


def test_every_requirement_that_is_judged_has_a_bad_example() -> None:
    wanted = {f"SRF-COR-{n:02}" for n in (2, 3, 4, 5, 6, 12, 13, 16)}
    wanted |= {f"SRF-OPS-{n:02}" for n in (1, 2, 3, 5, 6, 7, 8, 9, 10, 11)}
    wanted |= {f"SRF-RTY-{n:02}" for n in range(1, 6)} | {f"SRF-SEC-{n:02}" for n in (2, 3, 5, 10)}
    assert {requirement for requirement, _ in BAD.values()} == wanted


def test_sentences_say_where_and_end_with_a_full_stop() -> None:
    for _, one in BAD.values():
        for finding in judged(one):
            assert finding.said[0].isupper() and len(finding.said) > 20
            assert "Traceback" not in finding.said and "None" not in finding.said


JUNK: tuple[Any, ...] = (None, True, 0, -1.5, "", "x", "/body/lines/1", [], [None], {}, {"a": None}, [{"op": "test"}])


def _spoiled(value: Any, rng: random.Random) -> Any:
    """Put junk into one place of a value."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        name = rng.choice(sorted(value))
        return {**value, name: _spoiled(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        index = rng.randrange(len(value))
        return [*value[:index], _spoiled(value[index], rng), *value[index + 1 :]]
    return rng.choice(JUNK)


def test_no_junk_makes_a_judge_stumble() -> None:
    rng = random.Random(5)
    whole = feedback(
        {
            **LINE,
            "group": {"id": "1", "relation": "all"},
            "steps": [{"method": "GET", "path": "/v1/items", "headers": {}}],
        },
        {
            **CURRENCY,
            "confidence": {"basis": "observed", "successes": 1, "trials": 2},
            "verification": {"status": "verified"},
        },
        {**CURRENCY, "applicability": "HAS_PLACEHOLDERS", "placeholders": [{"pointer": "/body/note"}]},
        retry={"same_request": True, "after_seconds": 1, "max_attempts": 2},
    )
    for _ in range(600):
        spoiled = whole
        for _ in range(rng.randint(1, 3)):
            spoiled = _spoiled(spoiled, rng)
        for finding in judged(told(spoiled, rng.choice((ORDER, KEYED, READ)), headers={"retry-after": "1"})):
            assert finding.said


WAITS: tuple[tuple[dict[str, str], float | None], ...] = (
    ({"retry-after": "7"}, 7),
    ({"retry-after": " 120 "}, 120),
    ({"retry-after": "-5"}, None),
    ({"retry-after": "soon"}, None),
    ({}, None),
    ({"date": "Sun, 01 Mar 2026 12:00:00 GMT", "retry-after": "Sun, 01 Mar 2026 12:01:00 GMT"}, 60),
    ({"date": "Sun, 01 Mar 2026 12:00:00 GMT", "retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0),
    ({"retry-after": "Sun, 01 Mar 2026 12:01:00 GMT"}, None),
)


@pytest.mark.parametrize(("headers", "seconds"), WAITS)
def test_a_wait_is_read_in_both_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert named_wait(headers) == seconds


def test_the_lower_bound_is_wilsons() -> None:
    assert wilson(20, 20) == pytest.approx(0.8389, abs=1e-4)
    assert wilson(35, 35) == pytest.approx(0.9011, abs=1e-4)
    assert wilson(95, 100) == pytest.approx(0.8882, abs=1e-4)


def test_hidden_characters_are_named() -> None:
    assert hidden("plain text\n\twith ä, 字 and 🙂") == []
    assert hidden("a\u200bb") == ["U+200B ZERO WIDTH SPACE"]
    assert len(hidden("\u202e\u0000\U000e0041\ufe0f")) == 4


def description_cases() -> list[tuple[str, Request, set[tuple[str, str]]]]:
    fine = {**BODY, "currency": "eur", "note": "short"}
    make: Callable[..., Request] = lambda **more: Request("POST", "/v1/orders", body={**fine, **more})  # noqa: E731
    return [
        ("what is right", make(), set()),
        ("an enum", make(currency="chf"), {("/body/currency", "enum")}),
        (
            "a missing member",
            Request("POST", "/v1/orders", body={k: fine[k] for k in fine if k != "customer"}),
            {("/body/customer", "required")},
        ),
        (
            "an unknown one in an element",
            make(lines=[{"sku": "a", "quantity": 1, "x": 1}]),
            {("/body/lines/0/x", "additionalProperties")},
        ),
        ("a format", make(deliver_on="1.2.2026"), {("/body/deliver_on", "format")}),
        ("a query as text", Request("GET", "/v1/orders", {"limit": "10"}), set()),
        (
            "a query over its limit",
            Request("GET", "/problem/v1/orders", {"limit": "101"}),
            {("/query/limit", "maximum")},
        ),
        ("a query that is no number", Request("GET", "/v1/orders", {"limit": "ten"}), {("/query/limit", "type")}),
        ("a header", Request("GET", "/v1/orders", headers={"shop-region": "asia"}), {("/headers/shop-region", "enum")}),
        ("no body", Request("POST", "/v1/refunds"), {("/body", "required")}),
    ]


@pytest.mark.parametrize(
    ("name", "request_", "expected"), description_cases(), ids=lambda one: one if isinstance(one, str) else ""
)
def test_the_description_says_where_a_request_breaks_it(
    name: str, request_: Request, expected: set[tuple[str, str]]
) -> None:
    breaches = api.DESCRIPTION.breaches_of(request_)
    assert breaches is not None
    assert {(breach.pointer, breach.keyword) for breach in breaches} == expected


def test_what_the_description_does_not_list_it_does_not_judge() -> None:
    assert api.DESCRIPTION.breaches_of(Request("GET", "/v2/orders")) is None
    assert api.DESCRIPTION.methods("/v1/orders") == ["GET", "POST"]
    assert Description({"paths": {}}).route("GET", "/") is None
