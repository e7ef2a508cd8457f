"""What speaks for each place of a request being the one that a refusal is about, as evidence that has a name.

Knows: one refusal, its candidate places, what breaks the description. Does not know: what a piece of evidence is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Final, NamedTuple

from corrigible.adapters.formats.pointers import steps
from corrigible.adapters.formats.statement import CODES_OF_STATES, code_said
from corrigible.rules.pointer import segments, value_at
from corrigible.rules.safety.decisive import READS, word_set
from corrigible.rules.safety.nearness import letters
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.names import near_names
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, Reading, read, says_where
from corrigible.rules.wordings.tokens import Mention, Tokens, name_words, tokens_of
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Exchange, Json, Protocol, Request

from .places import Place, is_wrapped

_SHORT: Final = 2
_LONG: Final = 6
"""Letters of a value that no text has by chance."""
COMMON: Final = word_set(
    "api body code format data error field id key message name request type value detail in to from for is by on a i of"
    " the and or not status at path url object string text list parameter property resource version user"
)
"""Names that a text may have without speaking of the member."""
_GROUPS: Final[Mapping[str, str]] = {
    "additionalProperties": "unknown",
    "unevaluatedProperties": "unknown",
    "required": "required",
    "dependentRequired": "required",
    "anyOf": "choice",
    "oneOf": "choice",
    "type": "type",
    "enum": "enum",
    "const": "enum",
}
_STATUSES: Final = frozenset({400, 401, 403, 404, 405, 406, 409, 410, 412, 413, 415, 422, 428})


class Refusal(NamedTuple):
    """One error of a refusal, and all that is known about its request."""

    exchange: Exchange
    error: Violation
    places: Sequence[Place]
    breaches: Sequence[SchemaViolation] = ()
    """Where the request breaks the description."""
    respelt: Sequence[SchemaViolation] = ()
    """Undeclared members that are allowed, and near to a declared name or level."""
    route: SchemaViolation | None = None
    """What is wrong with a path or method that the description does not have."""
    is_described: bool = False
    """Whether the description has the operation."""
    knows_operations: bool = True
    """Whether there is a description with any operations."""
    others: Sequence[str] = ()
    """Texts of the answer beside the message."""


class _Facts:
    """What holds for all places of a refusal."""

    def __init__(self, refusal: Refusal) -> None:
        error, places, request = refusal.error, refusal.places, refusal.exchange.request
        self.message, self.rest = tokens_of(error.message), Tokens("\n".join(refusal.others))
        self.reading = read(error.message)
        self.paths = paths_said(self.reading)
        self.mentions: dict[str, Mention] = {}
        self.found: dict[str, int] = {}
        """The positions of values in the message, by the key of the place, as those of names in `mentions`."""
        self.counts: dict[str, int] = {}
        """How many places have the name or the value."""
        for place in places:
            if place.name and not place.name.isdecimal() and (mention := self.message.mention(place.name)) is not None:
                self.mentions[place.key] = mention
            self.counts[place.name] = self.counts.get(place.name, 0) + 1
            if (text := _text(place.value)) and (at := self.message.find(text)) >= 0:
                self.found[place.key] = at
                self.counts[f"={text}"] = self.counts.get(f"={text}", 0) + 1
        spelled = letters(self.message.text)  # a name as it is goes before the one beside it in another number
        twins = {one.key: (one.pointer.rpartition("/")[0], name_words(one.name)) for one in places}
        as_it_is = {twins[one.key] for one in places if one.key in self.mentions and letters(one.name) in spelled}
        for place in places:
            if place.key in self.mentions and twins[place.key] in as_it_is and letters(place.name) not in spelled:
                del self.mentions[place.key]
        self.first_name = min((one.position for one in self.mentions.values()), default=-1)
        self.first_value, self.last_value = (of(self.found.values(), default=-1) for of in (min, max))
        self.breached: dict[str, list[SchemaViolation]] = {}
        self.near: set[str] = set()
        """Declared names that an undeclared one is near to."""
        for number, one in enumerate((*refusal.breaches, *refusal.respelt)):
            self.breached.setdefault(one.pointer, []).append(one)
            if one.siblings and number < _MOST_COMPARED:
                self.near.update(near_names(segments(one.pointer)[-1], one.siblings))
        self.beside = frozenset(islice(leaves(error.native, _OF_THE_WHOLE), _MOST_BESIDE))
        """Texts of members that stand beside the message in the same error."""
        sent = [one for one in places if not one.is_absent and one.part in ("body", "query") and one.depth]
        self.only = sent[0] if len(sent) == 1 else None
        there = [one for one in places if error.stated and not one.is_absent]
        self.misfits = {one.key for one in there if first_violation(one.value, error.stated, text=one.part != "body")}
        """What was sent and breaks what the answer states."""
        self.holders = frozenset(place.pointer.rpartition("/")[0] for place in places)
        self.around = frozenset(key for key, at in self.found.items() if says_where(self.message.low, at))
        """Those of the found values that say where something is, or of what."""
        self.has_blank = tells_of_nothing(self.message.text, request)
        """Whether the server looked for something under no name."""


def evidence(refusal: Refusal) -> list[list[str]]:
    """Return the names of the evidence for each place, in the order of the places."""
    facts = _Facts(refusal)
    out = [list(_of_place(place, refusal, facts)) for place in refusal.places]
    named = sum("named" in one for one in out)
    valued = sum("value" in one for one in out)
    is_nothing = not named and not valued
    is_missed = any(_MISSED in one for one in out)
    for place, one in zip(refusal.places, out, strict=True):
        if is_missed and _MISSED not in one:
            one.append("another is missed")
        if "named" in one:
            one.append("named alone" if named == 1 else "named among two" if named == 2 else "named among many")
        if "value" in one:
            count = "alone" if valued == 1 else "among several"
            one += (f"value {count}", f"value {count}, {_part(place, refusal)}")
        if is_nothing:
            one.append(f"nothing named: {_part(place, refusal)}{' absent' if place.is_absent else ''}")
        elif "named" not in one and "value" not in one:
            one.append("another is named")
    if not refusal.is_described:
        lacking = [place.is_absent and place.part in ("body", "query") and place.depth > 0 for place in refusal.places]
        out = [[f"{LACK}{name}" for name in one] if is_lack else one for is_lack, one in zip(lacking, out, strict=True)]
    return out


LACK: Final = "undeclared: "
"""Of what nothing declares and a text names other evidence counts than of what is declared."""
_MISSED: Final = f"is the field that is {Kind.MISSING}, absent"


def leaves(value: Json, left_out: Set[str] = frozenset()) -> Iterator[str]:
    """Yield the texts and numbers of a value, as texts, but for those of some members."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if str(name).lower().replace("_", "") not in left_out:
                yield from leaves(inner, left_out)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, left_out)
    elif text := _text(value):
        yield text


