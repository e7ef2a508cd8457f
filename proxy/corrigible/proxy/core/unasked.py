"""What may be sent unasked: an edit that two independent sources agree about, by evidence that has a name.

An edit that no rule wrote is sent unasked only if the answer and the description speak for it, or the answer alone
states the only form that the value can have. Every other edit is kept, and has to be confirmed.

| source          | its evidence                                    |
|-----------------|-------------------------------------------------|
| the answer      | NAMED, QUOTED, SHOWN, STATED, WHOLE, UNPLACED   |
| the description | DECLARED                                        |
| the request     | NEAR, BROKEN                                    |
| live state      | SEEN                                            |

Two pieces of one source count once. A doubt outweighs all of them.

Knows: one refusal, the edits for it, the description. Does not know: how an edit was made, how an answer is written.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from corrigible.adapters.formats.message.sent_values import SentValue, has_word
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.language.rule import Rule
from corrigible.rules.pointer import MISSING, escape, segments, to_pointer, value_at
from corrigible.rules.safety.equivalence import is_same_value
from corrigible.rules.safety.json_text import repaired_json
from corrigible.rules.safety.nearness import is_same, is_slip, letters, split_words
from corrigible.rules.schema_repair.suggestion import ANSWER
from corrigible.rules.violation import Violation
from corrigible.schema.document import scalar_text
from corrigible.schema.edit import after_edit
from corrigible.schema.exchange import Json, Protocol
from corrigible.schema.word import EvidenceKind

from .about_what import UNKNOWN_MEMBER, may_be_about_names, plain_words, says_little
from .api_profile import RefusalCase
from .request_at_fault import OF_UNKNOWN


class Source(Enum):
    ANSWER = "the server's answer"
    DESCRIPTION = "the description"
    REQUEST = "what was sent"
    STATE = "what a look-up shows"


class Evidence(Enum):
    """One reason to believe that an edit is what the refusal asks for."""

    NAMED = "the answer names the member, where it stands or where it belongs"
    QUOTED = "the answer repeats the value that was sent"
    SHOWN = "the answer has the value that the edit writes"
    STATED = "the answer states at this place what the value has to be"
    WHOLE = "the answer refuses the route, the media type, or the form of the body"
    UNPLACED = "the answer refuses the content, names nothing, and the edit mends all that breaks the description"
    DECLARED = "the description has what the edit makes, and not what was sent"
    NEAR = "what was sent is a slip or another spelling of one value that the answer lists"
    BROKEN = "the body that was sent is no JSON, and only one text is near that is"
    SEEN = "a look-up shows it"


class Doubt(Enum):
    """One reason why an edit has to be confirmed, whatever speaks for it."""

    ELSEWHERE = "the answer tells another place"
    CONTRADICTED = "the answer shows the name that was sent as one that it knows, or the description has another form"
    RETYPED = "a number or truth value becomes a text, and the answer asks for no text there"
    RESTRUCTURED = "what holds a value changes, and only one source says so"
    ANOTHER_LEFT = "another value of the same kind stays as it is"
    WITH_ITS_VALUE = "a name is changed together with its value"


_OF: Final[Mapping[Evidence, Source]] = {
    Evidence.NAMED: Source.ANSWER,
    Evidence.QUOTED: Source.ANSWER,
    Evidence.SHOWN: Source.ANSWER,
    Evidence.STATED: Source.ANSWER,
    Evidence.WHOLE: Source.ANSWER,
    Evidence.UNPLACED: Source.ANSWER,
    Evidence.DECLARED: Source.DESCRIPTION,
    Evidence.NEAR: Source.REQUEST,
    Evidence.BROKEN: Source.REQUEST,
    Evidence.SEEN: Source.STATE,
}


def source_of(evidence: Evidence) -> Source:
    """Return who a piece of evidence comes from."""
    return _OF[evidence]


class Weighed(NamedTuple):
    """What speaks for an edit, and what against sending it unasked."""

    evidence: frozenset[Evidence]
    doubts: frozenset[Doubt]
    is_lossless: bool
    """The edit writes the same value in the one form that is asked for."""

    @property
    def is_sure(self) -> bool:
        sources = {_OF[one] for one in self.evidence}
        is_stated = Evidence.STATED in self.evidence and self.is_lossless
        return not self.doubts and (len(sources) > 1 or is_stated)


class _Change(NamedTuple):
    """One change of one value of the request."""

    verb: str
    place: str
    source: str
    """Of a moved value, its place before; else the same place."""
    old: Json
    new: Json

    @property
    def is_move(self) -> bool:
        return self.source != self.place

    @property
    def is_rename(self) -> bool:
        return self.is_move and _parent(self.source) == _parent(self.place)


class Unasked:
    """Judges the edits of one refusal that no rule wrote."""

    def __init__(self, case: RefusalCase, results: Sequence[RuleResult]) -> None:
        self._case, self._description = case, case.profile.described
        self._edits = [
            one for result in results for one in result.suggestions if one.get("patch") and not _is_choice(one)
        ]
        self._edited = {
            str(op[end]) for one in self._edits for op in one["patch"] for end in ("path", "from") if end in op
        }
        targets = [{str(op["path"]) for op in one["patch"] if op["op"] == "move"} for one in self._edits]
        written = [{str(op["path"]) for op in one["patch"] if op["op"] == "replace"} for one in self._edits]
        self._renamed = {
            place
            for number, places in enumerate(targets)
            for other, replaced in enumerate(written)
            for place in places & replaced
            if number != other
        }
        """Places to which one edit moves a value that another one writes anew."""
        self._text: str | None = None
        self._words = ""

    def gated(self, result: RuleResult, error: Violation) -> RuleResult:
        """Return a result whose edits have to be confirmed where they rest on one source only."""
        if isinstance(result.rule, Rule):
            return result  # its author has said what is sure, and has cases for it
        suggestions = [self._gated(one, result, error) for one in result.suggestions]
        if all(one is other for one, other in zip(suggestions, result.suggestions, strict=True)):
            return result
        return result.with_suggestions(suggestions)

    def _gated(self, suggestion: dict[str, Json], result: RuleResult, error: Violation) -> dict[str, Json]:
        if not _is_unasked(suggestion) or self.weighed(suggestion, result, error).is_sure:
            return suggestion
        return confirmed(suggestion)

    def weighed(self, suggestion: Mapping[str, Any], result: RuleResult, error: Violation) -> Weighed:
        """Return what speaks for an edit and what against sending it unasked."""
        changes = list(_changes(suggestion["patch"], self._case))
        evidence = set(self._evidence(suggestion, result, error, changes))
        is_lossless = all(_is_lossless(one, error) for one in changes)
        doubts = self._doubts(suggestion, error, changes, evidence, is_lossless)
        return Weighed(frozenset(evidence), frozenset(doubts), is_lossless)

    def _evidence(
        self, suggestion: Mapping[str, Any], result: RuleResult, error: Violation, changes: Sequence[_Change]
    ) -> Iterator[Evidence]:
        text = self._answer(error)
        if result.used_live_state or suggestion["evidence"].get("kind") == EvidenceKind.LOOKUP.value:
            yield Evidence.SEEN
            yield Evidence.WHOLE  # an answer that something is not there is what is looked up
        is_declared = self._is_declared(suggestion, result, changes)
        if is_declared:
            yield Evidence.DECLARED
        if any(self._is_whole(one, error) for one in changes):
            yield Evidence.WHOLE
        if any(self._is_told(one, error) for one in changes):
            yield Evidence.NAMED
        if any(has_word(text, one) for change in changes for one in _written(change.old, change.new)):
            yield Evidence.QUOTED
        shown = [one for change in changes if not change.is_move for one in _written(change.new, change.old)]
        is_shown = any(has_word(text, one) for one in shown)
        if is_shown:
            yield Evidence.SHOWN
        if any(one.place == "/body" and _is_same_json(one) for one in changes):
            yield Evidence.BROKEN
        is_stated = any(error.pointer in (one.source, one.place, one.place.removesuffix("/0")) for one in changes)
        is_stated = is_stated and (not error.likely or error.likely[0].is_told)
        if is_stated and (error.stated or error.constraint):
            yield Evidence.STATED
            if is_shown and all(map(_is_near, changes)):
                yield Evidence.NEAR
        if is_declared and self._is_unplaced(error, changes):
            yield Evidence.UNPLACED

    def _is_declared(self, suggestion: Mapping[str, Any], result: RuleResult, changes: Sequence[_Change]) -> bool:
        """Whether the description is what an edit was made from."""
        if self._description is None or suggestion["evidence"].get("kind") != EvidenceKind.SPEC.value:
            return False
        if result.rule.id != ANSWER:
            return True
        moves = [one for one in changes if one.is_move]
        return bool(moves) and all(self._schema(one.place) and not self._schema(one.source) for one in moves)

    def _is_whole(self, change: _Change, error: Violation) -> bool:
        """Whether a change is of what a status refuses, or of the form of a body that the answer says is another."""
        status, request, text = self._case.exchange.status, self._case.request, self._answer(error)
        if change.place in ("/path", "/method"):
            is_slash = isinstance(change.new, str) and change.new.rstrip("/") == str(change.old).rstrip("/")
            return status in _OF_ROUTE or request.protocol is Protocol.GRPC or (is_slash and " slash " in self._words)
        if change.place.startswith("/headers/"):
            return True
        if _is_same_json(change) and _OF_JSON.search(text) is not None:
            return True
        if change.place != "/body":
            return False
        return isinstance(change.old, str) or any(f" {word} " in self._words for word in _FORM_WORDS)

    def _is_told(self, change: _Change, error: Violation) -> bool:
        """Whether the answer tells the place of a change, what holds it or what it holds, or has the name of it."""
        told = error.pointer if error.pointer.count("/") > 1 and not error.likely else ""
        places = (change.source, change.place)
        is_place = bool(told) and (told in places or not self._is_word_of_form(error))
        if is_place and any(_is_within(told, one) for one in places if one.count("/") > 1):
            return True
        return any(self._is_named(name, error) for name, _ in _names(change))

    def _is_named(self, name: str, error: Violation) -> bool:
        """Whether the answer has a name as a word; a word of any answer counts where it is marked as a name."""
        text = self._answer(error)
        if letters(name) in _COMMON:
            plain = re.escape(name)
            marked = rf"['\"`\[./]{plain}['\"`\].:]|\b(?:{_CALLED}) {plain}\b|\b{plain} (?:{_CALLED})\b"
            return re.search(marked, text) is not None or (
                letters(name) not in _PARTICLES
                and f" {letters(name)} " in self._words
                and _LACKS.search(text) is not None
            )
        spelled = " ".join(split_words(name)).lower()
        return any(one and f" {one} " in self._words for one in (letters(name), spelled))

    def _is_word_of_form(self, error: Violation) -> bool:
        """Whether the place of an error is only a word of its text: "Invalid format" is no sentence about `format`."""
        name = segments(error.pointer)[-1] if error.pointer else ""
        return letters(name) in _COMMON and not self._is_named(name, error) and not error.constraint and not error.param

    def _is_unplaced(self, error: Violation, changes: Sequence[_Change]) -> bool:
        """Whether an answer refuses the content and names none of it, and the edits mend all that is undescribed."""
        description, request, operation = self._description, self._case.request, self._case.match.operation
        self._answer(error)
        if description is None or not operation or self._case.exchange.status not in _OF_CONTENT:
            return False
        if error.pointer.count("/") > 1 and not error.likely and not self._is_word_of_form(error):
            return False
        if error.message.strip() and not (may_be_about_names(error.message) or says_little(error.message)):
            return False
        if any(_is_added(one) or _is_other_case(one) for one in changes):
            return False  # many servers read names in any case: the fault may be another one
        if any(self._speaks_of(one) for one in islice(sent_places(request), _MOST_TEXTS)):
            return False
        after = request
        for one in self._edits:
            after = after_edit(one, after) or after
        left = description.schema_violations(after, operation)
        return all(one.keyword == "required" and request.method == "PATCH" for one in left)

    def _speaks_of(self, sent: SentValue) -> bool:
        """Whether the answer has the name or the value of what was sent, and no edit is about that."""
        place = to_pointer(sent.path)
        if any(_is_within(place, one) for one in self._edited if one != "/body"):
            return False
        name, value = sent.path[-1], sent.value
        if not name.isdecimal() and letters(name) not in _COMMON and f" {letters(name)} " in self._words:
            return True
        return isinstance(value, str) and len(value) >= _SHORTEST and has_word(self._text or "", value)

    def _schema(self, place: str) -> Mapping[str, Json]:
        if self._description is None or not self._case.match.operation:
            return {}
        return self._description.declared_place(self._case.request, self._case.match.operation, place).schema

    def _answer(self, error: Violation) -> str:
        """Return the texts and names of the answer."""
        if self._text is None:
            told = islice(_texts(self._case.text), _MOST_TEXTS)
            self._text = "\n".join((error.written_text, *told))[:_READ]
            self._words = plain_words(self._text)
        return self._text

    def _doubts(
        self,
        suggestion: Mapping[str, Any],
        error: Violation,
        changes: Sequence[_Change],
        evidence: set[Evidence],
        is_lossless: bool,
    ) -> Iterator[Doubt]:
        places = [place for one in changes for place in (one.source, one.place)]
        is_of_content = all(one.startswith(("/body/", "/query/")) for one in places)
        is_elsewhere = error.pointer.count("/") > 1 and not any(_is_within(error.pointer, one) for one in places)
        if is_of_content and is_elsewhere and not {Evidence.NAMED, Evidence.UNPLACED} & evidence:
            yield Doubt.ELSEWHERE
        if any(one.is_rename and self._is_known_to_the_server(one, error) for one in changes):
            yield Doubt.CONTRADICTED
        # What a server says of the form of a member that it names outweighs the form that the description has.
        is_form = is_lossless and {Evidence.STATED, Evidence.NAMED} <= evidence
        if Evidence.DECLARED not in evidence and not is_form and self._is_broken_by(suggestion, changes):
            yield Doubt.CONTRADICTED
        if any(_is_made_text(one) and not self._asks_for_text(one, error, evidence) for one in changes):
            yield Doubt.RETYPED
        is_told = {Evidence.STATED, Evidence.NAMED} <= evidence and error.pointer != "/body"
        is_seen = not evidence.isdisjoint({Evidence.DECLARED, Evidence.BROKEN})
        if any(map(_is_restructured, changes)) and not is_seen and not is_told:
            yield Doubt.RESTRUCTURED
        if any(self._is_strange_there(one) for one in changes):
            yield Doubt.RESTRUCTURED
        if any(map(self._leaves_another, changes)):
            yield Doubt.ANOTHER_LEFT
        if not self._renamed.isdisjoint(places):
            yield Doubt.WITH_ITS_VALUE

    def _is_known_to_the_server(self, change: _Change, error: Violation) -> bool:
        """Whether the answer speaks of the value under the name that was sent, and does not call it unknown.

        Or writes the name as no description does, where the spelling is all that an edit changes.
        """
        name, meant = segments(change.source)[-1], segments(change.place)[-1]
        text = self._answer(error)
        if error.constraint in OF_UNKNOWN or UNKNOWN_MEMBER.search(text) is not None:
            return False
        if re.search(rf"(?<!\w){re.escape(meant)}(?!\w)", text) is not None:
            return False
        if is_same(name, meant) and f" {letters(meant)} " in self._words:
            return True
        is_repeated = re.search(rf"{re.escape(name)}['\"]?\s*[:=]\s*['\"\[{{\d]", text) is not None
        return has_word(text, name) and not is_repeated

    def _is_strange_there(self, change: _Change) -> bool:
        """Whether an object is put into a list whose elements have none of its members, or a scalar into an object.

        What an API wants there is then made up of other members.
        """
        if change.is_move:
            return False
        if isinstance(change.new, list) and len(change.new) == 1 and change.new[0] is change.old:
            inner = self._schema(change.place).get("items")
            known = inner.get("properties") if isinstance(inner, Mapping) else None
            return (
                isinstance(change.old, Mapping) and isinstance(known, Mapping) and change.old.keys().isdisjoint(known)
            )
        if isinstance(change.new, Mapping) and _is_scalar(change.old) and change.old in change.new.values():
            required = self._schema(change.place).get("required")
            return isinstance(required, list) and not set(required) <= change.new.keys()
        return False

    def _is_broken_by(self, suggestion: Mapping[str, Any], changes: Sequence[_Change]) -> bool:
        """Whether the description has another form for what an edit writes, and none against what was sent."""
        description, request, operation = self._description, self._case.request, self._case.match.operation
        after = after_edit(suggestion, request)
        if description is None or not operation or after is None:
            return False
        for one in changes:
            if one.place.startswith(("/body", "/query")):
                before = {(v.pointer, v.keyword) for v in description.schema_violations(request, operation, one.place)}
                now = description.schema_violations(after, operation, one.place)
                if any((v.pointer, v.keyword) not in before for v in now):
                    return True
        return False

    def _asks_for_text(self, change: _Change, error: Violation, evidence: set[Evidence]) -> bool:
        """Whether the answer says that a value has to be a text, or of a number that this one is what is wrong."""
        text = self._answer(error)
        if error.pointer == change.place and (error.stated.get("type") == "string" or error.constraint == "type"):
            return True
        if not isinstance(change.old, bool) and {Evidence.NAMED, Evidence.QUOTED} <= evidence:
            return True
        is_meant = Evidence.NAMED in evidence or has_word(text, scalar_text(change.old))
        return is_meant and any(f" {word} " in self._words for word in _TEXT_WORDS)

    def _leaves_another(self, change: _Change) -> bool:
        """Whether an edit puts one value into another form, and leaves one that is likely in the same wrong one."""
        request = self._case.request
        if change.is_move or not _is_scalar(change.old) or not _is_scalar(change.new):
            return False
        *parent, last = segments(change.place)
        if last.isdecimal() and type(change.old) is not type(change.new):
            beside = value_at(request, to_pointer(parent))
            if isinstance(beside, list):
                others = [f"{to_pointer(parent)}/{index}" for index in range(len(beside))]
                return any(
                    type(value_at(request, one)) is type(change.old) and one not in self._edited for one in others
                )
        if not isinstance(change.old, str) or not isinstance(change.new, str) or not _is_encoded(change):
            return False
        form = self._form(change.place)
        return any(
            isinstance(one.value, str)
            and (place := to_pointer(one.path)) not in self._edited
            and self._form(place) == form
            for one in islice(sent_places(request), _MOST_TEXTS)
        )

    def _form(self, place: str) -> Json:
        schema = self._schema(place)
        return schema.get("format") or schema.get("contentEncoding")


def gated(case: RefusalCase, matched: Sequence[tuple[RuleResult, Violation]]) -> list[RuleResult]:
    """Return the results of one refusal, with a confirmation where an edit rests on one source only."""
    judge = Unasked(case, [result for result, _ in matched])
    return [judge.gated(result, error) for result, error in matched]


def confirmed(suggestion: Mapping[str, Json]) -> dict[str, Json]:
    """Return an edit that somebody has to agree to."""
    return {**suggestion, "safety": {**suggestion.get("safety", {}), "requires_confirmation": True}}


def _is_unasked(suggestion: Mapping[str, Any]) -> bool:
    """Whether a reader applies an edit without asking."""
    safety = suggestion.get("safety") or {}
    return (
        bool(suggestion.get("patch"))
        and not _is_choice(suggestion)
        and not suggestion.get("placeholders")
        and not safety.get("requires_confirmation")
        and not safety.get("changes_intent")
    )


def _is_choice(suggestion: Mapping[str, Any]) -> bool:
    return (suggestion.get("group") or {}).get("relation") == "one_of"


def _changes(patch: Sequence[Mapping[str, Any]], case: RefusalCase) -> Iterator[_Change]:
    for op in patch:
        if op["op"] == "test":
            continue
        place = str(op["path"])
        source = str(op.get("from", place))
        old = value_at(case.request, source)
        yield _Change(op["op"], place, source, old, old if op["op"] in ("move", "copy") else op.get("value", MISSING))


def _names(change: _Change) -> Iterator[tuple[str, str]]:
    """Yield the names that a change is about, each with its place: also those of members that it moves or makes."""
    for place in dict.fromkeys((change.source, change.place)):
        name = next((one for one in reversed(segments(place)[1:]) if not one.isdecimal()), "")
        if name:
            yield name, place
    if isinstance(change.new, Mapping) and (change.is_move or not isinstance(change.old, Mapping)):
        for name in islice(change.new, _MOST_TEXTS):
            yield str(name), f"{change.place}/{escape(str(name))}"


def _written(value: Json, other: Json) -> Iterator[str]:
    """Yield a value as an answer repeats it, of a path the segments that the other one has not."""
    if not _is_scalar(value):
        return
    text = scalar_text(value)
    if text.startswith("/") and isinstance(other, str):
        yield from (unquote(one) for one in text.split("/") if one and one not in other.split("/"))
    else:
        yield text


def _is_lossless(change: _Change, error: Violation) -> bool:
    """Whether a change writes the same value, or a header as the answer says that it has to be."""
    if change.is_move:
        return True
    if change.old is MISSING:
        is_only = error.stated.get("const") == change.new or error.stated.get("enum") == [change.new]
        return change.place.startswith("/headers/") and error.pointer == change.place and is_only
    return change.new is not MISSING and (
        is_same_value(change.old, change.new) or _is_same_json(change) or _is_same_month(change.old, change.new)
    )


def _is_same_month(old: Json, new: Json) -> bool:
    """Whether two texts are one month of one year, the second with two digits (RFC 3339, section 5.6)."""
    months = [_MONTH.fullmatch(one) for one in (old, new) if isinstance(one, str)]
    return len(months) == 2 and len({(one[1], int(one[2])) for one in months if one}) == 1 and None not in months


def _is_same_json(change: _Change) -> bool:
    """Whether a text that holds JSON is written anew with the same values."""
    if change.is_move or not isinstance(change.old, str) or not isinstance(change.new, str | list | Mapping):
        return False
    old = repaired_json(change.old)
    new = repaired_json(change.new) if isinstance(change.new, str) else change.new
    return old is not None and isinstance(new, list | Mapping) and is_same_value(old, new)


def _is_near(change: _Change) -> bool:
    """Whether a text is another spelling of what is sent instead, or a slip away."""
    if change.is_move or not isinstance(change.old, str) or not isinstance(change.new, str):
        return False
    return is_same(change.old, change.new) or is_slip(change.old, change.new) or is_same_value(change.old, change.new)


def _is_added(change: _Change) -> bool:
    """Whether a value is added that nobody sent, outside of the body: which operation it is may depend on it."""
    return change.old is MISSING and not change.place.startswith("/body/")


def _is_other_case(change: _Change) -> bool:
    return change.is_rename and segments(change.source)[-1].lower() == segments(change.place)[-1].lower()


def _is_made_text(change: _Change) -> bool:
    return not change.is_move and isinstance(change.old, int | float) and isinstance(change.new, str)


def _is_restructured(change: _Change) -> bool:
    """Whether a value is put into a list or object, or taken out of one, or moved to another level."""
    if change.is_move:
        return not change.is_rename
    kinds = [_shape(one) for one in (change.old, change.new) if one is not MISSING]
    return len(set(kinds)) > 1


def _shape(value: Json) -> str:
    return "list" if isinstance(value, list) else "object" if isinstance(value, Mapping) else "scalar"


def _is_encoded(change: _Change) -> bool:
    """Whether an edit writes the base64 of what was sent."""
    encoded = base64.b64encode(str(change.old).encode()).decode().rstrip("=")
    return str(change.new).translate(_URL_SAFE).rstrip("=") == encoded


_MONTH: Final = re.compile(r"(\d{4})-(\d{1,2})", re.ASCII)
_URL_SAFE: Final = str.maketrans("-_", "+/")


def _is_scalar(value: Json) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_within(one: str, other: str) -> bool:
    """Whether one of two places holds the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _parent(place: str) -> str:
    return place.rpartition("/")[0]


