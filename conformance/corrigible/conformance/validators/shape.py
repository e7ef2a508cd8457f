"""Validates the form of feedback: members, vocabulary, terminal suggestions (SRF-COR-02 to 06, 12, 13, 16)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from jsonschema import Draft202012Validator

from corrigible.schema.exchange import Json

from .annotated_error import BASE, TERMINAL, AnnotatedError, base_action
from .finding import ABSENT, Finding

_TYPES: Final = ("recovery_guidance", "intent_disambiguation", "confidence_signal")
_RECOVERIES: Final = ("correctable", "transient", "terminal")
_ACTION: Final = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


def judge(told: AnnotatedError) -> Iterator[Finding]:
    """Yield what is wrong with the form of feedback."""
    if not isinstance(told.feedback, Mapping):
        yield Finding("SRF-COR-02", "The member recovery_feedback is no object.", "an object", told.feedback, told.sent)
        return
    for part in _PARTS:
        yield from part(told)


def _type(told: AnnotatedError) -> Iterator[Finding]:
    found = told.feedback.get("type", ABSENT)
    if found not in _TYPES:
        yield Finding("SRF-COR-02", "The type of the feedback is not a registered one.", list(_TYPES), found, told.sent)
    recovery = told.feedback.get("recovery", ABSENT)
    if recovery is not ABSENT and recovery not in _RECOVERIES:
        sentence = "The feedback's recovery is none of the words that there are."
        yield Finding("SRF-COR-02", sentence, list(_RECOVERIES), recovery, told.sent)


def _message(told: AnnotatedError) -> Iterator[Finding]:
    found = told.feedback.get("message", ABSENT)
    if not isinstance(found, str) or not found.strip():
        yield Finding("SRF-COR-03", "The feedback has no message.", "a text that is not empty", found, told.sent)


def _suggestions(told: AnnotatedError) -> Iterator[Finding]:
    found = told.feedback.get("suggestions", ABSENT)
    if not isinstance(found, list) or not found:
        sentence = "The feedback has no suggestions."
        yield Finding("SRF-COR-04", sentence, "an array that is not empty", found, told.sent)
        return
    for index, one in enumerate(found):
        if not isinstance(one, Mapping):
            yield Finding("SRF-COR-04", f"Suggestion {index} is no object.", "an object", one, told.sent)


def _actions(told: AnnotatedError) -> Iterator[Finding]:
    for index, one in told.suggestions:
        action, base = one.get("action", ABSENT), one.get("base_action", ABSENT)
        if not isinstance(action, str) or not _ACTION.fullmatch(action):
            sentence = f"Suggestion {index} has no action in upper snake case."
            yield Finding("SRF-COR-05", sentence, "such as MODIFY_PARAMS", action, told.sent)
        elif action in BASE:
            if base not in (ABSENT, action):
                sentence = f"Suggestion {index}: {action} is a base action, and yet rests on another one."
                yield Finding("SRF-COR-05", sentence, action, base, told.sent)
        elif base not in BASE:
            sentence = f"Suggestion {index}: {action} is no base action and names none that it rests on."
            yield Finding("SRF-COR-05", sentence, list(BASE), base, told.sent)
        elif action in told.vocabulary and told.vocabulary[action].base_action != base:
            sentence = f"Suggestion {index}: {action} is registered with another base action."
            yield Finding("SRF-COR-05", sentence, told.vocabulary[action].base_action, base, told.sent)


def _parameters(told: AnnotatedError) -> Iterator[Finding]:
    for index, one in told.suggestions:
        found = one.get("parameters", ABSENT)
        if not isinstance(found, Mapping):
            sentence = f"Suggestion {index} has no parameters object."
            yield Finding("SRF-COR-06", sentence, "an object, maybe an empty one", found, told.sent)
            continue
        if base_action(one) == "WAIT_AND_RETRY" and found:
            sentence = f"Suggestion {index} waits, and yet has parameters: the wait belongs into retry."
            yield Finding("SRF-COR-16", sentence, {}, found, told.sent)
        for problem in _unfit(told, one, found):
            yield Finding("SRF-COR-16", f"Suggestion {index}: {problem}", sent=told.sent, got=found)


def _unfit(told: AnnotatedError, suggestion: Mapping[str, Json], parameters: Mapping[str, Json]) -> Iterator[str]:
    known = told.vocabulary.get(str(suggestion.get("action")))
    if known is not None and known.parameters:
        for error in Draft202012Validator(dict(known.parameters)).iter_errors(dict(parameters)):
            yield f"the parameters are not what {suggestion.get('action')} is registered with: {error.message}."
    code = parameters.get("reason_code")
    if suggestion.get("action") == "NO_RECOVERY_AVAILABLE" and code is not None and not isinstance(code, str):
        yield "reason_code is no text."


def _terminal_alone(told: AnnotatedError) -> Iterator[Finding]:
    final = [str(one.get("action")) for _, one in told.suggestions if base_action(one) in TERMINAL]
    if final and len(told.suggestions) > 1:
        sentence = f"{final[0]} does not stand alone, though nothing comes after it."
        got = [one.get("action") for _, one in told.suggestions]
        yield Finding("SRF-COR-12", sentence, [final[0]], got, told.sent)
    recovery = told.feedback.get("recovery", ABSENT)
    if final and recovery != "terminal":
        sentence = f"With {final[0]} there is no way on, but recovery does not say so."
        yield Finding("SRF-COR-12", sentence, "terminal", recovery, told.sent)
    if recovery == "terminal" and told.suggestions and not final:
        sentence = "The feedback is terminal, and yet the suggestion is none that ends the matter."
        yield Finding("SRF-COR-12", sentence, sorted(TERMINAL), told.suggestions[0][1].get("action"), told.sent)
    for index, one in told.suggestions:
        edits = [name for name in ("patch", "steps", "placeholders") if one.get(name)]
        if base_action(one) in TERMINAL and edits:
            sentence = f"Suggestion {index} ends the matter and still says what to send: {', '.join(edits)}."
            yield Finding("SRF-COR-12", sentence, "neither patch, steps nor placeholders", edits, told.sent)


_ACTORS: Final = {
    "ESCALATE": ("somebody_else", "you"),
    "NO_RECOVERY_AVAILABLE": ("somebody_else", "you", "nobody"),
}


def _actors(told: AnnotatedError) -> Iterator[Finding]:
    for index, one in told.suggestions:
        known = _ACTORS.get(base_action(one))
        parameters = one.get("parameters")
        if known is not None and isinstance(parameters, Mapping) and parameters.get("actor") not in known:
            sentence = f"Suggestion {index} ends the matter and does not say who can act."
            yield Finding("SRF-COR-18", sentence, list(known), parameters.get("actor", ABSENT), told.sent)


def _messages(told: AnnotatedError) -> Iterator[Finding]:
    for index, one in told.suggestions:
        found = one.get("message", ABSENT)
        if not isinstance(found, str) or not found.strip():
            sentence = f"Suggestion {index} has no message of its own."
            yield Finding("SRF-COR-13", sentence, "a text that is not empty", found, told.sent)


_PARTS: Final[tuple[Callable[[AnnotatedError], Iterator[Finding]], ...]] = (
    _type,
    _message,
    _suggestions,
    _actions,
    _parameters,
    _terminal_alone,
    _messages,
    _actors,
)
