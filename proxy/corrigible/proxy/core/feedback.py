"""Turns results into one feedback object on the wire, within its limits and free of secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import compress
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from corrigible.client.credentials import credential_values, is_ordinary
from corrigible.rules.budget import spend
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.engine.suggestion_builder import slower
from corrigible.rules.errors import CorrigibleError
from corrigible.rules.language.rule import TERMINAL
from corrigible.rules.pointer import MISSING, escape, is_among, resolve, segments, value_at
from corrigible.rules.schema_repair.json_schema import kind_of
from corrigible.rules.schema_repair.repair import DIAGNOSES
from corrigible.schema.credential_name import is_secret_name
from corrigible.schema.document import is_path, leaves, scalar_text
from corrigible.schema.edit import NotApplicable, apply_operation
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import SCHEMA

from .limits import Limits

# Invisible to a person, not to a model: C0 and C1 controls, zero-width and bidirectional marks, line separators,
# fillers, variation selectors, tags.
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_SHORTEST_SECRET = 4
"""A secret this long is looked for everywhere, a shorter one (a CVC) only as a whole value."""
_SHORTEST_WHOLE_SECRET = 3
_SHORTEST_UNNAMED = 6
"""Letters of the value of a member that only the words of its name tell to be secret."""


class FeedbackRejected(CorrigibleError):
    """The feedback must not be sent; the native answer passes."""


def combine(results: Sequence[RuleResult]) -> dict[str, Json]:
    """Fold several results, root cause first, into one feedback object.

    A terminal answer stands alone: while one of the errors has no way out, repairing the others does not help.
    """
    terminal = [result for result in results if result.recovery == "terminal"]
    if terminal:
        results = terminal[:1]
    first = results[0]
    suggestions = list(first.suggestions)
    if first.recovery == "terminal" and suggestions[0].get("base_action", suggestions[0]["action"]) in TERMINAL:
        del suggestions[1:]
    kind, recovery, message = first.type, first.recovery, first.rule.diagnosis
    if len(results) > 1:
        suggestions = [suggestion for result in results for suggestion in result.suggestions]
        message = " ".join(dict.fromkeys(result.rule.diagnosis for result in results))
        if any(result.type == "intent_disambiguation" for result in results):
            kind = "intent_disambiguation"
        if any(result.recovery != recovery for result in results):
            recovery = "correctable"
    out: dict[str, Json] = {
        "schema": SCHEMA,
        "type": kind,
        "message": message,
        "recovery": recovery,
        "suggestions": suggestions,
    }
    if out["recovery"] != "terminal":
        retry: dict[str, Json] | None = None
        for result in results:
            if result.retry is not None:
                retry = slower(retry, result.retry)
        if retry is not None:
            if recovery == "correctable" and retry.get("same_request") and any("patch" in s for s in suggestions):
                retry["same_request"] = False
            out["retry"] = retry
    return out


def mirror_retry_after(feedback: dict[str, Json], seconds: float | None) -> None:
    """Make `retry.after_seconds` what the upstream's own Retry-After says, where it says anything."""
    if seconds is None or feedback["recovery"] == "terminal":
        return
    retry = feedback.setdefault("retry", {"same_request": False})
    retry["after_seconds"] = seconds


def drop_stray_paths(feedback: dict[str, Json], request: Request) -> None:
    """Drop suggestions with a path of dot segments or the like (SPEC.md 4.9). FeedbackRejected where none is left."""
    stray = [suggestion for suggestion in feedback["suggestions"] if _leads_away(suggestion, request)]
    for suggestion in stray:
        _drop(feedback["suggestions"], suggestion)
    if not feedback["suggestions"]:
        raise FeedbackRejected("a path that leaves its place")


