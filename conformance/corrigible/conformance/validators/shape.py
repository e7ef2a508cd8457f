"""Validates the form of feedback: members, vocabulary, terminal suggestions (SRF-COR-02 to 06, 12, 13, 16)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from jsonschema import Draft202012Validator

from corrigible.conformance.validators.finding import (
    ABSENT,
    BASE,
    FEEDBACK,
    TERMINAL,
    AnnotatedError,
    Finding,
    base_action,
)
from corrigible.schema.exchange import Json

_TYPES: Final = ("recovery_guidance", "intent_disambiguation", "confidence_signal")
_RECOVERIES: Final = ("correctable", "transient", "terminal")
_ACTION: Final = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


def judge(annotated: AnnotatedError) -> Iterator[Finding]:
    """Yield what is wrong with the form of feedback."""
    if not isinstance(annotated.feedback, Mapping):
        yield Finding(
            "SRF-COR-02",
            "The member recovery_feedback is no object.",
            "an object",
            annotated.feedback,
            annotated.sent,
            place=FEEDBACK,
        )
        return
    for part in _PARTS:
        yield from part(annotated)


def _type(annotated: AnnotatedError) -> Iterator[Finding]:
    kind = annotated.feedback.get("type", ABSENT)
    if kind not in _TYPES:
        yield Finding(
            "SRF-COR-02",
            "The type of the feedback is not a registered one.",
            list(_TYPES),
            kind,
            annotated.sent,
            place=f"{FEEDBACK}/type",
        )
    recovery = annotated.feedback.get("recovery", ABSENT)
    if recovery is not ABSENT and recovery not in _RECOVERIES:
        sentence = "The feedback's recovery is none of the words that there are."
        yield Finding("SRF-COR-02", sentence, list(_RECOVERIES), recovery, annotated.sent, place=f"{FEEDBACK}/recovery")


def _message(annotated: AnnotatedError) -> Iterator[Finding]:
    message = annotated.feedback.get("message", ABSENT)
    if not isinstance(message, str) or not message.strip():
        yield Finding(
            "SRF-COR-03",
            "The feedback has no message.",
            "a text that is not empty",
            message,
            annotated.sent,
            place=f"{FEEDBACK}/message",
        )


def _suggestions(annotated: AnnotatedError) -> Iterator[Finding]:
    suggestions = annotated.feedback.get("suggestions", ABSENT)
    if not isinstance(suggestions, list) or not suggestions:
        sentence = "The feedback has no suggestions."
        yield Finding(
            "SRF-COR-04",
            sentence,
            "an array that is not empty",
            suggestions,
            annotated.sent,
            place=f"{FEEDBACK}/suggestions",
        )
        return
    for index, item in enumerate(suggestions):
        if not isinstance(item, Mapping):
            yield annotated.finding("SRF-COR-04", f"Suggestion {index} is no object.", "an object", item, index)


def _actions(annotated: AnnotatedError) -> Iterator[Finding]:
    for index, suggestion in annotated.suggestions:
        action, base = suggestion.get("action", ABSENT), suggestion.get("base_action", ABSENT)
        if not isinstance(action, str) or not _ACTION.fullmatch(action):
            sentence = f"Suggestion {index} has no action in upper snake case."
            yield annotated.finding("SRF-COR-05", sentence, "such as MODIFY_PARAMS", action, index, "action")
        elif action in BASE:
            if base not in (ABSENT, action):
                sentence = f"Suggestion {index}: {action} is a base action, and yet rests on another one."
                yield annotated.finding("SRF-COR-05", sentence, action, base, index, "base_action")
        elif base not in BASE:
            sentence = f"Suggestion {index}: {action} is no base action and names none that it rests on."
            yield annotated.finding("SRF-COR-05", sentence, list(BASE), base, index, "base_action")
        elif action in annotated.vocabulary and annotated.vocabulary[action].base_action != base:
            sentence = f"Suggestion {index}: {action} is registered with another base action."
            yield annotated.finding(
                "SRF-COR-05", sentence, annotated.vocabulary[action].base_action, base, index, "base_action"
            )


def _parameters(annotated: AnnotatedError) -> Iterator[Finding]:
    for index, suggestion in annotated.suggestions:
        parameters = suggestion.get("parameters", ABSENT)
        if not isinstance(parameters, Mapping):
            sentence = f"Suggestion {index} has no parameters object."
            yield annotated.finding(
                "SRF-COR-06", sentence, "an object, maybe an empty one", parameters, index, "parameters"
            )
            continue
        if base_action(suggestion) == "WAIT_AND_RETRY" and parameters:
            sentence = f"Suggestion {index} waits, and yet has parameters: the wait belongs into retry."
            yield annotated.finding("SRF-COR-16", sentence, {}, parameters, index, "parameters")
        for problem in _unfit(annotated, suggestion, parameters):
            yield annotated.finding(
                "SRF-COR-16",
                f"Suggestion {index}: {problem}",
                "what the action is registered with",
                parameters,
                index,
                "parameters",
            )


def _unfit(annotated: AnnotatedError, suggestion: Mapping[str, Json], parameters: Mapping[str, Json]) -> Iterator[str]:
    registered = annotated.vocabulary.get(str(suggestion.get("action")))
    if registered is not None and registered.parameters:
        for error in Draft202012Validator(dict(registered.parameters)).iter_errors(dict(parameters)):
            yield f"the parameters are not what {suggestion.get('action')} is registered with: {error.message}."
    code = parameters.get("reason_code")
    if suggestion.get("action") == "NO_RECOVERY_AVAILABLE" and code is not None and not isinstance(code, str):
        yield "reason_code is no text."


def _terminal_alone(annotated: AnnotatedError) -> Iterator[Finding]:
    final = [
        str(suggestion.get("action")) for _, suggestion in annotated.suggestions if base_action(suggestion) in TERMINAL
    ]
    if final and len(annotated.suggestions) > 1:
        sentence = f"{final[0]} does not stand alone, though nothing comes after it."
        actions = [suggestion.get("action") for _, suggestion in annotated.suggestions]
        yield Finding("SRF-COR-12", sentence, [final[0]], actions, annotated.sent, place=f"{FEEDBACK}/suggestions")
    recovery = annotated.feedback.get("recovery", ABSENT)
    if final and recovery != "terminal":
        sentence = f"With {final[0]} there is no way on, but recovery does not say so."
        yield Finding("SRF-COR-12", sentence, "terminal", recovery, annotated.sent, place=f"{FEEDBACK}/recovery")
    if recovery == "terminal" and annotated.suggestions and not final:
        sentence = "The feedback is terminal, and yet the suggestion is none that ends the matter."
        yield Finding(
            "SRF-COR-12",
            sentence,
            sorted(TERMINAL),
            annotated.suggestions[0][1].get("action"),
            annotated.sent,
            place=f"{FEEDBACK}/suggestions",
        )
    for index, suggestion in annotated.suggestions:
        edits = [name for name in ("patch", "steps", "placeholders") if suggestion.get(name)]
        if base_action(suggestion) in TERMINAL and edits:
            sentence = f"Suggestion {index} ends the matter and still says what to send: {', '.join(edits)}."
            yield annotated.finding("SRF-COR-12", sentence, "neither patch, steps nor placeholders", edits, index)


_ACTORS: Final = {
    "ESCALATE": ("somebody_else", "you"),
    "NO_RECOVERY_AVAILABLE": ("somebody_else", "you", "nobody"),
}


def _actors(annotated: AnnotatedError) -> Iterator[Finding]:
    for index, suggestion in annotated.suggestions:
        actors = _ACTORS.get(base_action(suggestion))
        parameters = suggestion.get("parameters")
        if actors is not None and isinstance(parameters, Mapping) and parameters.get("actor") not in actors:
            sentence = f"Suggestion {index} ends the matter and does not say who can act."
            yield annotated.finding(
                "SRF-COR-18", sentence, list(actors), parameters.get("actor", ABSENT), index, "parameters", "actor"
            )


def _messages(annotated: AnnotatedError) -> Iterator[Finding]:
    for index, suggestion in annotated.suggestions:
        message = suggestion.get("message", ABSENT)
        if not isinstance(message, str) or not message.strip():
            sentence = f"Suggestion {index} has no message of its own."
            yield annotated.finding("SRF-COR-13", sentence, "a text that is not empty", message, index, "message")


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
