"""What an answer says, as a script can read it: with the feedback or without.

Knows: where feedback travels, the usual names of complaints. Does not know: agents, arms, any API's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from corrigible.schema.carrier import CAUSE, DETAIL
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import MEMBER
from corrigible.schema.word import BaseAction, LoopAction

_TEXTS: Final = ("message", "detail", "msg", "description", "error", "title", "errorMessage")
"""Members that hold prose, the most telling first."""
_FIELDS: Final = ("field", "param", "pointer", "loc", "instancePath", "path", "parameter", "source")


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One thing that is wrong, in the API's own words."""

    text: str
    field: str = ""
    """Where, as the answer writes it: `ingredients[2]`, `spec.replicas`, `card[number]`."""
    code: str = ""


def without_feedback(body: Json) -> Json:
    """Return an answer without its feedback, wherever it stands."""
    match body:
        case Mapping():
            return {name: without_feedback(inner) for name, inner in body.items() if name != MEMBER}
        case list():
            return [without_feedback(item) for item in body if not _carries(item)]
        case _:
            return body


_ENDS: Final = (BaseAction.ESCALATE, BaseAction.NO_RECOVERY_AVAILABLE)


def is_escalated(feedback: Json) -> bool:
    """Whether a loop breaker ends the conversation. In the core of the contract only `attempts` tells."""
    suggestions = feedback.get("suggestions") if isinstance(feedback, Mapping) else None
    if not isinstance(suggestions, list) or len(suggestions) != 1 or not isinstance(suggestions[0], Mapping):
        return False
    only, loop = suggestions[0], feedback.get("loop")
    if str(only.get("action")).upper() not in _ENDS:
        return False
    parameters = only.get("parameters")
    has_attempts = isinstance(parameters, Mapping) and "attempts" in parameters
    return has_attempts or (isinstance(loop, Mapping) and str(loop.get("action")).lower() == LoopAction.ESCALATE)


def error_details(body: Json) -> tuple[ErrorDetail, ...]:
    """Return what a native answer complains of, the most exact first, each once."""
    if isinstance(body, str):
        return (ErrorDetail(body),) if body.strip() else ()
    details = list(dict.fromkeys(_error_details(without_feedback(body))))
    details.sort(key=lambda detail: not detail.field)
    return tuple(details)


def texts_in(body: Json, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of an answer with where it stands."""
    match body:
        case str():
            yield pointer, body
        case Mapping():
            for name, inner in body.items():
                yield from texts_in(inner, f"{pointer}/{name}")
        case list():
            for index, inner in enumerate(body):
                yield from texts_in(inner, f"{pointer}/{index}")


def as_text(body: Json) -> str:
    """Return an answer as one text, to look for words in."""
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def path_parts(field: str) -> tuple[str, ...]:
    """Split what an answer calls a place: `a.b[0].c`, `a[b]`, `/a/b`, `$.a`."""
    return tuple(part for part in re.split(r"[.\[\]/\s]+", field.removeprefix("$")) if part)


def _error_details(value: Json) -> Iterator[ErrorDetail]:
    match value:
        case list():
            for item in value:
                yield from [ErrorDetail(item)] if isinstance(item, str) else _error_details(item)
        case Mapping():
            prose = [value[name] for name in _TEXTS if isinstance(value.get(name), str) and value[name].strip()]
            field = next((text for name in _FIELDS if (text := _field(value.get(name)))), "")
            if prose or field:
                yield ErrorDetail(prose[0] if prose else "", field, str(value.get("code") or value.get("reason") or ""))
            for inner in value.values():
                if isinstance(inner, Mapping | list):
                    yield from _error_details(inner)


def _field(value: Json) -> str:
    match value:
        case str() if len(value) <= 200 and "://" not in value and not value.startswith("/api/"):
            return value
        case Mapping():
            return _field(value.get("pointer") or value.get("parameter"))
        case list() if value and all(isinstance(part, str | int) for part in value):
            return ".".join(map(str, value))
        case _:
            return ""


def _carries(item: Any) -> bool:
    """Whether an element of a list is there for the feedback alone: a cause, an Any."""
    if not isinstance(item, Mapping):
        return False
    return item.get("reason") == CAUSE or str(item.get("@type", "")).rpartition("/")[2] == DETAIL
