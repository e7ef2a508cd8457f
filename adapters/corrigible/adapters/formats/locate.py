"""Where an error is: the place that the answer tells, found in the request and in what its operation declares.

Servers tell places by their last name only, under the name of a model (`User.Name`), of a wrapper (`data.name`) or of
an argument (`create.user.name`), in other spellings (`FirstName` for `first_name`), or only by quoting the value. A
place counts if it is the only one that fits; otherwise the error has none, and the whole request is judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from corrigible.adapters.formats.message.limits import choices_in
from corrigible.adapters.formats.message.member_names import find_subject
from corrigible.adapters.formats.message.sent_values import (
    SentValue,
    fold,
    name_as_word,
    names_in_message,
    reference_in_message,
    value_beside_name,
    value_mentioned,
    values_told,
)
from corrigible.adapters.vocabulary import ANY, NOTHING, Path, Vocabulary
from corrigible.rules.budget import remaining, spend
from corrigible.rules.pointer import MISSING, index_in, resolve, segments, to_pointer
from corrigible.rules.safety.json_text import repaired_json
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Protocol, Request

_MOST_PLACES: Final = 2000
_PLACES_A_STEP: Final = 4
_LETTERS_A_STEP: Final = 32
_MOST_COMPARED: Final = 60_000
"""Places that the names and values of errors are compared with; of further errors no place is looked for."""
_COMPARED_A_STEP: Final = 16
_SCANS: Final = 10
"""How often all places are looked at for one error, besides once for each name of its place and about each mark."""
_MARKS: Final = "'\"`[_"
"""Of quoted words, and in names that are no words of English."""
_PARTS: Final = ("body", "query")
_NOT_ABOUT_THE_REQUEST: Final = 401
_SERVER_ERROR: Final = 500
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
    r" (?:must|should|has to|has (?:an )?invalid|can't be|cannot be|is required|is too|is not) "
)
"""The beginning of a sentence about a member, perhaps one that was not sent: class-validator's "name must be a string",
and the names in words of Rails' full messages: "Start date can't be blank"."""
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_LONGEST: Final = 2000
_DEEPEST: Final = 40
"""Names of a place that is looked for: what has more was split at dots that are none of a place."""
_LONGEST_NAME: Final = 200
_MOST_QUOTED: Final = 16
_ABOUT_WHAT_IS_THERE: Final = (404, 409)
_ENOUGH: Final = 8000
"""Steps that have to be left for reading what an operation declares."""