_MOST_BESIDE: Final = 60
_OF_THE_WHOLE: Final = frozenset({"top", "statuscode", "writtencode"})
"""Members that say the same of all errors of a refusal."""


def paths_said(reading: Reading, *kinds: Kind) -> list[list[str]]:
    """Return the paths that sentences of some kinds name fields by, of any kind by default, as names."""
    said = reading.of(*kinds) if kinds else reading.said
    fields = dict.fromkeys(field for one in said for field in one.slots.get("field", ()))
    paths = [steps(field) for field in islice(fields, _MOST_PATHS)]
    return [path for path in paths if path]


_MOST_PATHS: Final = 4
_MOST_COMPARED: Final = 16
"""Undeclared names that are compared with the declared ones."""


def _of_place(place: Place, refusal: Refusal, facts: _Facts) -> Iterator[str]:
    kind = "absent" if place.is_absent else "sent"
    yield f"{_part(place, refusal)} {kind}"
    yield f"{_part(place, refusal)} {kind}, {_status(refusal)}"
    yield f"{_part(place, refusal)}, depth {min(place.depth, 4)}"
    yield from _of_form(place, refusal, facts)
    yield from _of_request(place, refusal, facts)
    yield from _of_name(place, refusal, facts, kind)
    yield from _of_value(place, refusal, facts)
    yield from _of_wording(place, refusal, facts)
    yield from _of_description(place, refusal, facts, kind)


def _part(place: Place, refusal: Refusal) -> str:
    """Return the part of a request that a place is in. A call of gRPC has fields and no more."""
    is_field = place.part == "body" and refusal.exchange.request.protocol is Protocol.GRPC
    return "field" if is_field else place.part


def _status(refusal: Refusal) -> str:
    status, error = refusal.exchange.status, refusal.error
    if refusal.exchange.request.protocol is Protocol.GRPC:
        said = code_said(error.message) if error.type in CODES_OF_STATES else ""
        return said or error.type or "no code"
    return str(status) if status in _STATUSES else "5xx" if status >= 500 else "other"


