"""A request, refusals of it with feedback, and a server that answers as it is told: what clients are tested with."""

from __future__ import annotations

import json
from typing import Any

from corrigible.client.answer import Answer
from corrigible.client.policy import OnRefusal, Policy, Proposal
from corrigible.client.sent_request import SentRequest

URL = "https://api.example.com/v1/orders"
VERIFIED = {"status": "verified", "method": "dry_run"}
REPAIR = Policy(on_refusal=OnRefusal.REPAIR)


def sent(body: Any = None, **headers: str) -> SentRequest:
    fields = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return SentRequest("POST", URL, (("Content-Type", "application/json"), *fields), json.dumps(body or {}).encode())


def edit(path: str, old: Any, new: Any, **members: Any) -> dict[str, Any]:
    """Return a suggestion that may be sent unasked."""
    patch = [{"op": "test", "path": path, "value": old}, {"op": "replace", "path": path, "value": new}]
    certain = {"applicability": "MACHINE_APPLICABLE", "verification": VERIFIED}
    return {"action": "MODIFY_PARAMS", "parameters": {}, "patch": patch, **certain, **members}


def refusal(*suggestions: dict[str, Any], status: int = 400, **members: Any) -> Answer:
    feedback = {"type": "recovery_guidance", "message": "Refused.", "suggestions": list(suggestions), **members}
    body = json.dumps({"error": "no", "recovery_feedback": feedback}).encode()
    return Answer(status, (("Content-Type", "application/json"),), body)


ACCEPTED = Answer(200, (), b"{}")


class Server:
    """Answers as it is told, and keeps what it was sent."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[SentRequest] = []

    def __call__(self, request: SentRequest) -> Answer:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.body or b"null") for request in self.requests]


NEAR = edit("/body/sort", "neu", "new")
ORDER = {"sort": "neu", "count": 1}


def yes(_: Proposal) -> bool:
    return True