def locate_errors(
    errors: Sequence[Violation],
    exchange: Exchange,
    declared: Callable[[], Vocabulary] = lambda: NOTHING,
    path_values: Collection[str] = (),
) -> list[Violation]:
    """Return errors with the places that they have in the request, without those that cannot be.

    `declared` gives what the operation declares; it is asked only where a place is in question. `path_values` are
    the values of the path's parameters.
    """
    request = exchange.request
    vocabulary: Vocabulary | None = None
    sent: list[SentValue] = []
    in_texts: list[SentValue] = []
    out: list[Violation] = []
    left = _MOST_COMPARED
    for error in errors:
        if _is_there(error, request):
            out.append(_at_its_place(error, request, NOTHING))
            continue
        if vocabulary is None:
            vocabulary = declared() if remaining() > _ENOUGH else NOTHING
            sent, in_texts = list(_places(request)), list(_places_in_texts(request))
            spend((len(sent) + len(in_texts)) // _PLACES_A_STEP)
        compared = (len(sent) + len(in_texts)) * (
            _SCANS + error.pointer.count("/") + sum(map(error.message.count, _MARKS)) // 2
        )
        left -= compared
        if left < 0:
            out.append(error._replace(pointer=""))
            continue
        spend(compared // _COMPARED_A_STEP)
        place = _by_path(error, request, vocabulary, sent) if error.pointer else ""
        about_request = exchange.status not in (0, _NOT_ABOUT_THE_REQUEST) and exchange.status < _SERVER_ERROR
        if not place and exchange.status == _SERVER_ERROR:
            place = _assigned(error.message, sent)
        if not place and about_request:
            every = [*sent, *(SentValue((), (), value) for value in path_values)]
            place = _by_text(error, request, vocabulary, every)
            any_text = exchange.status in _ABOUT_WHAT_IS_THERE
            if not place and request.protocol is Protocol.GRPC:
                place = value_mentioned(error.message, sent, any_text=any_text)
            elif not place and not (told := values_told(error.message, every, any_text=any_text)):
                worded = names_in_message(error.message, sent)
                place = worded[0] if len(worded) == 1 else reference_in_message(error.message, every)
            elif not place:
                *others, place = told
                out += [_at_its_place(error._replace(pointer=one), request, vocabulary) for one in others]
            error = _of_value(error, place, request)
            if not place and in_texts and (place := _in_a_text(error, request, in_texts)):
                error = error._replace(constraint="", stated={})  # they are about what the text holds
        out.append(_at_its_place(error.at(place, error.constraint, error.stated), request, vocabulary))
    return out


def suspected_place(message: str, request: Request) -> str:
    """Return the only place of the request whose text holds a quoted word, or whose name is a word of a message.

    That is no proof: it is good for a question where nothing else says what is wrong.
    """
    if not message or len(message) > _LONGEST:
        return ""
    sent = list(_places(request))
    spend(len(sent) // _PLACES_A_STEP)
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(message)][:_MOST_QUOTED]
    words = list(dict.fromkeys(one for one in quoted if len(one) >= _SHORTEST_WORD))
    short = [one for one in sent if isinstance(one.value, str) and len(one.value) <= _SHORT_TEXT]
    texts = list(dict.fromkeys(str(one.value) for one in short))
    spend(len(words) * len(texts) // _COMPARED_A_STEP)
    with_word = {text for text in texts if any(word in text and _has_word(word, text) for word in words)}
    holding = {to_pointer(one.path) for one in short if one.value in with_word}
    if holding:
        return next(iter(holding)) if len(holding) == 1 else ""
    named = sorted(name_as_word(message, sent), key=len)
    # `Width in Margins` is one place, told from the inside.
    return named[-1] if named and all(f"{named[-1]}/".startswith(f"{one}/") for one in named) else ""


def _has_word(word: str, text: str) -> bool:
    spend(_OF_PATTERN)
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


_OF_PATTERN: Final = 4
_SHORTEST_WORD: Final = 3
_SHORT_TEXT: Final = 500


def _at_its_place(error: Violation, request: Request, vocabulary: Vocabulary) -> Violation:
    """Fit an error to the value at its place; of a declared one that was not sent, say that it is missing."""
    part, _, names = error.pointer[1:].partition("/")
    if part not in _PARTS or not names:
        return error
    document = request.document()
    there = resolve(document, error.pointer)
    if there is not MISSING:
        return error._replace(stated=fit_keywords(error.stated, there)) if error.stated else error
    parent = resolve(document, error.pointer.rpartition("/")[0])
    is_absent = isinstance(parent, dict) and error.constraint in _OF_VALUES
    is_absent = is_absent and _is_declared(segments(error.pointer), vocabulary)
    return error._replace(constraint="required") if is_absent else error


_OF_VALUES: Final = frozenset({"", "type", "enum", "minLength", "minimum", "format", "pattern"})


def _of_value(error: Violation, place: str, request: Request) -> Violation:
    """Return an error about an unknown name as one about a value, where the name is the value of a place."""
    told = segments(error.pointer)[-1:]
    if error.constraint != "additionalProperties" or not place or segments(place)[-1:] == told:
        return error
    if resolve(request.document(), place) not in told:
        return error
    choices = choices_in(error.message)
    listed = _listed(error) or (list(choices.items) if choices is not None else [])
    return error._replace(constraint="enum", stated={"enum": listed} if listed else {})


def _listed(error: Violation) -> list[Json]:
    """Return the values or names that an error says are known."""
    names = error.stated.get("propertyNames", error.stated)
    listed = names.get("enum") if isinstance(names, dict) else None
    return listed if isinstance(listed, list) else []


def respell_pointer(pointer: str, request: Request) -> str:
    """Return a place with the names as the request spells them: ASP.NET writes `Name` for `name`."""
    part, *names = segments(pointer)
    document = request.document()
    if part not in _PARTS or not names or resolve(document, pointer) is not MISSING:
        return pointer
    found = _walked(document[part], names)
    if found is not None:
        return to_pointer([part, *found])
    around = _walked(document[part], names[:-1])
    parent = resolve(document, to_pointer([part, *around])) if around is not None else MISSING
    if around is None or not isinstance(parent, dict):
        return pointer
    name = names[-1]
    is_lower = not any(one[:1].isupper() for one in parent)
    return to_pointer([part, *around, name[:1].lower() + name[1:] if name[:1].isupper() and is_lower else name])


def _assigned(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only parameter of the query that a message repeats with its value: `limit=500 is not allowed`."""
    told = {(match[1], match[2]) for match in _ASSIGNED.finditer(message[:_LONGEST])}
    repeated = [
        one for one in sent if len(one.path) == 2 and one.path[0] == "query" and (one.path[1], one.value) in told
    ]
    return repeated[0].pointer if len(repeated) == 1 else ""


_ASSIGNED: Final = re.compile(r"(?<![\w.-])([A-Za-z_][\w.-]{0,79})=([^\s'\"=]{1,200})(?=[\s'\",;)]|[.!]?$)")


def _is_there(error: Violation, request: Request) -> bool:
    """Whether the told place is one of the request, and no other can be meant."""
    if not error.pointer:
        return False
    part, *names = segments(error.pointer)
    if part not in _PARTS or not names:
        return True
    there = resolve(request.document(), error.pointer)
    # A missing member that is told by its name alone may be one further inside, where the outermost is there.
    return there is not MISSING and (error.constraint != "required" or len(names) > 1 or _is_blank(there))


def _is_blank(value: Json) -> bool:
    return value in ("", None, [], {}) or (isinstance(value, str) and value.isspace())


def _places(request: Request) -> Iterator[SentValue]:
    """Yield the places of body and query, the outermost first."""
    return _walk([(("body",), request.body), (("query",), dict(request.query))])


def _places_in_texts(request: Request) -> Iterator[SentValue]:
    """Yield the places inside the parameters of the query that are sent as JSON text."""
    for name, text in request.query.items():
        if not isinstance(text, str) or text[:1] not in ("{", "["):
            continue
        spend(len(text) // _LETTERS_A_STEP)
        held = repaired_json(text)
        if isinstance(held, (dict, list)):
            place = to_pointer(("query", name))
            yield from (one._replace(text_place=place) for one in _walk([(("query", name), held)]))


def _in_a_text(error: Violation, request: Request, in_texts: Sequence[SentValue]) -> str:
    """Return the place of the only JSON text that an error can be about the inside of."""
    part, *told = segments(error.pointer) or [""]
    names = [name for one in told for name in re.split(r"[\[\]]+", one) if name]  # `sort[by]`
    place = _present(part, names, in_texts) if names else ""
    return place or _by_text(error, request, NOTHING, in_texts) or _by_object(error.message, in_texts)


def _by_object(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place that holds an object which a text repeats."""
    texts = [match[0] for match in _OBJECT.finditer(message[:_LONGEST])][:_MOST_QUOTED]
    objects = [repaired_json(text) for text in texts]
    places = {one.pointer for one in sent if isinstance(one.value, dict) and one.value in objects}
    return next(iter(places)) if len(places) == 1 else ""


def _walk(waiting: list[tuple[Path, Json]]) -> Iterator[SentValue]:
    """Yield the places inside some values, the outermost first."""
    count = 0
    while waiting and count < _MOST_PLACES:
        below: list[tuple[Path, Json]] = []
        for path, value in waiting:
            inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            folded = tuple(map(fold, path))
            for name, one in inner:
                here = (*path, str(name))
                count += 1
                yield SentValue(here, (*folded, fold(here[-1])), one)
                if count >= _MOST_PLACES:
                    return
                if isinstance(one, (dict, list)):
                    below.append((here, one))
        waiting = below


def _walked(value: Json, names: Sequence[str]) -> list[str] | None:
    """Return the names as a value spells them, None where they lead nowhere."""
    spelled: list[str] = []
    for name in names:
        if isinstance(value, dict):
            exact, folded = name if name in value else None, fold(name)
            near = [exact] if exact is not None else [one for one in value if fold(one) == folded]
            if len(near) != 1:
                return None
            value = value[near[0]]
            spelled.append(near[0])
        elif isinstance(value, list) and (index := index_in(name, value)) >= 0:
            value = value[index]
            spelled.append(name)
        else:
            return None
    return spelled


def _by_path(error: Violation, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> str:
    """Return the only place that the told one can be, empty where none or several can."""
    part, *names = segments(error.pointer)
    if len(names) > _DEEPEST or any(len(name) > _LONGEST_NAME for name in names):
        return ""
    missing = error.constraint == "required"
    for dropped in range(len(names)):
        tail = names[dropped:]
        if all(name.isdecimal() for name in tail):
            break
        place = _absent(part, tail, request, vocabulary) if missing else _present(part, tail, sent)
        if place is None:
            return ""
        if place:
            return place
        if missing and (place := _present(part, tail, sent)) and _is_blank(resolve(request.document(), place)):
            return place
        if _is_declared((part, names[dropped]), vocabulary):
            break  # no name of a model or wrapper
    return _as_told(error, part, names, request, vocabulary)


def _as_told(error: Violation, part: str, names: Sequence[str], request: Request, vocabulary: Vocabulary) -> str:
    """Return the told place of what is not in the request, if its parent is there and nothing contradicts it."""
    if resolve(request.document(), error.pointer) is not MISSING:
        return error.pointer
    if error.constraint == "additionalProperties" and vocabulary.places:
        return ""
    around = _walked(request.document()[part], names[:-1])
    if around is None:
        return "" if vocabulary.places else error.pointer
    parent = resolve(request.document(), to_pointer([part, *around]))
    if part == "body" and not isinstance(parent, dict | None) and not names[-1].isdecimal():
        return ""
    if error.constraint == "required" or not vocabulary.places or _is_declared((part, *around, names[-1]), vocabulary):
        return respell_pointer(error.pointer, request)
    return ""


def _present(part: str, tail: Sequence[str], sent: Sequence[SentValue]) -> str | None:
    """Return the only place of the request that ends in some names, None where there are several."""
    folded = tuple(map(fold, tail))
    for exact in (True, False):
        ending = [
            one
            for one in sent
            if (one.path if exact else one.folded)[-len(tail) :] == (tuple(tail) if exact else folded)
        ]
        whole = [one for one in ending if len(one.path) == len(tail) + 1]
        chosen = [one for one in whole if one.path[0] == part] or whole or ending
        if len(chosen) == 1:
            return chosen[0].pointer
        if len(chosen) > 1:
            return None
    return ""


def _absent(part: str, tail: Sequence[str], request: Request, vocabulary: Vocabulary) -> str | None:
    """Return the only declared place that ends in some names and is not sent; None if there are several."""
    folded = tuple(map(fold, tail))
    document = request.document()
    whole: list[str] = []
    inner: list[str] = []
    for path in vocabulary.places:
        if len(path) <= len(tail) or not _ends_in(path, folded) or path[0] not in _PARTS:
            continue
        for place in _expanded(path, document):
            (whole if len(path) == len(tail) + 1 else inner).append(place)
    chosen = [one for one in whole if one.startswith(f"/{part}/")] or whole or inner
    if len(chosen) > 1:
        return None
    return chosen[0] if chosen else ""


def _ends_in(path: Path, folded: Path) -> bool:
    return all(
        fold(one) == other or (one == ANY and other.isdecimal())
        for one, other in zip(path[-len(folded) :], folded, strict=True)
    )


def _expanded(path: Path, document: Mapping[str, Json]) -> Iterator[str]:
    """Yield the places that a declared one has in the request, where its last member is missing beside others."""
    waiting: list[tuple[list[str], Json]] = [([], document)]
    for name in path[:-1]:
        following: list[tuple[list[str], Json]] = []
        for walked, value in waiting:
            spend()
            if name == ANY and isinstance(value, dict):
                following += [([*walked, one], inner) for one, inner in value.items()]
            elif name == ANY and isinstance(value, list):
                following += [([*walked, str(index)], inner) for index, inner in enumerate(value)]
            elif isinstance(value, dict) and name in value:
                following.append(([*walked, name], value[name]))
        waiting = following[:_MOST_PLACES]
    for walked, value in waiting:
        if value is None and walked == ["body"]:
            value = {}
        if isinstance(value, dict) and path[-1] not in value and path[-1] != ANY:
            yield to_pointer([*walked, path[-1]])


def _is_declared(path: Sequence[str], vocabulary: Vocabulary) -> bool:
    folded = tuple(map(fold, path))
    return any(
        len(one) >= len(path)
        and all(mine == ANY or fold(mine) == other for mine, other in zip(one, folded, strict=False))
        for one in vocabulary.places
    )


def _by_text(error: Violation, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> str:
    """Return the only place that a text names, or whose value it quotes."""
    message = error.message
    if not message or len(message) > _LONGEST or "\n" in message:
        return ""
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(message)][:_MOST_QUOTED]
    listed = {str(value) for value in _listed(error)}
    quoted = [one for one in dict.fromkeys(quoted) if one not in listed]
    if request.protocol is Protocol.GRPC and (beside := value_beside_name(message, sent)):
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
        return worded[0]
    about = _OBLIGED.match(message)
    if about is not None and not _names_another(message[about.end() :], about["name"], sent):
        names = [name.replace(" ", "_") for name in about["name"].split(".")]
        there = _present("body", names, sent)
        place = _absent("body", names, request, vocabulary) if there == "" else there
        if place:
            return place
    if (headed := _HEADED.match(message)) is not None and len(places := _named(headed["name"], sent)) == 1:
        return next(iter(places))
    return _by_choices(error, vocabulary, sent)


def _names_another(rest: str, name: str, sent: Sequence[SentValue]) -> bool:
    """Whether a sentence about a member names another one: "end must be after start" is about two."""
    words = set(_WORD.findall(rest))
    return any(one.path and one.path[-1] in words and one.path[-1] != name for one in sent)


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


_NUMERIC: Final = re.compile(r"\s*[-+]?[\d.,]{1,40}\s*")
_OF_TEXT: Final[Mapping[str, str]] = {"minimum": "minLength", "maximum": "maxLength"}
_OF_LIST: Final[Mapping[str, str]] = {**_OF_TEXT, "minLength": "minItems", "maxLength": "maxItems"} | {
    "minimum": "minItems",
    "maximum": "maxItems",
}


def fit_keywords(stated: Mapping[str, Json], value: Json) -> Mapping[str, Json]:
    """Name limits as those of the value: `max` of a list limits its elements, whatever the validator calls it."""
    if isinstance(value, str) and not _NUMERIC.fullmatch(value):
        return {_OF_TEXT.get(keyword, keyword): limit for keyword, limit in stated.items()}
    if isinstance(value, list):
        return {_OF_LIST.get(keyword, keyword): limit for keyword, limit in stated.items()}
    return stated