def _of_form(place: Place, refusal: Refusal, facts: _Facts) -> Iterator[str]:
    """Yield what a format has told of the place."""
    error = refusal.error
    if place.key in facts.misfits:
        yield "breaks what is stated"
        if len(facts.misfits) == 1:
            yield "breaks it alone"
    if error.constraint == "required":
        yield f"a lack is told: {_there(place, facts)}"
    if error.constraint in _GROUPS and _GROUPS[error.constraint] == "unknown":
        is_unknown = any(_GROUPS.get(one.keyword) == "unknown" for one in facts.breached.get(place.pointer, ()))
        yield f"an unknown name is told: {'undeclared' if is_unknown else 'absent' if place.is_absent else 'declared'}"
    told = segments(error.pointer)
    if told and told[0] == place.part and len(told) == 1:
        yield "told part"
    elif len(told) > 1:
        if place.pointer == error.pointer:
            yield f"told, {'absent' if place.is_absent else 'sent'}"
            if error.constraint:
                yield f"told, {'absent' if place.is_absent else 'sent'}, {_GROUPS.get(error.constraint, 'value')}"
        else:
            yield from _of_path(place, told[1:], "told")
    elif isinstance(steps_told := error.native.get("told_place") or error.native.get("relative_place"), list):
        yield from _of_path(place, [str(one) for one in steps_told], "told")
    for path in facts.paths:
        yield from _of_path(place, path, "said")


def _there(place: Place, facts: _Facts) -> str:
    """Return whether a place is absent, blank or sent. An object that lacks declared members is not blank itself."""
    is_blank = place.value in _BLANK and place.pointer not in facts.holders
    return "absent" if place.is_absent else "blank" if is_blank else "sent"


def _of_path(place: Place, told: Sequence[str], how: str) -> Iterator[str]:
    """Yield how a place fits a path that a format has told, or a sentence said."""
    mine = [letters(one) for one in segments(place.pointer)[1:]]
    theirs = [letters(one) for one in told]
    shared = 0
    for one, other in zip(reversed(mine), reversed(theirs), strict=False):
        if one != other:
            break
        shared += 1
    if shared and mine[-1]:
        if shared == len(mine) == len(theirs):
            yield f"{how} whole"
        elif shared == len(theirs):
            yield f"{how} by all its names"
        else:
            yield f"{how} by its last {'name' if shared == 1 else 'names'}"
    elif mine and mine == theirs[: len(mine)]:
        yield f"{how} inside of it"
    elif theirs == mine[: len(theirs)]:
        yield f"{how} around it"
    elif theirs[-1] and theirs[-1] == letters(_text(place.value)):
        yield f"{how} as its value"
    elif how == "told":
        yield "another place is told"


_BLANK: Final[tuple[Json, ...]] = ("", None, [], {})


def _of_request(place: Place, refusal: Refusal, facts: _Facts) -> Iterator[str]:
    value = place.value
    if place.pointer == "/body":
        yield f"whole body, {'absent' if place.is_absent else 'text' if isinstance(value, str) else 'values'}"
    elif place.part == "headers":
        yield f"header {place.name}" if place.name in _HEADERS else "another header"
    elif isinstance(value, Mapping | list) and not place.is_absent:
        yield "holds others" if value else "empty"
        if any(one.startswith(f"{place.pointer}/") for one in facts.found):
            yield "holds a told value"
            if place.key in facts.mentions:
                yield "named, and holds a told value"
        if any(one.startswith(f"{place.pointer}/") for one in facts.mentions):
            yield "holds a named place"
    elif not place.is_absent:
        yield f"is {type(value).__name__}"
        if value in _BLANK:
            yield "empty"
        if isinstance(value, str) and " " in value:
            yield "has blanks"
        if isinstance(value, int | float) and not isinstance(value, bool) and value <= 0:
            yield "not positive"
    elif place.part in ("body", "query") and not refusal.is_described:
        yield from _of_missed(place, refusal.exchange.request)
    if place.name.isdecimal():
        yield "an element"
    if name_words(place.name)[-1:] in _IDENTIFIERS and place.depth:
        yield f"an identifier, {_status(refusal)}"
    if place.part == "path":
        is_last = not any(one.segment > place.segment for one in refusal.places)
        yield f"{'variable' if place.is_variable else 'fixed'} segment{', the last' if is_last else ''}"
        if is_last and place.key in facts.found:
            yield "the last segment is there"
        if is_last and _is_only_read(refusal.exchange):
            yield "nothing else was sent to what is not there"
    if facts.only is place:
        yield "all that was sent"


