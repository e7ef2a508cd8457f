"""The arms: how much of a response the agent sees. A pure function: (response, arm, seed, pool) -> response.

The proxy makes `none`, `traditional`, `verbose` and `reflective`. The other arms are made here from `reflective`; the
agent's requests go through the proxy in every arm.
Knows: where a response holds feedback. Does not know: tasks, agents, which API this is.
"""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from corrigible.conformance.lift.agents.protocol import Response
from corrigible.schema.carrier import CAUSE
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import MEMBER
from corrigible.schema.word import TERMINAL_ACTIONS


class Arm(StrEnum):
    """One treatment or control. The agent never sees its name."""

    NONE = "none"
    """The native answer, byte for byte."""
    TRADITIONAL = "traditional"
    VERBOSE = "verbose"
    REFLECTIVE = "reflective"
    """The core contract: type, message, suggestions with action, message and parameters. No patches, no steps."""
    PATCHES = "reflective-patches"
    """All of the feedback."""
    SHUFFLED = "shuffled"
    """Control: well-formed feedback of another task, of the same domain where there is one."""
    NOISE = "noise"
    """Control: the feedback with plausible wrong values. Measures blind obedience."""
    LENGTH = "length-matched"
    """Control: the verbose response, padded with empty words to the length of the reflective one."""

    @property
    def mode(self) -> str:
        """The mode asked of the proxy: `Prefer: recovery-feedback=MODE`."""
        match self:
            case Arm.NONE | Arm.TRADITIONAL | Arm.VERBOSE:
                return self.value
            case _:
                return "reflective"


WRONG_ON_PURPOSE: Final = frozenset({Arm.SHUFFLED, Arm.NOISE})
"""Arms with wrong suggestions: harm there shows how well the agent checks them."""


Feedback = Mapping[str, Json]

CORE: Final = ("schema", "type", "message", "suggestions")
_CORE_SUGGESTION: Final = ("action", "message", "parameters")
PLAIN: Final = frozenset({Arm.NONE, Arm.TRADITIONAL, Arm.VERBOSE, Arm.PATCHES})
"""Arms that show the proxy's response unchanged."""
FILLER_MEMBER: Final = "additional_information"
_WORDS: Final = (
    "This answer was made by the service that received the request. Answers of this kind are sent whenever a request "
    "is not accepted. The service keeps a record of requests and answers for a limited time. Times in records are in "
    "UTC. Formats of answers may be extended in later versions of the service, and members that are not known may be "
    "ignored. The general description of the service is kept up to date by those who operate it. "
)
"""Text without any information about a request."""


def apply_arm(
    response: Response,
    arm: Arm,
    seed: str,
    pool: Sequence[Feedback] = (),
    plain: Callable[[Json], Json] = lambda value: value,
) -> Response:
    """Return a response of the proxy as the arm shows it.

    `seed` and the shape of the feedback determine all random choices; ids do not.
    `pool` is feedback of other tasks, in a fixed order; if it is empty, `shuffled` shows none.
    `plain` normalizes what differs between two runs, so that lengths do not depend on it.
    """
    if arm in PLAIN:
        return response
    match arm:
        case Arm.REFLECTIVE:
            change: Callable[[Feedback], Feedback | None] = core
        case Arm.SHUFFLED:
            other = random.Random(seed).choice(pool) if pool else None
            change = lambda _: other  # noqa: E731  one of four, all in one place
        case Arm.NOISE:
            change = lambda feedback: noisy(feedback, seed, plain)  # noqa: E731
        case _:
            change = lambda _: None  # noqa: E731
    body = _changed(response.body, change)
    if (
        arm is Arm.LENGTH
        and isinstance(body, dict)
        and (missing := _size(plain(response.body)) - _size(plain(body))) > 0
    ):
        body = {**body, FILLER_MEMBER: _filler(missing - len(FILLER_MEMBER) - 6)}
    return replace(response, body=body, headers=_without_lines(response.headers))


def core(feedback: Feedback) -> Feedback:
    """Return the part of feedback that the paper's contract has."""
    suggestions = [
        {name: suggestion[name] for name in _CORE_SUGGESTION if name in suggestion}
        for suggestion in feedback.get("suggestions") or ()
    ]
    return {**{name: feedback[name] for name in CORE if name in feedback}, "suggestions": suggestions}


_FRESH = "/headers/idempotency-key"
"""The proxy makes a new one each time. It stays, or two runs would differ."""


