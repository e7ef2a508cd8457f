"""From what the rules said to one feedback object on the wire, within its limits and free of secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from corrigible.rules.failure import CorrigibleError
from corrigible.rules.rule import TERMINAL
from corrigible.rules.speak import Spoken
from corrigible.schema.exchange import Json, Request

from .limit import Limits

SCHEMA = "self-reflective-api/0.1"

# C0 and C1 controls, zero-width and bidirectional marks: invisible to a person, not to a model.
_INVISIBLE = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_ESCAPED = re.compile(
    rb"\\u00|\\[bfr]|\x7f|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa9]|\xef\xbb\xbf"
)
_SHORTEST_SECRET = 4


class Withheld(CorrigibleError):
    """The feedback must not be sent; the native answer passes."""


def combine(said: Sequence[Spoken]) -> dict[str, Json]:
    """Fold what several rules said, root cause first, into one feedback object.

    A terminal answer stands alone: while one of the errors has no way out, repairing the others does not help.
    """
    final = [one for one in said if one.recovery == "terminal"]
    if final:
        said = final[:1]
    first = said[0]
    suggestions = list(first.suggestions)
    if first.recovery == "terminal" and suggestions[0].get("base_action", suggestions[0]["action"]) in TERMINAL:
        del suggestions[1:]
    kind, recovery, message = first.type, first.recovery, first.rule.diagnosis
    if len(said) > 1:
        suggestions = [suggestion for one in said for suggestion in one.suggestions]
        message = " ".join(dict.fromkeys(one.rule.diagnosis for one in said))
        if any(one.type == "intent_disambiguation" for one in said):
            kind = "intent_disambiguation"
        if any(one.recovery != recovery for one in said):
            recovery = "correctable"
    out: dict[str, Json] = {
        "schema": SCHEMA,
        "type": kind,
        "message": message,
        "recovery": recovery,
        "suggestions": suggestions,
    }
    if out["recovery"] != "terminal":
        retry = _slowest([one.retry for one in said if one.retry is not None])
        if retry is not None:
            out["retry"] = retry
    return out


def _slowest(retries: Sequence[Mapping[str, Json]]) -> dict[str, Json] | None:
    if not retries:
        return None
    slowest = max(retries, key=lambda retry: float(retry.get("after_seconds") or 0))
    return dict(slowest)


def mirror_retry_after(feedback: dict[str, Json], seconds: float | None) -> None:
    """Make `retry.after_seconds` what the upstream's own Retry-After says, where it says anything."""
    if seconds is None or feedback["recovery"] == "terminal":
        return
    retry = feedback.setdefault("retry", {"same_request": False})
    retry["after_seconds"] = seconds


def encode(feedback: dict[str, Json], request: Request, secrets: frozenset[str], limits: Limits) -> bytes:
    """Return compact JSON. Cuts alternatives that do not fit; raises Withheld where nothing can be said safely."""
    del feedback["suggestions"][limits.suggestions :]
    data = orjson.dumps(feedback)
    while len(data) > limits.feedback:
        if len(feedback["suggestions"]) == 1:
            raise Withheld(f"{len(data)} bytes of feedback, the limit is {limits.feedback}")
        _cut(feedback["suggestions"])
        data = orjson.dumps(feedback)
    if _ESCAPED.search(data) is not None:
        feedback["suggestions"] = [_visible(s) for s in feedback["suggestions"] if not _hidden_edit(s)]
        if not feedback["suggestions"]:
            raise Withheld("an edit of invisible characters cannot be shown")
        data = orjson.dumps(_visible(feedback))
    for secret in _secret_values(request, secrets):
        if orjson.dumps(secret)[1:-1] in data:
            raise Withheld("a secret of the request would be repeated")
    return data


def _cut(suggestions: list[dict[str, Json]]) -> None:
    """Drop the last suggestion, and with it the rest of a group that only makes sense whole."""
    dropped = suggestions.pop()
    group = dropped.get("group")
    if group is not None and group["relation"] != "one_of":
        suggestions[:] = [s for s in suggestions if s.get("group", {}).get("id") != group["id"]]
    if not suggestions:
        raise Withheld("a group larger than the limit")


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return _INVISIBLE.sub("", value)
    if isinstance(value, dict):
        return {name: _visible(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_visible(inner) for inner in value]
    return value


def _hidden_edit(suggestion: Mapping[str, Json]) -> bool:
    """Whether a patch would no longer mean the same once invisible characters are gone."""
    return "patch" in suggestion and _visible(suggestion["patch"]) != suggestion["patch"]


def _secret_values(request: Request, secrets: frozenset[str]) -> Iterator[str]:
    if secrets:
        yield from _named(request.body, secrets)
        yield from _named(request.query, secrets)


def _named(value: Any, secrets: frozenset[str]) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in secrets and isinstance(inner, (str, int)) and len(str(inner)) >= _SHORTEST_SECRET:
                yield str(inner)
            elif isinstance(inner, (dict, list)):
                yield from _named(inner, secrets)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner, secrets)
