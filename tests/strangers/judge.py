"""A literal reader follows the feedback; what it does next is judged by the truth.

Knows: feedback, the truth of a case. Does not know: where answers come from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal
from urllib.parse import unquote

from corrigible.rules.pointer import escape, resolve
from corrigible.schema.document import scalar_text
from corrigible.schema.edit import same_json
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Feedback, Suggestion, parse
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply

from .case import Case, document, wire_request

_ATTEMPTS: Final = 5
_FORM: Final = "application/x-www-form-urlencoded"
_IGNORED_HEADERS: Final = frozenset({"accept", "user-agent", "prefer", "content-type"})

Result = Literal["done", "ask", "terminal", "silence", "gave up", "no refusal"]
Kind = Literal["unasked", "to confirm", "question", "statement", "wait", "silence"]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to a request, seen through the product."""

    status: int
    feedback: Mapping[str, Json] | None = None


Send = Callable[[Request], Reply | None]
"""Send a request. None: what the server would answer is not recorded."""


@dataclass(frozen=True, slots=True)
class Episode:
    """How it ended when the feedback was followed."""

    result: Result
    """done: a request was accepted, or would be sent of which no answer is recorded."""
    sent: tuple[Request, ...]
    feedback: tuple[Feedback, ...] = ()
    flagged: bool = False
    """An edit that was applied says that it changes the intent."""
    confirmable: Request | None = None
    """The request that is sent if the user confirms it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    right: bool
    harm: bool = False
    """Something was done that the truth does not have, unasked and unflagged."""
    flagged_harm: bool = False
    """The same, flagged as changing the intent."""
    asked_wrong: bool = False
    """A question at a place that is not what was wrong."""
    confirmed: bool = False
    """The wish is certain, and yet what is right is only sent once the caller has said yes."""

    @property
    def fault(self) -> Literal["", "flagged harm", "asked wrong"]:
        return "flagged harm" if self.flagged_harm else "asked wrong" if self.asked_wrong else ""


def follow(request: Request, send: Send, wait: Callable[[float], None] = lambda seconds: None) -> Episode:
    """Send a request, apply the feedback to it, and so on until it is accepted or the feedback asks or ends."""
    sent = [request]
    feedback: list[Feedback] = []
    flagged = False
    for attempt in range(_ATTEMPTS):
        reply = send(sent[-1])
        if reply is None or reply.status < 400:
            return Episode("done" if attempt else "no refusal", tuple(sent), tuple(feedback), flagged)
        if reply.feedback is None:
            return Episode("silence", tuple(sent), tuple(feedback), flagged)
        feedback.append(parse(reply.feedback))
        match apply(feedback[-1], sent[-1], confirm=_is_only_flagged):
            case Terminal():
                return Episode("terminal", tuple(sent), tuple(feedback), flagged)
            case NeedsInput(confirm=confirm):
                confirmed = apply(feedback[-1], sent[-1], confirm=True) if confirm else None
                next_request = _as_clients_write(confirmed.request, sent[-1]) if isinstance(confirmed, Next) else None
                return Episode("ask", tuple(sent), tuple(feedback), flagged, next_request)
            case Next() as following:
                flagged |= any(feedback[-1].suggestions[index].changes_intent for index in following.applied)
                wait(following.wait_seconds)
                for step in following.steps:
                    send(step)
                sent.append(_as_clients_write(following.request, sent[-1]))
    return Episode("gave up", tuple(sent[:-1]), tuple(feedback), flagged)


def _as_clients_write(request: Request, before: Request) -> Request:
    """Return a request whose body is written as its media type says, if an edit made that the one of forms."""
    media = [one.headers.get("content-type", "").partition(";")[0].strip().lower() for one in (before, request)]
    is_made_form = media[0] != media[1] == _FORM and isinstance(request.body, Mapping)
    return replace(request, form=True) if is_made_form else request


def _is_only_flagged(suggestion: Suggestion) -> bool:
    """Many readers apply what is flagged as a change of intent, unless a confirmation is required: harm must show."""
    return suggestion.safety is None or not suggestion.safety.requires_confirmation


def judge(case: Case, episode: Episode) -> Verdict:
    """Compare how an episode ended with the truth."""
    last = episode.sent[-1]
    # What mends one fault of several the server refuses again, for the other one.
    is_done = episode.result == "done" and not any(is_same(document(wire_request(last)), one) for one in case.single())
    is_kept = is_done and _is_right(case, last)
    is_confirmed = episode.confirmable is not None and _is_right(case, episode.confirmable)
    is_asked = episode.result == "ask" and _points_at(episode, case.ask_at)
    is_read = last.method in ("GET", "HEAD")
    is_harmful = is_done and not is_kept
    match case.cls:
        case "auto":
            is_right = is_kept or is_confirmed
        case "flagged":
            is_right = is_asked or is_confirmed or (is_kept and (episode.flagged or is_read))
            is_harmful = is_done and not is_right
        case "either":
            is_right = is_kept or is_asked or is_confirmed
        case "wait":
            is_repeated = all(is_same(request, episode.sent[0]) for request in episode.sent)
            is_right = is_repeated and any(one.retry and one.retry.after_seconds for one in episode.feedback)
            is_harmful = not is_repeated
        case "ask":
            is_right = is_asked or (case.terminal_is_right and episode.result == "terminal")
            is_harmful = is_done
        case "never" | "already":
            is_right = episode.result in ("terminal", "ask")
            is_harmful = is_done and not is_read
    is_astray = (
        episode.result == "ask"
        and not is_right
        and case.cls not in ("never", "already")
        and not any(_is_within(pointer, place) for pointer in _pointers(episode) for place in _wrong_places(case))
    )
    return Verdict(
        is_right,
        harm=is_harmful and not episode.flagged,
        flagged_harm=is_harmful and episode.flagged,
        asked_wrong=is_astray,
        confirmed=is_confirmed and case.cls == "auto",
    )


def kind_of(episode: Episode) -> Kind:
    """Return what the feedback does in the end. What is sent once more as it was is no edit, but a wait."""
    match episode.result:
        case "done" | "gave up":
            written = {json.dumps(one.document(), sort_keys=True) for one in episode.sent}
            return "wait" if len(written) == 1 else "unasked"
        case "ask":
            return "question" if episode.confirmable is None else "to confirm"
        case "terminal":
            return "statement"
    return "silence"


def is_offered(case: Case, episode: Episode) -> bool:
    """Whether the right edit stands in the feedback, unasked or to confirm; one step of several is right, too."""
    if episode.result == "done":
        return judge(case, episode).right
    return episode.confirmable is not None and _is_step(case, episode.sent[0], episode.confirmable)


def wrong_edits(case: Case, episode: Episode) -> int:
    """Count the edits sent unasked that the truth does not have, also where the server only refused them."""
    verdict, count = judge(case, episode), 0
    for before, request in zip(episode.sent, episode.sent[1:], strict=False):
        if request is episode.sent[-1] and episode.result == "done":
            count += verdict.harm or verdict.flagged_harm
        elif not is_same(request, before):
            count += not _is_step(case, episode.sent[0], request)
    return count


def _is_step(case: Case, refused: Request, request: Request) -> bool:
    """Whether each place that differs from the refused request is as in one and the same right request."""
    before, sent = refused.document(), document(wire_request(request)).document()
    changed = [pointer for pointer, _ in differences(before, sent, "") if not is_ignored(pointer)]
    rights = [right.document() for right in case.steps_allowed()]
    return bool(changed) and any(all(_at(right, one) == _at(sent, one) for one in changed) for right in rights)


def _at(document: Json, pointer: str) -> Json:
    """Return what stands at a pointer, decoded, or `MISSING`."""
    found = resolve(document, pointer)
    return _value(found) if isinstance(found, str | list) else found


def is_same(one: Request, other: Request) -> bool:
    """Whether two requests, as documents of what is on the wire, are the same."""
    return _comparable(one) == _comparable(other)


def _is_right(case: Case, request: Request) -> bool:
    sent = document(wire_request(request))
    return any(is_same(sent, right) for right in case.right_requests())


def _comparable(request: Request) -> tuple[Json, ...]:
    headers = {name: value for name, value in request.headers.items() if name not in _IGNORED_HEADERS}
    query = json.dumps({name: _value(value) for name, value in request.query.items()}, sort_keys=True)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = _value(request.body) if isinstance(request.body, str) else request.body
    if media_type == _FORM and isinstance(body, Mapping):
        body = {name: _value(value) if isinstance(value, str) else value for name, value in body.items()}
    body = json.dumps(_plain(body), sort_keys=True)
    return (request.method, unquote(request.path), query, headers, body, media_type)


def _plain(value: Json) -> Json:
    """Return a value in which 1.0 is written as 1, and JSON in a text without its blanks: the same to JSON."""
    match value:
        case str() if value[:1] in ("{", "[") and (held := _value(value)) != value:
            return {"JSON in a text": held}
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_plain(one) for one in value]
        case Mapping():
            return {name: _plain(one) for name, one in value.items()}
    return value


def _value(text: Json) -> Json:
    """Return a value that is JSON in text decoded, so that writings of the same value are equal."""
    if isinstance(text, list):
        return [_value(item) for item in text]
    try:
        return json.loads(scalar_text(text))
    except ValueError:
        return text


def _pointers(episode: Episode) -> Iterator[str]:
    """Yield where the last feedback asks or edits."""
    for suggestion in episode.feedback[-1].suggestions if episode.feedback else ():
        yield from (placeholder.pointer for placeholder in suggestion.placeholders)
        yield from (operation.path for operation in suggestion.patch or () if operation.op != "test")
        yield from (f"{part}/{name}" for name in suggestion.parameters for part in ("/body", "/query"))


def _points_at(episode: Episode, places: list[str]) -> bool:
    return any(_is_within(pointer, place) for pointer in _pointers(episode) for place in places)


def _is_within(pointer: str, place: str) -> bool:
    if pointer.startswith("/headers/"):
        pointer, place = pointer.lower(), place.lower()
    return pointer == place or pointer.startswith(f"{place}/")


def _wrong_places(case: Case) -> Iterator[str]:
    """Yield where a question is about what was wrong: where the truth asks, and where its request differs."""
    yield from case.ask_at
    right = case.right_requests()
    if right and case.exchanges:
        sent = document(case.exchanges[0].request)
        found = (pointer for pointer, _ in differences(sent.document(), right[0].document(), ""))
        yield from (pointer for pointer in found if not is_ignored(pointer))


def is_ignored(pointer: str) -> bool:
    return pointer.removeprefix("/headers/") in _IGNORED_HEADERS


def differences(one: Json, other: Json, pointer: str) -> Iterator[tuple[str, Json]]:
    if same_json(one, other):
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            yield from differences(one.get(name), other.get(name), f"{pointer}/{escape(name)}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{pointer}/{index}")
    else:
        yield pointer, one
