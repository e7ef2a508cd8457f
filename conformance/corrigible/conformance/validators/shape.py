"""Validates the form of feedback: members, vocabulary, terminal suggestions (SRF-COR-02 to 06, 12, 13, 16)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from jsonschema import Draft202012Validator

from corrigible.conformance.validators.finding import (
    ABSENT,
    BASE,
    TERMINAL,
    AnnotatedError,
    Finding,
    Wrong,
    base_action,
)
from corrigible.schema.exchange import Json

_TYPES: Final = ("recovery_guidance", "intent_disambiguation", "confidence_signal")
_RECOVERIES: Final = ("correctable", "transient", "terminal")
_ACTION: Final = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


def judge(annotated: AnnotatedError) -> Iterator[Finding]:
    """Yield what is wrong with the form of feedback."""
    yield from annotated.judged(_RULES if isinstance(annotated.feedback, Mapping) else (("SRF-COR-02", _no_object),))


def _no_object(annotated: AnnotatedError) -> Iterator[Wrong]:
    yield "The member recovery_feedback is no object.", "an object", annotated.feedback


def _type(annotated: AnnotatedError) -> Iterator[Wrong]:
    kind = annotated.feedback.get("type", ABSENT)
    if kind not in _TYPES:
        yield "The type of the feedback is not a registered one.", list(_TYPES), kind, "type"
    recovery = annotated.feedback.get("recovery", ABSENT)
    if recovery is not ABSENT and recovery not in _RECOVERIES:
        yield "The feedback's recovery is none of the words that there are.", list(_RECOVERIES), recovery, "recovery"


def _message(annotated: AnnotatedError) -> Iterator[Wrong]:
    message = annotated.feedback.get("message", ABSENT)
    if not isinstance(message, str) or not message.strip():
        yield "The feedback has no message.", "a text that is not empty", message, "message"


def _suggestions(annotated: AnnotatedError) -> Iterator[Wrong]:
    suggestions = annotated.feedback.get("suggestions", ABSENT)
    if not isinstance(suggestions, list) or not suggestions:
        yield "The feedback has no suggestions.", "an array that is not empty", suggestions, "suggestions"
        return
    for index, item in enumerate(suggestions):
        if not isinstance(item, Mapping):
            yield f"Suggestion {index} is no object.", "an object", item, index


def _actions(annotated: AnnotatedError) -> Iterator[Wrong]:
    for index, suggestion in annotated.suggestions:
        action, base = suggestion.get("action", ABSENT), suggestion.get("base_action", ABSENT)
        if not isinstance(action, str) or not _ACTION.fullmatch(action):
            sentence = f"Suggestion {index} has no action in upper snake case."
            yield sentence, "such as MODIFY_PARAMS", action, index, "action"
        elif action in BASE:
            if base not in (ABSENT, action):
                sentence = f"Suggestion {index}: {action} is a base action, and yet rests on another one."
                yield sentence, action, base, index, "base_action"
        elif base not in BASE:
            sentence = f"Suggestion {index}: {action} is no base action and names none that it rests on."
            yield sentence, list(BASE), base, index, "base_action"
        elif action in annotated.vocabulary and annotated.vocabulary[action].base_action != base:
            sentence = f"Suggestion {index}: {action} is registered with another base action."
            yield sentence, annotated.vocabulary[action].base_action, base, index, "base_action"


def _parameters(annotated: AnnotatedError) -> Iterator[Wrong]:
    for index, suggestion in annotated.suggestions:
        parameters = suggestion.get("parameters", ABSENT)
        if not isinstance(parameters, Mapping):
            sentence = f"Suggestion {index} has no parameters object."
            yield sentence, "an object, maybe an empty one", parameters, index, "parameters"


def _fitting(annotated: AnnotatedError) -> Iterator[Wrong]:
    for index, suggestion in annotated.suggestions:
        parameters = suggestion.get("parameters")
        if not isinstance(parameters, Mapping):
            continue
        if base_action(suggestion) == "WAIT_AND_RETRY" and parameters:
            sentence = f"Suggestion {index} waits, and yet has parameters: the wait belongs into retry."
            yield sentence, {}, parameters, index, "parameters"
        for problem in _unfit(annotated, suggestion, parameters):
            yield (
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


def _terminal_alone(annotated: AnnotatedError) -> Iterator[Wrong]:
    final = [
        str(suggestion.get("action")) for _, suggestion in annotated.suggestions if base_action(suggestion) in TERMINAL
    ]
    if final and len(annotated.suggestions) > 1:
        sentence = f"{final[0]} does not stand alone, though nothing comes after it."
        actions = [suggestion.get("action") for _, suggestion in annotated.suggestions]
        yield sentence, [final[0]], actions, "suggestions"
    recovery = annotated.feedback.get("recovery", ABSENT)
    if final and recovery != "terminal":
        yield f"With {final[0]} there is no way on, but recovery does not say so.", "terminal", recovery, "recovery"
    if recovery == "terminal" and annotated.suggestions and not final:
        sentence = "The feedback is terminal, and yet the suggestion is none that ends the matter."
        yield sentence, sorted(TERMINAL), annotated.suggestions[0][1].get("action"), "suggestions"
    for index, suggestion in annotated.suggestions:
        edits = [name for name in ("patch", "steps", "placeholders") if suggestion.get(name)]
        if base_action(suggestion) in TERMINAL and edits:
            sentence = f"Suggestion {index} ends the matter and still says what to send: {', '.join(edits)}."
            yield sentence, "neither patch, steps nor placeholders", edits, index


_ACTORS: Final = {
    "ESCALATE": ("somebody_else", "you"),
    "NO_RECOVERY_AVAILABLE": ("somebody_else", "you", "nobody"),
}


def _actors(annotated: AnnotatedError) -> Iterator[Wrong]:
    for index, suggestion in annotated.suggestions:
        actors = _ACTORS.get(base_action(suggestion))
        parameters = suggestion.get("parameters")
        if actors is not None and isinstance(parameters, Mapping) and parameters.get("actor") not in actors:
            sentence = f"Suggestion {index} ends the matter and does not say who can act."
            yield sentence, list(actors), parameters.get("actor", ABSENT), index, "parameters", "actor"


def _messages(annotated: AnnotatedError) -> Iterator[Wrong]:
    for index, suggestion in annotated.suggestions:
        message = suggestion.get("message", ABSENT)
        if not isinstance(message, str) or not message.strip():
            sentence = f"Suggestion {index} has no message of its own."
            yield sentence, "a text that is not empty", message, index, "message"


_RULES: Final = (
    ("SRF-COR-02", _type),
    ("SRF-COR-03", _message),
    ("SRF-COR-04", _suggestions),
    ("SRF-COR-05", _actions),
    ("SRF-COR-06", _parameters),
    ("SRF-COR-16", _fitting),
    ("SRF-COR-12", _terminal_alone),
    ("SRF-COR-13", _messages),
    ("SRF-COR-18", _actors),
)