def _texts(value: Json) -> Iterator[str]:
    """Yield the names and texts of an answer."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


_READ: Final = 4000
"""Letters of an answer that are looked at."""
_MOST_TEXTS: Final = 200
_SHORTEST: Final = 3
"""Letters of a value that a text can only have by repeating it."""
_OF_ROUTE: Final = frozenset({404, 405, 410, 501})
"""Statuses that refuse the path or the method."""
_OF_CONTENT: Final = frozenset({400, 422})
"""Statuses that refuse what was sent (RFC 9110 section 15.5.1 and 15.5.21)."""
_FORM_WORDS: Final = ("object", "array", "list", "map", "dict", "dictionary", "sequence", "mapping", "struct", "type")
_OF_JSON: Final = re.compile(
    r"(?i)\bjson\b|\bexpecting (?:value|property|'|\")|\bunexpected (?:character|token|end)\b"
    r"|\bline \d{1,9},? column \d"
)
"""Words of parsers of JSON."""
_CALLED: Final = "field|member|property|parameter|param|attribute|argument|key|column|header"
_LACKS: Final = re.compile(
    r"(?i)\b(?:missing|required?|empty|blank|must|lacks?|needs?|not (?:given|present|set|provided))\b"
)
"""Words of complaints that name what they are about."""
_PARTICLES: Final = frozenset({"in", "to", "from", "for", "is", "by", "on", "error", "errors", "body", "request"})
_COMMON: Final = frozenset(
    {
        "body",
        "code",
        "format",
        "data",
        "error",
        "errors",
        "field",
        "fields",
        "id",
        "key",
        "message",
        "name",
        "request",
        "type",
    }
    | {"value", "detail", "details", "in", "to", "from", "for", "is", "by", "on"}
)
"""Names that a text may have without speaking of the member."""
_TEXT_WORDS: Final = ("string", "strings", "text", "str", "texts")