def encode(feedback: dict[str, Json], request: Request, secrets: frozenset[str], limits: Limits) -> bytes:
    """Return compact JSON, without alternatives that do not fit. FeedbackRejected where nothing is safe to send."""
    moved = _unnamed_secrets(feedback, request, secrets) if secrets else []
    sent = _secret_values(request, secrets)
    if sent:
        _ask_for_secrets(feedback, secrets, frozenset(sent))
    while len(feedback["suggestions"]) > limits.suggestions:
        _cut(feedback["suggestions"])
    data = orjson.dumps(feedback)
    while len(data) > limits.feedback:
        if len(feedback["suggestions"]) == 1:
            raise FeedbackRejected(f"{len(data)} bytes of feedback, the limit is {limits.feedback}")
        _cut(feedback["suggestions"])
        data = orjson.dumps(feedback)
    if not data.isascii() or b"\\" in data or b"\x7f" in data:
        for suggestion in [s for s in feedback["suggestions"] if _hidden_edit(s)]:
            _drop(feedback["suggestions"], suggestion)
        feedback.update(_visible(feedback))
        data = orjson.dumps(feedback)
    if not feedback["suggestions"]:  # also of feedback that was encoded before, and rejected
        raise FeedbackRejected("an edit of invisible characters cannot be shown")
    known = [*sent, *moved, *_credentials(request, secrets, data.lower())]
    if _repeats_secret(feedback, data, request, known):
        for suggestion in feedback["suggestions"]:
            if "placeholders" in suggestion:
                suggestion["placeholders"] = [_open(one) for one in suggestion["placeholders"]]
            if "patch" in suggestion:
                suggestion["patch"] = [one for op in suggestion["patch"] for one in _narrowed(op, known)]
        data = orjson.dumps(feedback)
        if _repeats_secret(feedback, data, request, known) or len(data) > limits.feedback:
            raise FeedbackRejected("a secret of the request would be repeated")
    return data


def _repeats_secret(feedback: Mapping[str, Json], data: bytes, request: Request, secrets: Sequence[str]) -> bool:
    folded = data.lower()
    for secret in secrets:
        if len(secret) < _SHORTEST_SECRET:
            if _holds(feedback["suggestions"], secret):
                return True
        elif _is_written(secret, folded) and not _is_own_word(secret, feedback, request):
            return True
    return False


def _narrowed(operation: dict[str, Json], secrets: Sequence[str]) -> list[dict[str, Json]]:
    """Return tests of all inside of an object or list that holds no secret, in place of the test of the whole.

    A signed message may be left out: what else the message says shows that it is the one that was sent.
    """
    if operation["op"] != "test" or not isinstance(operation["value"], (dict, list)):
        return [operation]
    every = leaves(operation["value"], operation["path"])
    parts = [{"op": "test", "path": path, "value": value} for path, value in every]
    texts = [orjson.dumps(part["value"]).lower() for part in parts]
    open_ones = [not any(_is_written(secret, text) for secret in secrets) for text in texts]
    return [*compress(parts, open_ones)] or [operation]


def _open(placeholder: Mapping[str, Any]) -> dict[str, Json]:
    """Return a question without the values that its schema names."""
    schema = placeholder.get("schema") or {}
    return {**placeholder, "schema": {"type": schema["type"]} if "type" in schema else {}}


def _is_written(secret: str, folded: bytes) -> bool:
    """Whether JSON in lower case has a text, in whatever case."""
    with suppress(TypeError):  # half a surrogate pair, which no feedback has
        return orjson.dumps(secret)[1:-1].lower() in folded
    return False


def _is_own_word(secret: str, feedback: Mapping[str, Json], request: Request) -> bool:
    """Whether a secret is a word of ours or a name of the request: `password` may be a password, and tells nothing."""
    is_word = is_ordinary(secret) or _is_name(secret, [request.body, dict(request.query)])
    return is_word and not _is_written(secret, orjson.dumps(_without_own_words(feedback, secret)).lower())


def _is_name(text: str, values: Iterable[Json]) -> bool:
    """Whether a text is the name of a member somewhere inside."""
    waiting = [*values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            if text in value:
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False


def _credentials(request: Request, secrets: frozenset[str], folded: bytes) -> Iterator[str]:
    """Yield the credentials in headers and query, and what JSON in lower case has of those in the body."""
    yield from credential_values(request.headers.items(), urlencode(request.query, doseq=True), secrets)
    text = folded.decode()
    for name, value in _leaves(request.body):
        if not isinstance(value, str):
            continue
        head = value[:_SHORTEST_UNNAMED]
        is_likely = head.lower() in text or not head.isalnum()  # most of many values are not there
        if is_likely and len(value) >= _SHORTEST_UNNAMED and _is_written(value, folded) and is_secret_name(str(name)):
            yield value


def _leaves(value: Json, name: str = "") -> Iterator[tuple[str, Json]]:
    """Yield the values inside that hold no others, each with the member that it or its list is."""
    if isinstance(value, Mapping):
        for inner_name, inner in value.items():
            yield from _leaves(inner, inner_name)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, name)
    else:
        yield name, value


_OWN: Final = frozenset(
    {"action", "applicability", "ask", "basis", "format", "kind", "op", "recovery", "relation", "side_effects", "type"}
)
"""Members whose texts are words of the contract, or of JSON Schema."""
_POINTERS: Final = frozenset({"path", "from", "pointer", "loses"})
_OF_THE_REQUEST: Final = frozenset({"parameters", "value", "body", "query", "headers", "const", "enum", "default"})


