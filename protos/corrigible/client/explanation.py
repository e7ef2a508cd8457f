"""Feedback as a few lines of text, for a model or a person.

Knows: feedback, and the rejected request if the caller has it. Does not know: policies, HTTP libraries.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from corrigible.schema import word
from corrigible.schema.document import BODILESS, MISSING, pointer_parts, to_pointer, value_at
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Feedback, PatchOperation, Placeholder, Retry, StepRequest, Suggestion, parse
from corrigible.schema.printable import printable, without_unseen

from .sent_request import KEY

LONGEST_VALUE: Final = 1000
"""Characters of a literal value: the text says where a longer one is cut."""
_LONGEST_TEXT: Final = 20_000
_LONGEST_SCHEMA: Final = 300
_DEEPEST: Final = 128
"""Parts of a place: no edit of a deeper one is ever applied."""
_MORE_THAN_A_NAME: Final = re.compile(r"[^\S ]|^ | $|  |: |-> |\\")
"""What in a name could be read as its end (a line end, blanks, the start of a value), or as an escape."""
KEY_POINTER: Final = "/headers/idempotency-key"
_HEADINGS: Final[Mapping[word.Relation, str]] = {
    word.Relation.ONE_OF: "Choose one correction:",
    word.Relation.ALL: "Correction, all of it together:",
    word.Relation.SEQUENCE: "Correction, in this order:",
}


class Words(Protocol):
    """What a text calls the places of a request, and what is done to it: its own words where none are given."""

    def place(self, pointer: str) -> str: ...

    def edits(self, suggestion: Suggestion) -> Iterator[str]:
        """Yield a line for each edit."""
        ...

    def steps(self, steps: Sequence[StepRequest]) -> Iterator[str]:
        """Yield what has to be sent first."""
        ...

    def question(self, placeholder: Placeholder) -> str:
        """Return what has to be given."""
        ...

    def parameter(self, name: str, value: Json) -> str:
        """Return what is known of an end."""
        ...


def explain(
    feedback: Feedback | Suggestion | Mapping[str, Json],
    request: Request | None = None,
    *,
    words: Words | None = None,
) -> str:
    """Return a short text: what is wrong, the literal edit (`path: old -> new`), what to ask, confirm or wait for.

    Of a suggestion alone, it is the edit. With the rejected request, the edit shows old values that the feedback does
    not repeat. `words` are those of a reader who does not see the request, such as a model with tools. The text has no
    invisible characters, and no message adds lines of its own.

    Raises `ReaderError` where a mapping is no readable feedback.
    """
    if isinstance(feedback, Suggestion):
        feedback = Feedback(type=word.FeedbackType.RECOVERY_GUIDANCE, message="", suggestions=(feedback,))
    parsed = feedback if isinstance(feedback, Feedback) else parse(feedback)
    text = without_unseen("\n".join(_lines(parsed, words or RequestWords(request))))
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}... (cut, {len(text)} characters)"


def _lines(feedback: Feedback, words: Words) -> Iterator[str]:
    suggestions = feedback.suggestions
    if feedback.message:
        yield one_line(feedback.message)
    if not suggestions:
        return
    if suggestions[0].terminal or feedback.recovery is word.Recovery.TERMINAL:
        yield from _terminal(suggestions[0], words)
        return
    for heading, members in _units(feedback, words):
        if heading:
            yield heading
        for number, suggestion in enumerate(members, 1):
            own = _heading(suggestion, feedback, words)
            yield from _suggestion(suggestion, own, words, f"  {number}. " if heading else "")
    yield from _resending(feedback)


def _units(feedback: Feedback, words: Words) -> Iterator[tuple[str, Sequence[Suggestion]]]:
    """Yield the suggestions in order, those of a group together and under a heading."""
    is_choice = feedback.type is word.FeedbackType.INTENT_DISAMBIGUATION
    if is_choice and not any(one.group for one in feedback.suggestions):
        yield "Choose one:", feedback.suggestions
        return
    groups: dict[Any, list[Suggestion]] = {}
    for index, suggestion in enumerate(feedback.suggestions):
        group = suggestion.group
        groups.setdefault((group.relation, group.id) if group else index, []).append(suggestion)
    is_alone = len(groups) == 1
    for key, members in groups.items():
        if isinstance(key, tuple) and len(members) > 1:
            place = "" if is_alone else _common_place(members, words)
            heading = "Choose one:" if is_choice and key[0] is word.Relation.ONE_OF else _HEADINGS[key[0]]
            yield heading.replace(":", f" for {place}:" if place else ":"), members
        else:
            yield "", members


def _common_place(members: Sequence[Suggestion], words: Words) -> str:
    """Return what the error is about that all of a group correct; empty if they do not say the same."""
    pointers = {one.evidence.pointer for one in members if one.evidence is not None and one.evidence.pointer}
    return words.place(pointers.pop()) if len(pointers) == 1 else ""


_OTHERS_ACT: Final[Mapping[Json, str]] = {
    "you": "Do not send it again. You or your user must act first",
    "somebody_else": "Do not send it again. Somebody else must act first",
}


def _terminal(suggestion: Suggestion, words: Words) -> Iterator[str]:
    action = suggestion.action if suggestion.action in word.BASE_ACTIONS else suggestion.base_action
    parameters = dict(suggestion.parameters)
    actor = parameters.pop("actor", None)
    if action == word.BaseAction.ALREADY_DONE:
        heading = "Already done, nothing is to be sent"
    elif action == word.BaseAction.ESCALATE:
        heading = _OTHERS_ACT.get(actor, "Do not send it again. A person must act first")
    else:
        heading = _OTHERS_ACT.get(actor, "No way out, no change of this request will be accepted")
    yield f"{heading}: {one_line(suggestion.message)}" if suggestion.message else f"{heading}."
    is_refused_call = "method" in parameters  # its path is nothing to read
    for name, value in parameters.items():
        yield f"  {f'path: {literal(value)}' if is_refused_call and name == 'path' else words.parameter(name, value)}"


def _suggestion(suggestion: Suggestion, heading: str, words: Words, number: str) -> Iterator[str]:
    message = one_line(suggestion.message or "")
    details = [*words.steps(suggestion.steps)]
    details += words.edits(suggestion)
    details += map(words.question, suggestion.placeholders)
    if number:
        conditions = _conditions(suggestion, words)
        only = f"Only if the user agrees ({conditions}): " if conditions else ""
        text = number + only + (message or (details.pop(0) if details else suggestion.action))
    else:
        text = f"{heading}: {message}" if message else f"{heading}:" if details else f"{heading}."
    yield text
    for detail in details:
        yield ("     " if number else "  ") + detail


def _heading(suggestion: Suggestion, feedback: Feedback, words: Words) -> str:
    if feedback.type is word.FeedbackType.CONFIDENCE_SIGNAL:
        return "For information"
    if suggestion.waits:
        return _wait(feedback.retry)
    if conditions := _conditions(suggestion, words):
        return f"Correction, only if the user agrees ({conditions})"
    verification = suggestion.verification
    if verification is None or verification.status is not word.VerificationStatus.VERIFIED:
        return "Correction"
    return _VERIFIED.get(verification.method, "Correction")


_VERIFIED: Final[Mapping[word.VerificationMethod | None, str]] = {
    word.VerificationMethod.DRY_RUN: "Correction (verified)",
    word.VerificationMethod.LOOKUP: "Correction (verified)",
    word.VerificationMethod.SCHEMA: "Correction (fits the API's description)",
}
"""The API itself has confirmed it, or only its description."""


def _conditions(suggestion: Suggestion, words: Words) -> str:
    """Return why somebody has to agree first; empty if nobody has to."""
    reasons = ["it changes what was asked for"] if suggestion.changes_intent else []
    if suggestion.loses:
        reasons.append(f"it loses {', '.join(map(words.place, suggestion.loses))}")
    if suggestion.requires_confirmation and not suggestion.changes_intent:
        reasons.append("it needs a confirmation")
    return "; ".join(reasons)


def _wait(retry: Retry | None) -> str:
    seconds = retry.after_seconds if retry is not None else None
    wait = f"Wait {seconds} s, then send" if seconds else "Send"
    same = " with the same idempotency key" if retry and retry.idempotency_key is word.IdempotencyKey.REUSE else ""
    most = f" (at most {retry.max_attempts} times)" if retry is not None and retry.max_attempts else ""
    return f"{wait} the same request again{same}{most}"


def _resending(feedback: Feedback) -> Iterator[str]:
    """Yield what else to heed when the corrected request is sent."""
    retry = feedback.retry
    if retry is None or all(one.waits for one in feedback.suggestions):
        return
    if retry.after_seconds:
        yield f"Wait {retry.after_seconds} s before you send it."
    edits = [one.patch for one in feedback.suggestions if KEY_POINTER in {edit.path.lower() for edit in one.patch}]
    if retry.idempotency_key is word.IdempotencyKey.NEW and all(map(_edits_more, edits)):
        yield "Send it with a new idempotency key."


def request_line(request: StepRequest | Request, longest: int = LONGEST_VALUE) -> str:
    """Return a request as one line."""
    query = f" query {literal(request.query, longest)}" if request.query else ""
    body = f" body {literal(request.body, longest)}" if request.body is not None else ""
    return f"{call_line(request)}{query}{body}"


def call_line(request: StepRequest | Request) -> str:
    """Return the method and the path of a request. A blank is no end of the path: it is sent as `%20`."""
    return f"{name_line(request.method)} {name_line(request.path.replace(' ', '%20'))}"


class RequestWords:
    """The words of the request document: methods, pointers. Values are cut that have more than `longest` characters."""

    def __init__(self, request: Request | None, longest: int = LONGEST_VALUE) -> None:
        self._request, self._longest = request, longest
        self._written: dict[int, str] = {}
        """Values as text, by their `id`: many edits may be of one large value."""

    def place(self, pointer: str) -> str:
        return name_line(pointer)

    def edits(self, suggestion: Suggestion) -> Iterator[str]:
        if suggestion.patch:
            yield from self._patch(suggestion.patch)
        elif not suggestion.waits:
            yield from self._parameters(suggestion.parameters)

    def steps(self, steps: Sequence[StepRequest]) -> Iterator[str]:
        yield from (f"first send {request_line(step, self._longest)}" for step in steps)

    def question(self, placeholder: Placeholder) -> str:
        return question(name_line(placeholder.pointer), placeholder.ask, placeholder.schema_)

    def parameter(self, name: str, value: Json) -> str:
        return f"{name_line(name)}: {literal(value)}"

    def _patch(self, patch: Sequence[PatchOperation]) -> Iterator[str]:
        document = self._request.document() if self._request is not None else MISSING
        tested = _Tested()
        for operation in patch:
            parts = pointer_parts(operation.path) or ()
            path = name_line(operation.path)
            match operation.op:
                case word.PatchVerb.TEST:
                    tested.put(parts, operation.value)
                case _ if path.lower() == KEY_POINTER and _edits_more(patch):  # no person decides about it
                    continue
                case word.PatchVerb.MOVE | word.PatchVerb.COPY:
                    yield f"{name_line(operation.from_ or '')}: {operation.op.value} to {path}"
                case word.PatchVerb.REMOVE:
                    yield f"{path}: {self._old(tested.at(parts, document))}-> (removed)"
                case _:
                    yield f"{path}: {self._old(tested.at(parts, document))}-> {self._literal(operation.value)}"

    def _parameters(self, parameters: Mapping[str, Json]) -> Iterator[str]:
        """Yield what is merged (SPEC.md 4.7): only the request tells whether into the body or the query."""
        request = self._request
        in_query = request is not None and request.body is None and request.method.upper() in BODILESS
        holder = request and (request.query if in_query else request.body)
        under = "" if request is None else "/query/" if in_query else "/body/"
        for name, value in parameters.items():
            old = holder[name] if isinstance(holder, Mapping) and name in holder else MISSING
            new = "(removed)" if value is None else self._literal(value)
            yield f"{name_line(under + name)}: {self._old(old)}-> {new}"

    def _old(self, value: Json) -> str:
        return "" if value is MISSING else f"{self._literal(value)} "

    def _literal(self, value: Json) -> str:
        if not isinstance(value, str | list | Mapping):
            return literal(value)
        if id(value) not in self._written:
            self._written[id(value)] = literal(value, self._longest)
        return self._written[id(value)]


class _Tested:
    """What the `test` operations of a patch state about old values. The work for a place is linear in its parts."""

    __slots__ = ("_inner", "_value")

    def __init__(self) -> None:
        self._value: Json = MISSING
        self._inner: dict[str, _Tested] = {}

    def put(self, parts: Sequence[str], value: Json) -> None:
        node = self
        for part in parts if len(parts) <= _DEEPEST else ():
            node = node._inner.setdefault(part, _Tested())
        if node is not self:
            node._value = value

    def at(self, parts: tuple[str, ...], document: Json) -> Json:
        """Return the value at a place: what a `test` of it or of what holds it states, else what was sent."""
        value, rest, node = document, parts, self
        for index, part in enumerate(parts, 1):
            if part not in node._inner:
                break
            node = node._inner[part]
            if node._value is not MISSING:
                value, rest = node._value, parts[index:]
        if rest[:1] == ("headers",):
            rest = (*rest[:1], *(name.lower() for name in rest[1:2]), *rest[2:])
        return value_at(value, rest)


def _edits_more(patch: Sequence[PatchOperation]) -> bool:
    """Whether a patch edits more than the key of idempotency."""
    return any(one.op is not word.PatchVerb.TEST and one.path.lower() != KEY_POINTER for one in patch)


def question(place: str, ask: word.Ask | None, schema: Mapping[str, Json] | None) -> str:
    """Return who gives a value for a place, and which."""
    return f"{place}: {'ask the user for a value' if ask is word.Ask.USER else 'give a value'}{_allowed(schema)}"


def _allowed(schema: Mapping[str, Json] | None) -> str:
    if not schema:
        return ""
    choices = schema.get("enum")
    if isinstance(choices, list):
        text = f", one of {', '.join(map(literal, choices[:_LONGEST_SCHEMA]))}"  # each has a character and more
    elif schema.keys() == {"not"} and isinstance(schema["not"], Mapping) and schema["not"].keys() == {"const"}:
        text = f" other than {literal(schema['not']['const'])}"
    elif schema.keys() == {"type"} and isinstance(schema["type"], str):
        text = f" ({one_line(schema['type'])})"
    else:
        text = f" of the schema {printable(json.dumps(schema, ensure_ascii=False))}"
    return text if len(text) <= _LONGEST_SCHEMA else f"{text[:_LONGEST_SCHEMA]}... (cut)"


def literal(value: Json, longest: int = LONGEST_VALUE) -> str:
    """Return a value as JSON: what is invisible in it is escaped, so that it stays the same value."""
    text = printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= longest else f"{text[:longest]}... (cut, {len(text)} characters)"


def one_line(text: str) -> str:
    """Return a text as one line that shows all its characters: the text of others adds no line."""
    return " ".join(without_unseen(" ".join(text.split())).split())


def name_line(text: str) -> str:
    """Return the name of a place as one line: what is invisible in it is escaped, since two names may differ in it.

    One that could be read as more than a name is in quotation marks.
    """
    return printable(json.dumps(text, ensure_ascii=False) if _MORE_THAN_A_NAME.search(text) else text)


_MOST: Final = 12
"""Lines of a log or of a model's text."""
Place = tuple[str | int, ...]
"""Names of members and indexes of elements."""


