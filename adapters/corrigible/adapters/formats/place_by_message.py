"""The place that the text of an error names, or whose value it quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from corrigible.adapters.formats.message.go_duration import is_unread_duration
from corrigible.adapters.formats.message.member_names import find_subject
from corrigible.adapters.formats.message.names_told import ANYTHING, members_told, name_as_word, names_in_message
from corrigible.adapters.formats.message.sent_values import (
    FOR,
    SentValue,
    absent_subject,
    fold,
    value_beside_name,
    value_mentioned,
)
from corrigible.adapters.formats.message.value_kinds import place_by_kind
from corrigible.adapters.vocabulary import ANY, Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.pointer import to_pointer
from corrigible.rules.safety.decisive import words
from corrigible.rules.safety.json_text import repaired_json
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Protocol, Request

from .place_by_label import ABOUT_RIGHTS, place_like_label, place_of_identifier, place_of_reference
from .place_by_path import find_missing
from .sent_places import COMPARED_A_STEP, PLACES_A_STEP, find_sent, sent_places

_QUOTED: Final = re.compile(
    r"""(?<!\w)(?:'([^'\n]{1,200})'|"([^"\n]{1,200})"|`([^`\n]{1,200})`|“([^”\n]{1,200})”)(?!\w)"""
    r"|(?<![\w\]])\[([^\[\]\n,'\"]{1,200})\]"
)
"""Between quotes, or alone in brackets."""
_OBJECT: Final = re.compile(r"\{[^{}\n]{1,200}\}")
_HEADED: Final = re.compile(r"(?:[\w ]{1,40}: )?(?P<name>[A-Za-z_][\w.\[\]-]{0,79}): ")
"""A sentence under the name of what it is about: `Validation error: name: too short`."""
_DISTINCT: Final = re.compile(r"(?<![\w.'-])([A-Za-z][a-z0-9]*(?:_[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)(?![\w'-])")
"""Names that are no words of English: `flow_id`, `flowId`."""
_OBLIGED: Final = re.compile(
    r"(?:the )?['\"`]?(?P<name>[A-Za-z_$][\w$.-]{0,79}|[A-Z]\w{0,40}(?: [a-z]\w{0,40}){1,3})['\"`]?(?: field|"
    r" property| attribute| parameter| member| column| size| length)?(?: \([\w$.-]{1,80}\))?"
    r" (?:(?:must|should|has to|has (?:an )?invalid|can't be|cannot be|is required|is too|is not) "
    r"|(?:is (?:invalid|reserved|required|already taken)|has already been taken|(?:does not|doesn't) match"
    r"|already exists)\b)"
)
"""The beginning of a sentence about a member, perhaps one that was not sent: class-validator's "name must be a string",
and the names in words of Rails' full messages: "Start date can't be blank"."""
_BLAMED: Final = re.compile(
    r"(?i)(?:invalid|bad|wrong|illegal|malformed) (?:value for )?"
    r"(?:param(?:eter)?|property|field|argument|attribute|key):? ['\"`]?(?P<name>[A-Za-z_$][\w$.-]{0,79})['\"`]?[.!]?"
)
"""A sentence that names a member and no more: "Bad parameter: password", which may not have been sent."""
_INSIDE: Final = re.compile(
    r"(?i)(?:invalid|bad|wrong|malformed|illegal|incorrect|unsupported|unknown) (?:value (?:for|of) )?"
    r"['\"`]?(?P<name>[A-Za-z_][\w-]{0,60})['\"`]? (?:in|of|for|on|inside) (?:the |your |this )?"
    r"['\"`]?(?P<around>[A-Za-z_][\w-]{0,60})['\"`]?(?: object)?(?:[.!:;,]|$)"
)
"""A member that is told with the one around it: `Invalid blob in credential`."""
_DEMANDED: Final = re.compile(
    r"(?i)\b(?:must|please|needs? to|ha(?:s|ve) to) (?:also )?(?:provide|specify|supply|include|give|set|pass|send)"
    r"(?: an?| the| some| any| at least one| one or more)?(?: explicit)?"
    r" (?P<name>[A-Za-z][\w-]{1,40}(?: [a-z][\w-]{1,40}){0,2}?)(?: (?:to|for|in|of|when|if|that|which|with)\b.{0,200})?"
    r"[.!]?$"
)
"""A sentence that demands what is called without quotes: `Must specify users to add`."""
_DEMANDED_PATH: Final = re.compile(
    r"(?:^|[.;!] |[Pp]lease )(?:[Pp]rovide|[Ss]pecify|[Ss]upply|[Ii]nclude|[Ss]et|[Pp]ass|[Ss]end)"
    r" (?:an? |the )?['\"`]?(?P<path>[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){1,4})['\"`]?"
    r"(?= (?:in|to|for|with|or|when|if)\b|[.,;]|$)"
)
"""A sentence that demands a place by its path: `Provide owner.id in the request body`."""
_AT_LEAST_ONE: Final = re.compile(
    r"(?i)\b(?:at least (?:one|1|a single)|one or more) (?P<name>[a-z][\w-]{1,40})(?: [\w-]{1,40}){0,2}"
    r"(?: (?:is|are|was|were|must be|has to be))? (?:required|needed|missing|given|provided|specified|set|present)\b"
)
"""A sentence that wants something in what may be there and empty: `at least one label pair required`."""
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_LONGEST: Final = 2000
_MOST_QUOTED: Final = 16
_OF_PATTERN: Final = 4
_SHORTEST_WORD: Final = 3
_SHORT_TEXT: Final = 500
_ASSIGNED: Final = re.compile(r"(?<![\w.-])([A-Za-z_][\w.-]{0,79})=([^\s'\"=]{1,200})(?=[\s'\",;)]|[.!]?$)")


