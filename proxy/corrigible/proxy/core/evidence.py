"""What speaks for an edit that no rule wrote: pieces of evidence, each with a name and the source that it comes from.

| source          | its evidence                                    |
|-----------------|-------------------------------------------------|
| the answer      | NAMED, QUOTED, SHOWN, STATED, WHOLE, UNPLACED   |
| the description | DECLARED                                        |
| the request     | NEAR, BROKEN                                    |
| live state      | SEEN                                            |

Two pieces of one source count once.

Knows: one refusal, the edits for it, the description. Does not know: how an edit was made, what may be sent unasked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from corrigible.adapters.formats.sent_places import SentValue, sent_places
from corrigible.adapters.formats.statement import has_word
from corrigible.adapters.reader.evidence import paths_said
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.pointer import MISSING, segments, to_pointer, value_at
from corrigible.rules.safety.decisive import word_set
from corrigible.rules.safety.equivalence import is_same_value
from corrigible.rules.safety.json_text import repaired_json
from corrigible.rules.safety.nearness import is_same, is_slip, letters, split_words
from corrigible.rules.schema_repair.json_schema import choices
from corrigible.rules.schema_repair.schema_violation import DeclaredPlace
from corrigible.rules.schema_repair.suggestion import ANSWER
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.rules.wordings.tokens import tokens_of
from corrigible.schema.document import scalar_text
from corrigible.schema.edit import after_edit
from corrigible.schema.exchange import Json, Protocol, Request
from corrigible.schema.word import EvidenceKind

from .api_profile import RefusalCase
from .request_at_fault import OF_UNKNOWN, may_be_about_names, plain_words, says_little


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


_OTHER_SOURCES: Final = {
    Evidence.DECLARED: Source.DESCRIPTION,
    Evidence.NEAR: Source.REQUEST,
    Evidence.BROKEN: Source.REQUEST,
    Evidence.SEEN: Source.STATE,
}


def source_of(evidence: Evidence) -> Source:
    """Return who a piece of evidence comes from."""
    return _OTHER_SOURCES.get(evidence, Source.ANSWER)


def is_enough(evidence: Iterable[Evidence], *, is_lossless: bool) -> bool:
    """Whether evidence is enough to send an edit: two sources, or the same value in the one form that is stated."""
    known = set(evidence)
    return len({source_of(one) for one in known}) > 1 or (is_lossless and Evidence.STATED in known)


class Change(NamedTuple):
    """One change of one value of the request."""

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
        return self.is_move and self.source.rpartition("/")[0] == self.place.rpartition("/")[0]

    @property
    def is_near(self) -> bool:
        """Whether a text is another spelling of what is sent instead, or a slip away."""
        if self.is_move or not isinstance(self.old, str) or not isinstance(self.new, str):
            return False
        return is_same(self.old, self.new) or is_slip(self.old, self.new) or is_same_value(self.old, self.new)

    @property
    def points_elsewhere(self) -> bool:
        """Whether a host, path or mail address is a slip away from what is sent instead: a near one is another one."""
        texts = (str(self.old), str(self.new))
        return not is_same(*texts) and any(not _OF_ADDRESSES.isdisjoint(one) for one in texts)

    @property
    def is_same_json(self) -> bool:
        """Whether a text that holds JSON is written anew with the same values."""
        if self.is_move or not isinstance(self.old, str) or not isinstance(self.new, str | list | Mapping):
            return False
        old = repaired_json(self.old)
        new = repaired_json(self.new) if isinstance(self.new, str) else self.new
        return old is not None and isinstance(new, list | Mapping) and is_same_value(old, new)

    def names(self) -> Iterator[str]:
        """Yield the names that a change is about, also those of members that it moves or makes."""
        for place in dict.fromkeys((self.source, self.place)):
            yield from islice((one for one in reversed(segments(place)[1:]) if not one.isdecimal()), 1)
        if isinstance(self.new, Mapping) and (self.is_move or not isinstance(self.old, Mapping)):
            yield from map(str, islice(self.new, MOST_TEXTS))


class Refused:
    """One refusal, and all the edits that are suggested for it."""

    def __init__(self, case: RefusalCase, results: Sequence[RuleResult]) -> None:
        self.case, self.request = case, case.request
        suggestions = (one for result in results for one in result.suggestions)
        self.edits = [one for one in suggestions if one.get("patch") and not is_choice(one)]
        self.edited = {
            str(op[end]) for one in self.edits for op in one["patch"] for end in ("path", "from") if end in op
        }

    def declared(self, place: str) -> DeclaredPlace:
        """Return what the description has for a place, and around it."""
        return self.case.declared_place(place)

    def schema(self, place: str) -> Mapping[str, Json]:
        """Return the schema of a place; empty where none is known."""
        return self.declared(place).schema

    def broken(self, request: Request, place: str = "") -> set[tuple[str, str]]:
        """Return where a request breaks the description of its operation, each place with the keyword."""
        operation = self.case.match.operation
        found = self.case.description.schema_violations(request, operation, place) if operation else ()
        return {(one.pointer, one.keyword) for one in found}

    def fits(self, suggestion: Mapping[str, Any]) -> bool:
        """Whether what was sent is what the operation takes that an edit calls instead, as far as that is described."""
        after, description = after_edit(suggestion, self.request), self.case.description
        if after is None:
            return True
        found = description.operations.find(after.method, after.path) if after.protocol is Protocol.HTTP else None
        operation = found[0] if found is not None else after.method.removeprefix("/")
        taken = {place[:2] for place in description.vocabulary(operation).places}
        sent = {("query", name) for name in after.query}
        if isinstance(after.body, Mapping) and any(len(one) > 1 and one[0] == "body" for one in taken):
            sent |= {("body", str(name)) for name in after.body}
        left = {one.keyword for one in description.schema_violations(after, operation)}
        return (not taken or sent <= taken) and left.isdisjoint(("required", *OF_UNKNOWN))

    @cached_property
    def after_all(self) -> Request:
        """The request with all edits."""
        after = self.request
        for one in self.edits:
            after = after_edit(one, after) or after
        return after

    @cached_property
    def text(self) -> str:
        """The texts and names of the answer."""
        told = islice(_texts(self.case.text), MOST_TEXTS)
        return "\n".join((*(one.written_text for one in self.case.errors[:1]), *told))[:_READ]

    @cached_property
    def words(self) -> str:
        return plain_words(self.text)

    def has(self, name: str) -> bool:
        """Whether the answer has a name as a word; a word of any answer counts where it is marked as a name."""
        if letters(name) in _COMMON:
            said = read(self.text).said
            is_field = any(letters(field) == letters(name) for one in said for field in one.slots.get("field", ()))
            is_missed = letters(name) not in _PARTICLES and any(one.kind is Kind.MISSING for one in said)
            return tokens_of(self.text).marks(name) or is_field or (is_missed and f" {letters(name)} " in self.words)
        spelled = " ".join(split_words(name)).lower()
        return any(one and f" {one} " in self.words for one in (letters(name), spelled))


class Edit:
    """One suggested edit of a refusal, with the evidence for it."""

    def __init__(self, refused: Refused, suggestion: Mapping[str, Any], result: RuleResult, error: Violation) -> None:
        self.refused, self.suggestion, self.error = refused, suggestion, error
        self._result = result
        self.is_flagged = bool(suggestion["safety"].get("changes_intent"))
        """Whether it says of itself that it changes what was asked."""
        self.changes = list(_changes(suggestion["patch"], refused.request))
        self.places = [place for one in self.changes for place in (one.source, one.place)]
        self.is_lossless = all(self._is_lossless(one) for one in self.changes)

    @cached_property
    def evidence(self) -> frozenset[Evidence]:
        """What speaks for the edit."""
        return frozenset(self._evidence())

    @property
    def is_enough(self) -> bool:
        return is_enough(self.evidence, is_lossless=self.is_lossless)

    def _evidence(self) -> Iterator[Evidence]:
        error, changes, text = self.error, self.changes, self.refused.text
        kind = self.suggestion["evidence"].get("kind")
        if self._result.used_live_state or kind == EvidenceKind.LOOKUP.value:
            yield Evidence.SEEN
            yield Evidence.WHOLE  # an answer that something is not there is what is looked up
        is_declared = self._is_declared(kind)
        if is_declared:
            yield Evidence.DECLARED
        if any(map(self._is_whole, changes)):
            yield Evidence.WHOLE
        if any(map(self._is_told, changes)):
            yield Evidence.NAMED
        if any(has_word(text, one) for change in changes for one in _written(change.old, change.new)):
            yield Evidence.QUOTED
        shown = [one for change in changes if not change.is_move for one in _written(change.new, change.old)]
        is_shown = any(has_word(text, one) for one in shown) or any(one.new in choices(error.stated) for one in changes)
        if is_shown:
            yield Evidence.SHOWN
        if any(one.place == "/body" and one.is_same_json for one in changes):
            yield Evidence.BROKEN
        is_here = any(error.pointer in (one.source, one.place, one.place.removesuffix("/0")) for one in changes)
        is_here = is_here and (not error.likely or error.likely[0].is_told)
        if is_here and (error.stated or error.constraint):
            yield Evidence.STATED
            if is_shown and all(one.is_near and not one.points_elsewhere for one in changes):
                yield Evidence.NEAR
        if is_declared and self._is_unplaced():
            yield Evidence.UNPLACED

    def _is_declared(self, kind: Json) -> bool:
        """Whether the description is what an edit was made from."""
        if self.refused.case.profile.described is None or kind != EvidenceKind.SPEC.value:
            return False
        if self._result.rule.id != ANSWER:
            return True
        moves = [one for one in self.changes if one.is_move]
        schema = self.refused.schema
        return bool(moves) and all(schema(one.place) and not schema(one.source) for one in moves)

    def _is_whole(self, change: Change) -> bool:
        """Whether a change is of what a status refuses, or of the form of a body that the answer says is another."""
        case, words = self.refused.case, self.refused.words
        if change.place in ("/path", "/method"):
            is_slash = isinstance(change.new, str) and change.new.rstrip("/") == str(change.old).rstrip("/")
            is_rpc = case.request.protocol is Protocol.GRPC
            return case.exchange.status in _OF_ROUTE or is_rpc or (is_slash and " slash " in words)
        if change.place.startswith("/headers/"):
            return True
        if change.is_same_json and (" json " in words or read(self.error.message).of(Kind.MALFORMED)):
            return True
        if change.place != "/body":
            return False
        return isinstance(change.old, str) or any(f" {word} " in words for word in _FORM_WORDS)

    def _is_told(self, change: Change) -> bool:
        """Whether the answer tells the place of a change, what holds it or what it holds, or has the name of it."""
        told = self.error.pointer if self.error.pointer.count("/") > 1 and not self.error.likely else ""
        places = (change.source, change.place)
        if told and any(is_within(told, one) for one in places if one.count("/") > 1):
            return True
        return any(map(self.refused.has, change.names()))

    def _is_unplaced(self) -> bool:
        """Whether an answer refuses the content and names none of it, and the edits mend all that is undescribed."""
        refused, error = self.refused, self.error
        if refused.case.exchange.status not in _OF_CONTENT or not refused.case.match.operation:
            return False
        if error.pointer.count("/") > 1 and not error.likely:
            return False
        message = error.message.strip() or refused.text  # an answer of which nothing is read may say anything
        if message.strip() and not (may_be_about_names(message) or says_little(message)):
            return False
        tokens = tokens_of(error.message)
        said = {letters(path[-1]) for path in paths_said(read(error.message)) if tokens.marks(path[-1])}
        if said and said.isdisjoint(letters(name) for one in self.changes for name in one.names()):
            return False  # a sentence names what no edit is about
        if any(_is_added(one) or _is_other_case(one) for one in self.changes):
            return False  # many servers read names in any case: the fault may be another one
        if any(self._speaks_of(one) for one in islice(sent_places(refused.request), MOST_TEXTS)):
            return False
        is_patch = refused.request.method == "PATCH"
        return all(is_patch and keyword == "required" for _, keyword in refused.broken(refused.after_all))

    def _speaks_of(self, sent: SentValue) -> bool:
        """Whether the answer has the name or the value of what was sent, and no edit is about that."""
        place, name, value = to_pointer(sent.path), sent.path[-1], sent.value
        if any(is_within(place, one) for one in self.refused.edited if one != "/body"):
            return False
        if not name.isdecimal() and letters(name) not in _COMMON and f" {letters(name)} " in self.refused.words:
            return True
        return isinstance(value, str) and len(value) >= _SHORTEST and has_word(self.refused.text, value)

    def _is_lossless(self, change: Change) -> bool:
        """Whether a change writes the same value, or a header as the answer says that it has to be."""
        if change.is_move:
            return True
        if change.old is MISSING:
            stated = self.error.stated
            is_only = stated.get("const") == change.new or stated.get("enum") == [change.new]
            return change.place.startswith("/headers/") and self.error.pointer == change.place and is_only
        if change.new is MISSING:
            return False
        return is_same_value(change.old, change.new) or change.is_same_json


def is_choice(suggestion: Mapping[str, Any]) -> bool:
    return (suggestion.get("group") or {}).get("relation") == "one_of"


def is_scalar(value: Json) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def is_within(one: str, other: str) -> bool:
    """Whether one of two places holds the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _changes(patch: Sequence[Mapping[str, Any]], request: Request) -> Iterator[Change]:
    for op in patch:
        if op["op"] != "test":
            place = str(op["path"])
            source = str(op.get("from", place))
            old = value_at(request, source)
            yield Change(place, source, old, old if op["op"] in ("move", "copy") else op.get("value", MISSING))