def difference(before: Request, after: Request, most: int = _MOST, longest: int = LONGEST_VALUE) -> list[str]:
    """Return a line `path: old -> new` for each value that differs, `most` of them, with values up to `longest`.

    A key of idempotency is not among them: no person decides about it.
    """
    empty = all(one is None or one == {} for one in (before.body, after.body))  # then it is all that may differ
    old, new = _document(before, empty=empty), _document(after, empty=empty)
    return changes(old, new, pointer, most=most, longest=longest)


def differing(before: Request, after: Request) -> Iterator[tuple[Json, Json]]:
    """Yield the old and the new value of each place that differs; None where there is none."""
    old, new = (dict(_leaves(_document(one, empty=True), ())) for one in (before, after))
    for at in {**old, **new}:
        if at not in old or at not in new or _differ(old[at], new[at]):
            yield old.get(at), new.get(at)


def changes(
    before: Mapping[str, Json],
    after: Mapping[str, Json],
    spelled: Callable[[Place], str],
    *,
    moves: bool = False,
    most: int = _MOST,
    longest: int = LONGEST_VALUE,
) -> list[str]:
    """Return such a line for each value of two objects that differs. `spelled` writes the place.

    With `moves`, a value that is gone from one place and alone new at another one was moved.
    """
    old, new = dict(_leaves(before, ())), dict(_leaves(after, ()))
    lines = list[str]()
    for at, to in _moved(old, new) if moves else ():
        lines.append(f"{spelled(at)}: move to {spelled(to)}")
        del old[at], new[to]
    lines += [
        f"{spelled(at)}: {literal(old[at], longest)} -> {literal(new[at], longest)}"
        for at in old
        if at in new and _differ(old[at], new[at])
    ]
    lines += [f"{spelled(at)}: {literal(old[at], longest)} -> (removed)" for at in old if at not in new]
    lines += [f"{spelled(at)}: -> {literal(new[at], longest)}" for at in new if at not in old]
    return lines if len(lines) <= most else [*lines[:most], f"and {len(lines) - most} more"]