def _of_missed(place: Place, request: Request) -> Iterator[str]:
    """Yield what speaks for the object in which nothing declares a member that a text names."""
    around = place.pointer.rpartition("/")[0]
    held = value_at(request, around)
    if isinstance(held, Mapping) and place.depth:
        if near_names(place.name, [str(one) for one in islice(held, _MOST_COMPARED)]):
            yield "missed beside a near name"
        if is_wrapped(request, segments(around)[-1]):
            yield "missed in the only member"
        if around.rpartition("/")[2].isdecimal():
            yield "missed in an element"


def _is_only_read(exchange: Exchange) -> bool:
    """Whether a status says that nothing is there (RFC 9110, section 15.5.5), of a request that has but its path.

    A path of one segment names a collection, and no element of one.
    """
    request = exchange.request
    is_bare = request.body is None and not request.query and request.method in (*READS, "DELETE")
    return is_bare and exchange.status in (404, 410) and request.path.strip("/").count("/") > 0


_HEADERS: Final = frozenset({"content-type", "accept", "authorization", "if-match"})
_IDENTIFIERS: Final = (("id",), ("uuid",), ("key",), ("ref",), ("identifier",))


def _of_name(place: Place, refusal: Refusal, facts: _Facts, kind: str) -> Iterator[str]:
    if place.name in facts.beside and not place.name.isdecimal() and place.depth:
        yield "a member of the error has its name"
        yield f"a member of the error has its name, {kind}"
    if (text := _text(place.value)) and len(text) > 1 and text in facts.beside:
        yield "a member of the error has its value"
    mention = facts.mentions.get(place.key)
    if mention is not None:
        is_common = letters(place.name) in COMMON and not mention.is_marked
        if is_common:
            yield f"a common word is its name, {kind}"
        else:
            yield "named"
            yield f"named, {kind}, {_part(place, refusal)}"
            if not mention.is_whole:
                yield "named inside a longer name"
            if mention.is_quoted:
                yield "named in quotes"
            elif mention.is_marked:
                yield "named with a mark"
            if mention.position == facts.first_name:
                yield "named first"
            if facts.counts[place.name] == 1:
                yield "the only such name"
            if len(name_words(place.name)) > 1:
                yield "several words named"
            above = segments(place.pointer)[-2] if place.depth > 1 else ""
            if above and not above.isdecimal() and facts.message.mention(above) is not None:
                yield "named with what holds it"
    elif place.name and not place.name.isdecimal():
        share = facts.message.share(place.name)
        if share == 1:
            yield "all its words are there"
        elif share >= 0.5:
            yield "half of its words are there"
        elif facts.rest.words and facts.rest.mention(place.name) is not None:
            yield "named beside the message"
            yield f"named beside the message, {kind}"


def _of_value(place: Place, refusal: Refusal, facts: _Facts) -> Iterator[str]:
    text = _text(place.value)
    if not text:
        if facts.has_blank and not isinstance(place.value, Mapping | list | bool):
            yield f"nothing is looked for, {'absent' if place.is_absent else 'blank'}, {_part(place, refusal)}"
        elements = [_text(one) for one in place.value[:_MOST_PARTS]] if isinstance(place.value, list) else []
        if len(elements) > 1 and all(one and facts.message.find(one) >= 0 for one in elements):
            yield "all its elements are there"
        return
    if place.key in facts.found:
        is_quoted = text.lower() in facts.message.quoted
        is_distinct = len(text) >= _LONG or is_quoted or (len(text) > _SHORT and not text.isalpha())
        if len(text) == 1 and not is_quoted:
            yield "one sign is its value"
            return
        yield "value"
        yield f"value, {_part(place, refusal)}"
        yield f"value, {'distinct' if is_distinct else 'short'}"
        if is_quoted:
            yield "value in quotes"
        if facts.counts[f"={text}"] == 1:
            yield "the only such value"
        at = facts.found[place.key]
        if facts.message.is_part(at, len(text)):
            yield "value inside a longer one"
        if place.key in facts.around:
            yield "value says where"
            if len(facts.around) < len(facts.found):
                yield "value says where, another does not"
        order = "first" if at == facts.first_value else "last" if at == facts.last_value else "between"
        yield f"value {order}"
        if place.key in facts.mentions:
            yield "named, with its value"
            yield f"named, with its value {order}, {_status(refusal)}"
    elif any(one in text.lower() for one in facts.message.quoted if len(one) > 1):
        yield "a quoted text is part of its value"
    elif (parts := [one for one in text.translate(_APART).split() if len(one) > 2][:_MOST_PARTS]) and len(parts) > 1:
        told = [one for one in parts if facts.message.find(one) >= 0]
        if told:
            yield "all parts of its value are there" if len(told) == len(parts) else "a part of its value is there"
            if parts[-1] in told:
                yield "the last part of its value is there"
    elif len(text) > 3 and len(name_words(text)) > 1 and facts.message.share(text) == 1:
        yield "all words of its value are there"
    elif facts.rest.words and len(text) > 2 and facts.rest.find(text) >= 0:
        yield "value beside the message"