def _written(value: Json, other: Json) -> Iterator[str]:
    """Yield a value as an answer repeats it, of a path the segments that the other one has not."""
    if not is_scalar(value):
        return
    text = scalar_text(value)
    if text.startswith("/") and isinstance(other, str):
        yield from (unquote(one) for one in text.split("/") if one and one not in other.split("/"))
    else:
        yield text


def _is_added(change: Change) -> bool:
    """Whether a value is added that nobody sent, outside of the body: which operation it is may depend on it."""
    return change.old is MISSING and not change.place.startswith("/body/")


def _is_other_case(change: Change) -> bool:
    return change.is_rename and segments(change.source)[-1].lower() == segments(change.place)[-1].lower()


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
MOST_TEXTS: Final = 200
_SHORTEST: Final = 3
"""Letters of a value that a text can only have by repeating it."""
_OF_ROUTE: Final = frozenset({404, 405, 410, 501})
"""Statuses that refuse the path or the method."""
_OF_CONTENT: Final = frozenset({400, 422})
"""Statuses that refuse what was sent (RFC 9110 section 15.5.1 and 15.5.21)."""
_FORM_WORDS: Final = ("object", "array", "list", "map", "dict", "dictionary", "sequence", "mapping", "struct", "type")
_OF_ADDRESSES: Final = frozenset("@/.:")
_PARTICLES: Final = frozenset({"in", "to", "from", "for", "is", "by", "on", "error", "errors", "body", "request"})
_COMMON: Final = _PARTICLES | word_set("code format data field fields id key message name type value detail details")
"""Names that a text may have without speaking of the member."""