def _without_own_words(value: Any, word: str, member: str = "") -> Any:
    """Return feedback without texts that are there whatever the request says: of the contract, names, diagnoses."""
    if member in _OF_THE_REQUEST:
        return list(_scalars(value))
    if isinstance(value, Mapping):
        return {"" if name == word else name: _without_own_words(inner, word, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_own_words(inner, word, member) for inner in value]
    if not isinstance(value, str):
        return value
    if member in _OWN:
        return None
    if member in _POINTERS and value.startswith(("/body/", "/query/")):
        return "/".join(part for part in value.split("/") if part != word)
    if member == "message":
        return " ".join(one for one in _SENTENCE_END.split(value) if one not in DIAGNOSES)
    return value


_SENTENCE_END: Final = re.compile(r"(?<=\.) ")


def _leads_away(suggestion: Mapping[str, Json], request: Request) -> bool:
    """Whether it sends somebody to a path with dot segments or the like (SPEC.md 4.9)."""
    paths = [step.get("path") for step in suggestion.get("steps", ())]
    for op in suggestion.get("patch", ()):
        if op["path"] == "/path" and op["op"] != "test":
            paths.append(op.get("value"))
    if suggestion["action"] in TERMINAL:
        parameters = suggestion.get("parameters")
        result = parameters.get("path") if isinstance(parameters, Mapping) else None
        if isinstance(result, str) and result.startswith("/"):
            paths.append(result.partition("?")[0])
    return bool(paths) and any(isinstance(path, str) and path != request.path and not is_path(path) for path in paths)


def _unnamed_secrets(feedback: dict[str, Json], request: Request, secrets: frozenset[str]) -> list[str]:
    """Return the secrets that stand under a misspelt name, and take them out of the edits that put them right.

    Either name may be the one that tells: `new_password` may become `new`.
    """
    values: list[str] = []
    for suggestion in feedback["suggestions"]:
        patch = suggestion.get("patch", ())
        from_places = [
            str(op["from"])
            for op in patch
            if op["op"] == "move" and any(is_among(segments(op[end])[-1], secrets) for end in ("path", "from"))
        ]
        if from_places:
            values += [text for place in from_places for text in _scalars(value_at(request, place))]
            suggestion["parameters"] = {}
            if not any(part.isdecimal() for place in from_places for part in segments(place)):  # there it is needed
                suggestion["patch"] = [op for op in patch if op["op"] != "test" or op["path"] not in from_places]
    return values


def _ask_for_secrets(feedback: dict[str, Json], secrets: frozenset[str], sent: frozenset[str]) -> None:
    """Ask for a secret that an edit would write in another form, such as a number as text: it is never repeated."""
    for suggestion in feedback["suggestions"]:
        edits = [op for op in suggestion.get("patch", ()) if op["op"] != "test"]
        values = [op for op in edits if op.get("value") is not None and is_among(segments(op["path"])[-1], secrets)]
        if not values or len(edits) != len(values) or any(scalar_text(op["value"]) not in sent for op in values):
            continue
        del suggestion["patch"]
        suggestion["parameters"] = {}
        suggestion["applicability"] = "HAS_PLACEHOLDERS"
        suggestion["placeholders"] = [
            *suggestion.get("placeholders", ()),
            *({"pointer": op["path"], "ask": "agent", "schema": {"type": kind_of(op["value"])}} for op in values),
        ]
        suggestion.pop("verification", None)


def _cut(suggestions: list[dict[str, Json]]) -> None:
    """Drop the last suggestion."""
    _drop(suggestions, suggestions[-1])
    if not suggestions:
        raise FeedbackRejected("a group larger than the limit")


def _drop(suggestions: list[dict[str, Json]], dropped: Mapping[str, Json]) -> None:
    """Drop a suggestion, and with it the rest of a group that only makes sense whole."""
    group = dropped.get("group")
    whole = group is not None and group["relation"] != "one_of"
    suggestions[:] = [s for s in suggestions if s is not dropped and not (whole and s.get("group") == group)]


def _holds(value: Any, text: str) -> bool:
    """Whether a text or number is a value somewhere inside."""
    return any(str(one) == text and not isinstance(one, bool | None) for _, one in _leaves(value))


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return _INVISIBLE.sub("", value)
    if isinstance(value, dict):
        return {_visible(name): _visible(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_visible(inner) for inner in value]
    return value


def _hidden_edit(suggestion: Mapping[str, Json]) -> bool:
    """Whether what it sends would no longer mean the same once invisible characters are gone."""
    return any(
        name in suggestion and _visible(suggestion[name]) != suggestion[name]
        for name in ("patch", "steps", "placeholders")
    )


def _secret_values(request: Request, secrets: frozenset[str]) -> list[str]:
    values: list[str] = []
    if secrets:
        for part in (request.body, request.query):
            if part:
                _collect(part, secrets, values)
    return values


def _collect(value: Any, secrets: frozenset[str], values: list[str]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            if is_among(name, secrets):
                values.extend(_scalars(inner))
            else:
                _collect(inner, secrets, values)
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, secrets, values)
    elif isinstance(value, str) and value.lstrip()[:1] in ("{", "["):  # JSON that is sent as a text
        with suppress(orjson.JSONDecodeError):
            _collect(orjson.loads(value), secrets, values)


def _scalars(value: Any) -> Iterator[str]:
    """Yield every text and number inside, those too short to be a secret left out."""
    texts = (str(one) for _, one in _leaves(value) if isinstance(one, str | int | float) and one is not True)
    yield from (one for one in texts if len(one) >= _SHORTEST_WHOLE_SECRET)


# Several errors at once come as several suggestions, applied one after the other. Each was made for the request as it
# was. The second to need a parent that is missing must not overwrite what the first put there, and what the first has
# done already the second must not do again.

Operation = dict[str, Json]
_WANTED = ("action", "parameters", "patch", "placeholders", "steps")
"""What makes two suggestions the same one, whatever their authors."""


def merge_suggestions(results: Sequence[RuleResult], request: Request) -> list[RuleResult]:
    """Return the results, each with patches that hold after those before it.

    A suggestion that changes nothing any more is left out; that may be every suggestion of a result.
    """
    if len(results) < 2:
        return list(results)
    before: dict[str, Json] = request.document()
    document = dict(before)
    done: list[Json] = []
    out = []
    for result in results:
        remaining = []
        open_choices: dict[str, bool] = {}
        for suggestion in result.suggestions:
            group = suggestion.get("group") or {}
            if group.get("relation") == "one_of" and group["id"] in open_choices:
                if open_choices[group["id"]]:
                    remaining.append(suggestion)  # not the first alternative: a reader applies one of them
                continue
            wanted = [suggestion.get(name) for name in _WANTED]
            is_new = wanted not in done
            if is_new and "patch" in suggestion:
                patch, document = _agreeing(suggestion["patch"], before, document)
                is_new = bool(patch)
                suggestion = {**suggestion, "patch": patch}
            done.append(wanted)
            if is_new:
                remaining.append(suggestion)
            if group.get("relation") == "one_of":
                open_choices[group["id"]] = is_new
        out.append(result.with_suggestions(remaining))
    return out


def _agreeing(
    patch: Sequence[Operation], before: Mapping[str, Json], now: dict[str, Json]
) -> tuple[list[Operation], dict[str, Json]]:
    """Return the patch as it has to be after the earlier ones, none where nothing is left to do."""
    document: dict[str, Json] = now
    out: list[Operation] = []
    for op in patch:
        spend(_AN_OPERATION)
        path = str(op["path"])
        here = resolve(document, path)
        if op["op"] == "test" and here != op["value"] and resolve(before, path) == op["value"]:
            if here is MISSING or not isinstance(here, (dict, list)):
                continue  # an earlier suggestion has changed this very place: it has the say
            step = [{**op, "value": here}]
        elif op["op"] in ("add", "replace") and here is not MISSING and here != resolve(before, path):
            step = _merged(path, here, op["value"])
        elif op["op"] == "remove" and here is MISSING:
            continue
        else:
            step = [op]
        try:
            for operation in step:
                document = apply_operation(document, operation)
        except NotApplicable:
            return list(patch), now  # a reader will find out, and leave out this one alone
        out += step
    if all(op["op"] == "test" for op in out):
        return [], now
    return out, document


_AN_OPERATION = 20
"""Steps."""


def _merged(path: str, here: Json, wanted: Json) -> list[Operation]:
    """Return the operations that put into an object what it lacks. What it has stays: that was wanted first."""
    if not (isinstance(here, Mapping) and isinstance(wanted, Mapping)):
        return []
    ops: list[Operation] = []
    for name, value in wanted.items():
        inner: Any = here.get(name, MISSING)
        place = f"{path}/{escape(name)}"
        ops += [{"op": "add", "path": place, "value": value}] if inner is MISSING else _merged(place, inner, value)
    return ops