def _of_wording(place: Place, refusal: Refusal, facts: _Facts) -> Iterator[str]:
    """Yield what a sentence says of the place: its kind beside what the place is, and the slots that name it."""
    there = _there(place, facts)
    here = place.part if not place.depth and place.part != "body" else f"{_part(place, refusal)} {there}"
    for kind in dict.fromkeys(one.kind for one in facts.reading.said):
        yield f"says {kind}: {here}"
    name, text = letters(place.name), _text(place.value)
    for one in facts.reading.said:
        if name and not place.name.isdecimal():
            for slot in ("field", "thing", "instead"):
                if any(letters(told) == name for told in one.slots.get(slot, ())):
                    yield f"is the {slot} that is {one.kind}, {there}"
        if text and text in one.slots.get("value", ()):
            yield f"has the value that is {one.kind}"
        is_stated = bool(one.states) and not refusal.error.stated and not place.is_absent
        if is_stated and first_violation(place.value, one.states, text=place.part != "body"):
            yield "breaks what a sentence states"


def _of_description(place: Place, refusal: Refusal, facts: _Facts, kind: str) -> Iterator[str]:
    there = facts.breached.get(place.pointer, ()) if place.part != "path" else ()
    count = len(refusal.breaches)
    for one in there[:1]:
        group = _GROUPS.get(one.keyword, "value")
        yield f"breach: {group}"
        yield "the only breach" if count == 1 else "a breach among two" if count == 2 else "a breach among several"
        yield f"breach, {'named' if place.key in facts.mentions or place.key in facts.found else 'unnamed'}"
        if refusal.breaches and one is refusal.breaches[0]:
            yield "the first breach"
    if not there and count:
        yield "a breach is elsewhere"
        if any(one.pointer.startswith(f"{place.pointer}/") for one in refusal.breaches) and place.depth:
            yield "a breach below"
        elif any(place.pointer.startswith(f"{one.pointer}/") for one in refusal.breaches):
            yield "a breach around"
    if place.is_absent and place.name in facts.near:
        yield "near an undeclared name"
    if not refusal.knows_operations:
        yield f"undescribed: {_part(place, refusal)} {kind}"
        yield f"undescribed: {_part(place, refusal)}, {_status(refusal)}"
        if place.depth and (place.key in facts.mentions or place.key in facts.found):
            yield f"undescribed: {_part(place, refusal)} told"
    elif not refusal.is_described:
        yield f"no operation: {place.part}"
    if refusal.route is not None and place.part in ("path", "method"):
        yield f"route: {refusal.route.keyword}, {place.part}"


def _text(value: Json) -> str:
    """Return a single value as a text has it, empty for all else."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_VALUE else ""
    return scalar_text(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


_LONGEST_VALUE: Final = 200
_MOST_PARTS: Final = 12
_APART: Final = str.maketrans(dict.fromkeys("/.:;,#?&=()[]{}<>'\"`|", " "))


def tells_of_nothing(message: str, request: Request) -> bool:
    """Whether a text has what a language prints for no value, where no such text was sent."""
    printed = tokens_of(message).nothing()
    sent = [request.path, *leaves(dict(request.query)), *islice(leaves(request.body), _MOST_SENT)]
    return bool(printed) and not any(printed in one.lower() for one in sent)


_MOST_SENT: Final = 500