def _moved(old: Mapping[Place, Json], new: Mapping[Place, Json]) -> list[tuple[Place, Place]]:
    gone, added = [at for at in old if at not in new], [at for at in new if at not in old]
    if len(gone) > _MOST:
        return []
    pairs = [(at, to) for at in gone for to in added if not _differ(old[at], new[to])]
    times = Counter(place for pair in pairs for place in pair)  # no place is both gone and added
    return [(at, to) for at, to in pairs if times[at] == times[to] == 1]


def pointer(place: Sequence[str | int]) -> str:
    return name_line(to_pointer(place))


def _differ(one: Json, other: Json) -> bool:
    return type(one) is not type(other) or bool(one != other)


def _leaves(value: Json, at: Place) -> Iterator[tuple[Place, Json]]:
    if isinstance(value, Mapping) and (value or not at):
        for name, inner in value.items():
            yield from _leaves(inner, (*at, str(name)))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*at, index))
    else:
        yield at, value


def _document(request: Request, *, empty: bool) -> dict[str, Json]:
    """Leave out an empty query, a body that was not sent or (unless `empty`) has no members, the idempotency key."""
    headers = {name: value for name, value in request.headers.items() if name != KEY}
    document = {**request.document(), "headers": headers}
    shown = {name: value for name, value in document.items() if value not in ({}, None)}
    return {**shown, "body": {}} if empty and request.body == {} else shown
