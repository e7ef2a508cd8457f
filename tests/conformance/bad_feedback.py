"""Feedback made by hand, each with the one requirement that it breaks."""

from __future__ import annotations

from corrigible.conformance.validators.finding import AnnotatedError
from corrigible.schema import Request

from .good_feedback import (
    BODY,
    CURRENCY,
    END,
    KEYED,
    LIMIT,
    LINE,
    ORDER,
    READ,
    WAIT,
    feedback,
    patched,
    test_op,
    told,
    wait,
)

_PROSE = "x" * 1001


BAD: dict[str, tuple[str, AnnotatedError]] = {
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
    "an end that nobody is named for": (
        "SRF-COR-18",
        told(feedback({**END, "parameters": {"reason_code": "NOTHING_LEFT"}}, recovery="terminal")),
    ),
    "a person who is called in and not named": (
        "SRF-COR-18",
        told(feedback({**END, "action": "ESCALATE", "parameters": {"actor": "nobody"}}, recovery="terminal")),
    ),
    "a guess where another is as near": (
        "SRF-OPS-14",
        told(
            feedback(
                patched(
                    test_op("/body/speed", "slow"),
                    {"op": "replace", "path": "/body/speed", "value": "slow_boat"},
                    safety={"side_effects": "certain", "changes_intent": False},
                )
            ),
            Request("POST", "/v1/orders", body={**BODY, "speed": "slow"}),
        ),
    ),
    "a guess on which money hangs": (
        "SRF-OPS-14",
        told(feedback({**CURRENCY, "safety": {"side_effects": "certain", "changes_intent": False}})),
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
        told(
            feedback(
                patched(
                    test_op("/body/customer", "cus_ada"),
                    {"op": "remove", "path": "/body/customer"},
                    safety={"side_effects": "certain", "changes_intent": True, "loses": ["/body/customer"]},
                )
            )
        ),
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
    "a clamp that is not flagged": ("SRF-OPS-09", told(feedback({**CURRENCY, **LIMIT}), READ)),
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
        "SRF-OPS-13",
        told(feedback(patched(test_op("/body/lines/1/sku", "cofee"), {"op": "remove", "path": "/body/lines/1"}))),
    ),
    "a patch that goes on with every application": (
        "SRF-OPS-10",
        told(feedback(patched({"op": "add", "path": "/body/lines/-", "value": {"sku": "tea", "quantity": 1}}))),
    ),
    "a placeholder whose pointer is not escaped": (
        "SRF-OPS-01",
        told(
            feedback(
                {
                    **patched(),
                    "applicability": "HAS_PLACEHOLDERS",
                    "placeholders": [{"pointer": "/body/cost~centre", "ask": "user"}],
                }
            )
        ),
    ),
    "a placeholder where nothing can be": (
        "SRF-OPS-05",
        told(
            feedback(
                {
                    **patched(),
                    "applicability": "HAS_PLACEHOLDERS",
                    "placeholders": [{"pointer": "/body/labels/desk/name", "ask": "user"}],
                }
            )
        ),
    ),
    "a write without side effects": (
        "SRF-OPS-12",
        told(feedback({**LINE, "safety": {"side_effects": "none", "changes_intent": False}})),
    ),
    "a step that writes without side effects": (
        "SRF-OPS-12",
        told(
            feedback(
                {
                    **LIMIT,
                    "action": "MODIFY_PARAMS",
                    "message": "Ask for fewer.",
                    "steps": [{"method": "POST", "path": "/v1/reset"}],
                    "safety": {"side_effects": "none", "changes_intent": True, "loses": ["/query/limit"]},
                    "evidence": CURRENCY["evidence"],
                }
            ),
            READ,
        ),
    ),
    "a member taken away in silence": (
        "SRF-OPS-13",
        told(
            feedback(patched(test_op("/body/gift", True), {"op": "remove", "path": "/body/gift"})),
            Request("POST", "/v1/orders", body={**BODY, "gift": True}),
        ),
    ),
    "a loss that is named and called what was meant": (
        "SRF-OPS-13",
        told(
            feedback(
                patched(
                    test_op("/body/gift", True),
                    {"op": "remove", "path": "/body/gift"},
                    safety={"side_effects": "certain", "changes_intent": False, "loses": ["/body/gift"]},
                )
            ),
            Request("POST", "/v1/orders", body={**BODY, "gift": True}),
        ),
    ),
    "another loss than the one that is named": (
        "SRF-OPS-13",
        told(
            feedback(
                patched(
                    test_op("/body/note", BODY["note"]),
                    {"op": "remove", "path": "/body/note"},
                    safety={"side_effects": "certain", "changes_intent": True, "loses": ["/body/currency"]},
                )
            )
        ),
    ),
    "a loss of what was never there": (
        "SRF-OPS-13",
        told(
            feedback({**LINE, "safety": {"side_effects": "certain", "changes_intent": True, "loses": ["/body/gift"]}})
        ),
    ),
    "machine applicable, and yet it loses something": (
        "SRF-OPS-08",
        told(
            feedback(
                patched(
                    test_op("/body/note", BODY["note"]),
                    {"op": "remove", "path": "/body/note"},
                    applicability="MACHINE_APPLICABLE",
                    verification={"status": "verified", "method": "dry_run"},
                    safety={"side_effects": "certain", "changes_intent": True, "loses": ["/body/note"]},
                )
            )
        ),
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
        AnnotatedError(
            READ,
            feedback(WAIT, recovery="transient"),
            headers={"retry-after": "7"},
        ),
    ),
    "a wait that is shorter": (
        "SRF-RTY-01",
        AnnotatedError(
            READ, feedback(WAIT, recovery="transient", retry={"after_seconds": 3}), headers={"retry-after": "7"}
        ),
    ),
    "a date that was not worked out": (
        "SRF-RTY-01",
        AnnotatedError(
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
    "evidence of look-ups that names none": (
        "SRF-SEC-03",
        told(feedback({**CURRENCY, "evidence": {"kind": "lookup", "lookups": []}})),
    ),
    "a rule's evidence that names only look-ups": (
        "SRF-SEC-03",
        told(feedback({**CURRENCY, "evidence": {"kind": "rule", "lookups": ["GET /v1/prices"]}})),
    ),
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
