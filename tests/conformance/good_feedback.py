"""Feedback made by hand that breaks nothing, and what it is made of."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from corrigible.conformance.reference import api
from corrigible.conformance.validators.finding import AnnotatedError, Registered
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
    "safety": {"side_effects": "certain", "changes_intent": False, "requires_confirmation": True},
    "evidence": EVIDENCE,
}
LINE: dict[str, Any] = {
    **CURRENCY,
    "parameters": {},
    "patch": [
        {"op": "test", "path": "/body/lines/1/sku", "value": "cofee"},
        {"op": "replace", "path": "/body/lines/1/sku", "value": "coffee"},
    ],
    "safety": {"side_effects": "certain", "changes_intent": False},
}
WAIT: dict[str, Any] = {"action": "WAIT_AND_RETRY", "message": "Send it again after a while.", "parameters": {}}
END: dict[str, Any] = {
    "action": "NO_RECOVERY_AVAILABLE",
    "message": "Nothing is left.",
    "parameters": {"actor": "nobody", "reason_code": "NOTHING_LEFT"},
}


def feedback(*suggestions: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    said: dict[str, Any] = {
        "type": "recovery_guidance",
        "message": "The value is not allowed.",
        "recovery": "correctable",
    }
    said |= {"suggestions": [copy.deepcopy(one) for one in suggestions or (CURRENCY,)]}
    return {**said, **members}


def told(said: Any, request: Request = ORDER, **more: Any) -> AnnotatedError:
    return AnnotatedError(request, said, vocabulary=VOCABULARY, description=api.DESCRIPTION, **more)


def wait(request: Request = READ, **retry: Any) -> AnnotatedError:
    return told(feedback(WAIT, recovery="transient", retry=retry), request)


def patched(*operations: Any, **members: Any) -> dict[str, Any]:
    return {**CURRENCY, "parameters": {}, "patch": list(operations), **members}


def test_op(place: str, value: Any) -> dict[str, Any]:
    return {"op": "test", "path": place, "value": value}


test_op.__test__ = False  # type: ignore[attr-defined]  # a name of RFC 6902, no test

LIMIT = {
    "parameters": {"limit": 100},
    "patch": [test_op("/query/limit", "500"), {"op": "replace", "path": "/query/limit", "value": 100}],
}

GOOD: dict[str, AnnotatedError] = {
    "a loss that is named": told(
        feedback(
            patched(
                test_op("/body/note", BODY["note"]),
                {"op": "remove", "path": "/body/note"},
                safety={"side_effects": "certain", "changes_intent": True, "loses": ["/body/note"]},
            )
        )
    ),
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
                **LINE,
                "applicability": "MACHINE_APPLICABLE",
                "verification": {"status": "verified", "method": "dry_run"},
            }
        )
    ),
    "observed often enough": told(
        feedback(
            {
                **LINE,
                "applicability": "MACHINE_APPLICABLE",
                "confidence": {"basis": "observed", "value": 1.0, "successes": 60, "trials": 60},
            }
        )
    ),
    "a clamp in a query, flagged": told(
        feedback({**CURRENCY, **LIMIT, "safety": {"changes_intent": True, "loses": ["/query/limit"]}}), READ
    ),
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
                test_op("/body/lines/0/sku", "tea"),
                {"op": "replace", "path": "/body/lines/0/quantity", "value": 2},
                safety={"side_effects": "certain", "changes_intent": True, "loses": ["/body/lines/0/quantity"]},
            )
        )
    ),
    "the wait that the answer names": AnnotatedError(
        READ, feedback(WAIT, recovery="transient", retry={"after_seconds": 7}), headers={"retry-after": "7"}
    ),
}