def noisy(feedback: Feedback, seed: str, plain: Callable[[Json], Json] = lambda value: value) -> Feedback:
    """Return feedback of the same form with plausible wrong values.

    Pointers and `test` operations stay, so that an agent can follow it blindly. Terminal suggestions stay as they are.
    A wrong value depends on the seed and on where the right value first occurs.
    """
    suggestions = []
    for index, suggestion in enumerate(feedback.get("suggestions") or ()):
        if suggestion.get("action") in TERMINAL_ACTIONS or suggestion.get("base_action") in TERMINAL_ACTIONS:
            suggestions.append(suggestion)
            continue
        wrong: dict[str, tuple[Json, Json]] = {}
        new = dict(suggestion)
        new["parameters"] = _wrong(suggestion.get("parameters") or {}, f"{seed}/{index}", wrong, plain)
        if suggestion.get("patch"):
            new["patch"] = [
                {**edit, "value": _wrong(edit["value"], f"{seed}/{index}{edit['path']}", wrong, plain)}
                if edit.get("op") in ("add", "replace") and "value" in edit and edit["path"] != _FRESH
                else edit
                for edit in suggestion["patch"]
            ]
        if "message" in new:
            new["message"] = _reworded(str(new["message"]), wrong)
        suggestions.append(new)
    return {**feedback, "suggestions": suggestions}


def _wrong(value: Json, place: str, replaced: dict[str, tuple[Json, Json]], plain: Callable[[Json], Json]) -> Json:
    """Return a wrong value of the same type; equal values get the same one."""
    match value:
        case Mapping():
            return {name: _wrong(inner, f"{place}/{name}", replaced, plain) for name, inner in value.items()}
        case list():
            return [_wrong(inner, f"{place}/{index}", replaced, plain) for index, inner in enumerate(value)]
        case None:
            return None
    return replaced.setdefault(json.dumps(value), (value, _other(value, random.Random(place), plain)))[1]


def _other(value: Json, rng: random.Random, plain: Callable[[Json], Json]) -> Json:
    factor = rng.choice((0.25, 0.5, 2, 3, 4))
    match value:
        case bool():
            return not value
        case int():
            changed = round(value * factor)
            return changed if changed != value else value + 1
        case float():
            return round(value * factor, 4) if value else 1.5
        case str() if value.isdecimal():
            return str(_other(int(value), rng, plain))
        case str() if (plain_text := str(plain(value))) != value:
            if plain_text.startswith("<base64:"):
                return base64.b64encode(_invented(base64.b64decode(value).decode(), rng).encode()).decode()
            return _invented(value, rng)
        case _:
            return _shifted(str(value), rng.randrange(1, 26))


def _invented(text: str, rng: random.Random) -> str:
    """Return another id of the same form. It does not depend on the id, which differs between runs."""
    start = _last_word(text)
    length = len(text) - start if len(text) - start >= 20 else 8  # short ones, such as addresses, vary in length
    return text[:start] + "".join(rng.choice("0123456789abcdef") for _ in range(length))


def _last_word(text: str) -> int:
    return max(text.rfind(mark) for mark in " /_-") + 1


def _shifted(text: str, shift: int) -> str:
    """Return another text of the same form: letters of its last word, and digits, are shifted."""
    start = _last_word(text)

    def moved(char: str) -> str:
        if char.isdigit():
            return str((int(char) + shift) % 10 if shift % 10 else (int(char) + 1) % 10)
        if not (char.isascii() and char.isalpha()):
            return char
        first = ord("a") if char.islower() else ord("A")
        return chr((ord(char) - first + shift) % 26 + first)

    return text[:start] + "".join(map(moved, text[start:])) if start < len(text) else f"{text}x"


def _reworded(message: str, wrong: Mapping[str, tuple[Json, Json]]) -> str:
    """Replace the right values in a message by the wrong ones."""
    for right, other in wrong.values():
        if not isinstance(right, bool) and len(str(right)) > 1:
            message = re.sub(rf"(?<!\w){re.escape(str(right))}(?!\w)", lambda _, o=other: str(o), message)  # type: ignore[misc]
    return message


def _changed(body: Json, change: Callable[[Feedback], Feedback | None]) -> Json:
    """Return a body with every copy of its feedback changed or removed."""
    if isinstance(body, list):
        return [_changed(inner, change) for inner in body]
    if not isinstance(body, Mapping):
        return body
    copy: dict[str, Json] = {}
    for name, value in body.items():
        if name == MEMBER and isinstance(value, Mapping):
            if (new := change(value)) is not None:
                copy[name] = new
        elif name == "causes" and isinstance(value, list):
            copy[name] = [cause for cause in value if not _is_ours(cause)]
        else:
            copy[name] = _changed(value, change)
    return copy


def _is_ours(cause: Json) -> bool:
    """Return whether a cause of a Kubernetes Status repeats a suggestion, for kubectl to print."""
    return isinstance(cause, Mapping) and cause.get("reason") == CAUSE


def _without_lines(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Remove the headers that repeat suggestions."""
    return {name: value for name, value in headers.items() if name not in ("warning", "link")}


def _size(body: Json) -> int:
    return len(json.dumps(body, ensure_ascii=False))


def _filler(length: int) -> str:
    text = _WORDS * (max(length, 0) // len(_WORDS) + 1)
    return text[: max(length, 0)].rstrip()