def suspected_place(message: str, request: Request) -> str:
    """Return the only place of the request whose text holds a quoted word, or whose name is a word of a message.

    That is no proof: it is good for a question where nothing else says what is wrong.
    """
    if not message or len(message) > _LONGEST or ABOUT_RIGHTS.search(message) is not None:
        return ""
    sent = list(sent_places(request))
    spend(len(sent) // PLACES_A_STEP)
    matches = list(_QUOTED.finditer(message))[:_MOST_QUOTED]
    if request.protocol is Protocol.GRPC:
        matches = [match for match in matches if FOR.search(message[: match.start()]) is None]
    quoted = [next(filter(None, match.groups())) for match in matches]
    quoted_words = list(dict.fromkeys(one for one in quoted if len(one) >= _SHORTEST_WORD))
    short = [one for one in sent if isinstance(one.value, str) and len(one.value) <= _SHORT_TEXT]
    texts = list(dict.fromkeys(str(one.value) for one in short))
    spend(len(quoted_words) * len(texts) // COMPARED_A_STEP)
    with_word = {text for text in texts if any(word in text and _has_word(word, text) for word in quoted_words)}
    holding = {to_pointer(one.path) for one in short if one.value in with_word}
    if holding:
        return next(iter(holding)) if len(holding) == 1 else ""
    named = sorted(name_as_word(message, sent), key=len)
    # `Width in Margins` is one place, told from the inside.
    if named and all(f"{named[-1]}/".startswith(f"{one}/") for one in named):
        inside = members_told(message, [one for one in sent if to_pointer(one.path[:-1]) == named[-1]])
        below = [one for one in short if to_pointer(one.path).startswith(f"{named[-1]}/")]
        repeated = {to_pointer(one.path) for one in below if _is_repeated(str(one.value), message)}
        inside = inside if len(inside) == 1 else list(repeated)
        return inside[0] if len(inside) == 1 else named[-1]
    return "" if named else place_like_label(message, sent) or place_by_kind(message, sent)


def _has_word(word: str, text: str) -> bool:
    spend(_OF_PATTERN)
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _is_repeated(value: str, message: str) -> bool:
    """Whether a message has a value as a word: what it says of a place may be about a value below it."""
    return len(value) >= _SHORTEST_WORD and value in message and _has_word(value, message)


def listed_values(error: Violation) -> list[Json]:
    """Return the values or names that an error says are known."""
    names = error.stated.get("propertyNames", error.stated)
    listed = names.get("enum") if isinstance(names, dict) else None
    return listed if isinstance(listed, list) else []


def assigned_parameter(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only parameter of the query that a message repeats with its value: `limit=500 is not allowed`."""
    told = {(match[1], match[2]) for match in _ASSIGNED.finditer(message[:_LONGEST])}
    repeated = [
        one for one in sent if len(one.path) == 2 and one.path[0] == "query" and (one.path[1], one.value) in told
    ]
    return repeated[0].pointer if len(repeated) == 1 else ""


def repeats_body(message: str, request: Request) -> bool:
    """Whether a text ends with the whole body behind a colon, where that is a word and no JSON object.

    Of a body of several lines it may be one.
    """
    body = request.body
    if not isinstance(body, str):
        return False
    if "\n" in body.strip() and len(body) <= _LONGEST:
        told = _AFTER_A_MARK.search(message[:_LONGEST])
        return told is not None and told["line"] in {line.strip() for line in body.splitlines()}
    if len(body) <= _LONGEST and _has_word_of_body(message[:_LONGEST], body):
        return True
    is_word = _SHORTEST_WORD <= len(body) <= _LONGEST_WORD and body.strip() == body
    return is_word and _AT_END.sub("", message[:_LONGEST]).endswith(f": {body}")


def _has_word_of_body(message: str, body: str) -> bool:
    """Whether a complaint has a name of a text that is no word of English, or says that a line was not read."""
    if _UNREAD.search(message) is not None:
        return True
    told = set(_NAME.findall(message)) if _OF_NAMES.search(message) is not None else set()
    return bool(told) and not told.isdisjoint(_NAME.findall(body)[:_MOST_QUOTED])


_UNREAD: Final = re.compile(r"(?i)\b(?:parse|parsing|malformed|invalid) .{0,20}\bline\b")
_OF_NAMES: Final = re.compile(r"(?i)\b(?:unknown|undeclared|undefined|invalid|unsupported|unrecogni[sz]ed|not found)\b")
_NAME: Final = re.compile(r"(?<![\w.-])[A-Za-z_][A-Za-z_-]*\d\w*(?![\w-])")
"""A name with a number in it."""
_LONGEST_WORD: Final = 200
_AT_END: Final = re.compile(r"[.!]$")
_AFTER_A_MARK: Final = re.compile(r"""(?:: | - |['"`])(?P<line>[^\s'"`][^'"`\n]{1,199}?)['"`]?[.!]?$""")


def place_by_object(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place that holds an object which a text repeats."""
    texts = [match[0] for match in _OBJECT.finditer(message[:_LONGEST])][:_MOST_QUOTED]
    objects = [repaired_json(text) for text in texts]
    places = {one.pointer for one in sent if isinstance(one.value, dict) and one.value in objects}
    return next(iter(places)) if len(places) == 1 else ""


def place_by_text(error: Violation, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> str:
    """Return the only place that a text names, or whose value it quotes."""
    message = error.message
    if not message or len(message) > _LONGEST or "\n" in message:
        return ""
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(message)][:_MOST_QUOTED]
    if is_unread_duration(message):
        quoted = quoted[-1:]  # the first is the unit
    listed = {str(value) for value in listed_values(error)}
    quoted = [one for one in dict.fromkeys(quoted) if one not in listed]
    if request.protocol is Protocol.GRPC and (mask := _mask_of(message, quoted, sent)):
        return mask
    if (identified := _identified(message, sent)) is not None:
        return identified
    if told := _told_from_inside(message, sent):
        return told
    if request.protocol is Protocol.GRPC and (
        beside := value_beside_name(message, sent) or absent_subject(message, sent)
    ):
        return beside
    if isinstance(request.body, str) and any(one in request.body for one in quoted):
        return ""  # it may be about the body, in which nothing can be looked for
    named = {place for one in quoted for place in _named(one, sent)}
    valued = {place for one in quoted for place in _valued(one, sent)}
    if len(named | valued) == 1:
        return next(iter(named | valued))
    if named or valued:
        return next(iter(valued)) if len(valued) == 1 and not named else ""
    if (first := find_subject(message).member) and first not in listed:
        places = _valued(first, sent) if len(first) > 1 else set()
        if len(places) == 1:
            return next(iter(places))
    distinct = {place for match in _DISTINCT.finditer(message) for place in _named(match[1], sent)}
    if len(distinct) == 1:
        return next(iter(distinct))
    if distinct:
        return ""
    if request.protocol is Protocol.GRPC and len(worded := names_in_message(message, sent)) == 1:
        inside = [one for one in sent if one.pointer.startswith(f"{worded[0]}/")]
        return value_mentioned(message, inside, any_text=True) or worded[0]
    about = _OBLIGED.match(message) or _BLAMED.fullmatch(message)
    if about is not None and not _names_another(message[about.end() :], about["name"], sent):
        names = [name.replace(" ", "_") for name in about["name"].split(".")]
        there = find_sent("body", names, sent)
        place = find_missing("body", names, request, vocabulary) if there == "" else there
        if place == "" and len(names) == 1:
            place = place_of_reference(about["name"], message, request, vocabulary, sent)
            place = place or place_of_identifier(about["name"], request, vocabulary, sent)
        if place:
            return place
    if (headed := _HEADED.match(message)) is not None and len(places := _named(headed["name"], sent)) == 1:
        return next(iter(places))
    chosen = _by_choices(error, vocabulary, sent) or _by_header(quoted, request)
    return chosen or _left_empty(message, sent) or _demanded(message, request, vocabulary)


def _told_from_inside(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place that a text names with the member around it, be it by words that any text may have."""
    told = _INSIDE.match(message)
    if told is None:
        return ""
    name, around = fold(told["name"]), fold(told["around"])
    places = {one.pointer for one in sent if len(one.folded) > 2 and (one.folded[-1], one.folded[-2]) == (name, around)}
    return next(iter(places)) if len(places) == 1 else ""


def _left_empty(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place that was sent empty and that a text wants at least one of."""
    told = _AT_LEAST_ONE.search(message)
    if told is None:
        return ""
    names = (fold(told["name"]), fold(told["name"]) + "s")
    places = {one.pointer for one in sent if one.path and one.value in ([], {}, "") and one.folded[-1] in names}
    return next(iter(places)) if len(places) == 1 else ""


def _demanded(message: str, request: Request, vocabulary: Vocabulary) -> str:
    """Return the only declared place that was not sent and that a text demands."""
    by_path = _DEMANDED_PATH.search(message)
    if by_path is not None and (place := find_missing("body", by_path["path"].split("."), request, vocabulary)):
        return place
    told = _DEMANDED.search(message)
    if told is None:
        return ""
    name = told["name"].replace(" ", "_")
    part = "query" if request.body is None else "body"
    found = [
        find_missing(part, [one], request, vocabulary)
        for one in dict.fromkeys((name, f"{name}s", name.removesuffix("s")))
    ]
    places = {place for place in found if place}
    return next(iter(places)) if len(places) == 1 and None not in found else ""


def place_by_code(code: str, sent: Sequence[SentValue]) -> str:
    """Return the only place whose name of several words a code says is wrong: `MalformedPolicyDocument`."""
    if not code or len(code) > _LONGEST_CODE:
        return ""
    told = [word for word in words(code) if word not in ("exception", "error")]
    blamed = told[1:] if told[:1] and told[0] in _BLAMING else told[:-1] if told and told[-1] in _BLAMING else []
    if len(blamed) < 2 or ANYTHING.issuperset(blamed):
        return ""
    spend(len(sent) // COMPARED_A_STEP)
    joined = "".join(blamed)
    places = {one.pointer for one in sent if one.path and one.folded[-1] == joined}
    return next(iter(places)) if len(places) == 1 else ""


_BLAMING: Final = frozenset({"invalid", "malformed", "missing", "unknown", "bad"})
_LONGEST_CODE: Final = 100


def _by_header(quoted: Sequence[str], request: Request) -> str:
    """Return the only header whose value a text quotes, among those that an API has of its own."""
    names = [name for name, value in request.headers.items() if value in quoted and name.lower() not in _OF_HTTP]
    return to_pointer(("headers", names[0])) if len(names) == 1 else ""


_OF_HTTP: Final = frozenset({"accept", "content-type", "user-agent", "prefer", "accept-language", "accept-encoding"})


def _mask_of(message: str, quoted: Sequence[str], sent: Sequence[SentValue]) -> str:
    """Return the only field mask that has a path which a text quotes and calls a field: AIP-134's `update_mask`."""
    if not quoted or _FIELD.search(message) is None:
        return ""
    names = {fold(one) for one in quoted}
    masks = [
        one.pointer
        for one in sent
        if one.path and one.path[-1].lower().endswith("mask") and not names.isdisjoint(map(fold, _paths_in(one.value)))
    ]
    return masks[0] if len(masks) == 1 else ""


_FIELD: Final = re.compile(r"(?i)\b(?:fields?|paths?|field ?paths?|masks?)\b")


def _paths_in(mask: Json) -> list[str]:
    return mask.split(",")[:_MOST_QUOTED] if isinstance(mask, str) else []


def _identified(message: str, sent: Sequence[SentValue]) -> str | None:
    """Return the place of what a text identifies by a value that was sent, and calls invalid; None where it does not.

    `schema definition with ID "a.json" is not valid` is about `definition` beside the `id`, not about the `id`.
    """
    told = _IDENTIFIED.search(message)
    if told is None:
        return None
    places = {one.path for one in sent if one.path and one.value == told["value"] and fold(one.path[-1]) in _ID_NAMES}
    if len(places) != 1:
        return None
    (path,) = places
    beside = [one.pointer for one in sent if one.path[:-1] == path[:-1] and fold(one.path[-1]) == fold(told["noun"])]
    return beside[0] if beside else to_pointer(path[:-1])


_IDENTIFIED: Final = re.compile(
    r"""(?i)\b(?P<noun>\w{1,60}) (?:with|of|for) (?:the )?(?:id|name|key|uuid|identifier)[:=]? ?['"`](?P<value>"""
    r"""[^'"`\n]{1,200})['"`] (?:is|are|was) (?:not valid|invalid|malformed|not well-?formed|incomplete|empty"""
    r"""|too (?:large|long|big))\b"""
)
_ID_NAMES: Final = frozenset({"id", "name", "key", "uuid", "identifier"})


def _names_another(rest: str, name: str, sent: Sequence[SentValue]) -> bool:
    """Whether a sentence about a member names another one: "end must be after start" is about two."""
    told = set(_WORD.findall(rest))
    return any(one.path and one.path[-1] in told and one.path[-1] != name for one in sent)


def _named(name: str, sent: Sequence[SentValue]) -> set[str]:
    """Return the places of a name of the request."""
    names = [part for part in re.split(r"[.\[\]]+", name) if part]
    if not names or all(one.isdecimal() for one in names):
        return set()
    return {one.pointer for one in sent if list(one.path[-len(names) :]) == names}


def _valued(value: str, sent: Sequence[SentValue]) -> set[str]:
    """Return the places of the request that hold a value as its text; of a parameter of the path, the path."""
    texts = {value, value[:-1]} if value.endswith(".") and len(value) > 1 else {value}
    texts.add(value[1:] if value.startswith("/") and len(value) > 1 else value)  # some servers keep names as paths
    return {
        one.pointer or "/path"
        for one in sent
        if isinstance(one.value, str | int | float) and not isinstance(one.value, bool) and str(one.value) in texts
    }


def _by_choices(error: Violation, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> str:
    """Return the only place of the request that is declared to take just the values that an error lists."""
    values = error.stated.get("enum")
    if not values:
        return ""
    wanted = {str(value) for value in values}
    paths = [path for path, allowed in vocabulary.choices if {str(value) for value in allowed} == wanted]
    matching = [
        one
        for one in sent
        if str(one.value) not in wanted
        and any(
            len(path) == len(one.path) and all(mine in (ANY, other) for mine, other in zip(path, one.path, strict=True))
            for path in paths
        )
    ]
    return matching[0].pointer if len(matching) == 1 else ""
