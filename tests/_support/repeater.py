"""One caller that is refused again and again, straight in front of the loop breaker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corrigible.proxy.core.loop.attempt_group import Refusal
from corrigible.proxy.core.loop.detector import Loops
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.writer import validate

REQUEST = Request("POST", "/charges/1/refunds", body={"amount": 500, "reason": "asked", "tags": ["a", "b"]})
AMOUNT = Violation("too_much", "m", "/body/amount")


def edit(place: str, value: Json, **more: Json) -> dict[str, Json]:
    patch = [{"op": "add", "path": place, "value": value}]
    return {"action": "MODIFY_PARAMS", "message": "m", "parameters": {}, "patch": patch, **more}


def feedback(*suggestions: Mapping[str, Json], **more: Json) -> dict[str, Json]:
    out = {"schema": "self-reflective-api/0.1", "type": "recovery_guidance", "message": "Too much."}
    return {**out, "recovery": "correctable", "suggestions": list(suggestions or [edit("/body/amount", 300)]), **more}


def one_of(*values: Json) -> list[dict[str, Json]]:
    return [edit("/body/amount", value, group={"id": "1", "relation": "one_of"}) for value in values]


class Agent:
    """One caller of one operation."""

    def __init__(self, loops: Loops | None = None, caller: str = "someone", operation: str = "Refund") -> None:
        self.loops = Loops(b"k") if loops is None else loops
        self.caller, self.operation = caller, operation
        self.now = 1000.0

    def refused(
        self,
        request: Request = REQUEST,
        feedback_sent: Mapping[str, Json] | None = None,
        *,
        about: Sequence[Violation] = (AMOUNT,),
        silent: bool = False,
    ) -> dict[str, Json] | None:
        self.now += 1
        refusal = Refusal(self.caller, self.operation, request, about, self.now, "TOO_MUCH")
        feedback_returned = self.loops.count_refusal(refusal, None if silent else feedback_sent or feedback())
        if feedback_returned is not None:
            validate(parse(feedback_returned))
        return feedback_returned

    def attempt(self, request: Request = REQUEST, **more: Any) -> int:
        answer = self.refused(request, **more)
        return 1 if answer is None else int(answer["loop"]["attempt"])
