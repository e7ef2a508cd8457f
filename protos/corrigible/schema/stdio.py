"""The reader as a program: one question per line on stdin, one answer per line on stdout.

    {"id": "1", "request": {...}, "feedback": {...}}          ->  {"id": "1", "next": {"request": {...}}}

Instead of `feedback` a whole `answer` ({status, headers, body} or {status, headers, text}) may be given, and `options`
({cap, confirmed, choice}). The other answers are `terminal`, `needs_input` and `error`: no feedback that can be read.
`python -m corrigible.schema.stdio`
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import IO

from .carrier import find
from .error import ContractError, ReaderError
from .exchange import Json, Request
from .reader import NeedsInput, Next, Terminal, apply
from .word import Applicability

_MEMBERS = ("method", "path", "query", "headers", "body", "form")


def serve(questions: Iterable[str], out: IO[str]) -> None:
    """Answer each line immediately, in order."""
    for line in questions:
        if line.strip():
            out.write(f"{answer(line)}\n")
            out.flush()


def answer(line: str) -> str:
    """Return the answer to a line."""
    id: Json = None
    try:
        question = json.loads(line)
        if not isinstance(question, dict):
            raise ReaderError("a question is a JSON object")
        id = question.get("id")
        return json.dumps({"id": id, **_said(question)}, allow_nan=False)
    except (ContractError, RecursionError, ValueError) as problem:
        return json.dumps({"id": id, "error": str(problem) or type(problem).__name__})


def _said(question: Mapping[str, Json]) -> dict[str, Json]:
    options = question.get("options") or {}
    feedback = question["feedback"] if "feedback" in question else _found(question.get("answer"))
    document = question.get("request")
    if not isinstance(document, dict) or not {"method", "path"} <= document.keys():
        raise ReaderError("request: no request document")
    outcome = apply(
        feedback,
        Request(**{name: document[name] for name in _MEMBERS if name in document}),
        cap=Applicability(options.get("cap", Applicability.MAYBE_INCORRECT)),
        confirm=options.get("confirmed", False),
        pick=options.get("choice"),
    )
    match outcome:
        case Next():
            following: dict[str, Json] = {"request": outcome.request.document()}
            if outcome.wait_seconds:
                following["wait"] = outcome.wait_seconds
            if outcome.steps:
                following["steps"] = [step.document() for step in outcome.steps]
            if outcome.new_idempotency_key:
                following["new_idempotency_key"] = True
            return {"next": following}
        case Terminal():
            parameters = dict(outcome.parameters)
            return {"terminal": {"action": outcome.action, "message": outcome.message, "parameters": parameters}}
        case NeedsInput():
            return {
                "needs_input": {
                    "choices": [choice.index for choice in outcome.choices],
                    "placeholders": [placeholder.document() for placeholder in outcome.placeholders],
                    "confirm": outcome.confirm,
                    "reason": outcome.reason,
                }
            }


def _found(answered: Json) -> Json:
    if not isinstance(answered, dict):
        raise ReaderError("a question has feedback or an answer")
    body = json.loads(answered["text"]) if isinstance(answered.get("text"), str) else answered.get("body")
    status = answered.get("status")
    feedback = find(body, status if isinstance(status, int) and not isinstance(status, bool) else None)
    if feedback is None:
        raise ReaderError("the answer has no feedback")
    return feedback


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout)
