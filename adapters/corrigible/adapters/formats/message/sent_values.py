"""Values of a request in a text that quotes nothing: `Namespace defalt is not found`, `[man]`, `ID: w-7`.

gRPC has no place for the place of a mistake, so that most servers put the value into the sentence, as it came.

Knows: one text and the values that were sent. Does not know: formats, descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.adapters.vocabulary import Path
from corrigible.rules.budget import spend
from corrigible.rules.pointer import to_pointer
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Json

_LONGEST: Final = 2000
_LONGEST_VALUE: Final = 200
_SHORTEST: Final = 2
_BEFORE: Final = r"(?<![\w./@-])"
_BEFORE_TOLD: Final = r"(?:(?<![\w./@-])|(?<=[\[('\"]/))"
"""Some servers keep names as paths and print them so: `(/a b)`."""
_AFTER: Final = r"(?![\w/@-]|\.\w)"
_SURROUNDINGS: Final = re.compile(r"(?i)\b(?:in|of|for|from|under|within|on|by) (?:the )?(?:\w+ ){0,2}['\"\[(]?$")
"""Before a value that only says where something is looked for."""
_PARTICULAR: Final = re.compile(r"(?i)\bwith (?:the )?(?:\w+ ){0,2}['\"\[(]?$")
_GIVEN: Final = re.compile(r"[\[(<:=]\s?$")
"""Before a value that a text gives in brackets or behind a colon."""
_VALUE_WORD: Final = re.compile(r"(?i)\b(?:values?|got|received|given|input|parsing|was)[ :]{1,2}['\"]?$")
"""Before a value that a text calls one: `invalid memory value 1024`."""
_SENTENCE_END: Final = re.compile(r"(?::[\w.-]{1,128})?[\])>'\"]*(?:[.!;,]?\s*$|[.;] )")
"""A tag or a port may have been added to the value: `No such image: redis:latest`."""
ABSENT: Final = re.compile(
    r"(?i)\b(?:not found|no such|does ?n.t exist|does not exist|do not exist|unknown|could ?n.t find|could not find"
    r"|cannot find|unable to find|non-?existent|not exist|no .{1,60} (?:found|with))\b"
)
"""What says that something does not exist."""
_NONE: Final = re.compile(r"(?i)(?:there is |error: )?no [a-z]")
_REFERENCES: Final = frozenset({"id", "ids", "name", "key", "slug", "uuid", "code", "ref", "number"})
"""Last words of names that refer to something."""
_ENDINGS: Final = frozenset({"id", "name", "key"})
"""Last words of names that a sentence leaves out: `Model smu` of `model_name`."""


class SentValue(NamedTuple):
    """A place of the request."""

    path: Path
    folded: Path
    value: Json
    text_place: str = ""
    """The place of the text that holds it, if it is inside JSON text."""

    @property
    def pointer(self) -> str:
        return self.text_place or to_pointer(self.path)


def fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


class _Mention(NamedTuple):
    place: str
    name: str
    value: str
    before: str
    after: str


def value_beside_name(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place whose value stands right behind its name; empty where there is none, or several."""
    mentions = [one for one in _mentions(message, sent) if _follows_name(one)]
    return _chosen(mentions)


def value_mentioned(message: str, sent: Sequence[SentValue], *, any_text: bool) -> str:
    """Return the only place whose value a text holds: with `any_text` anywhere, else in brackets or behind a colon."""
    mentions = _mentions(message, sent)
    given = [one for one in mentions if _GIVEN.search(one.before)]
    return _chosen(given) or (_chosen(mentions) if any_text and not given else "")


def values_told(message: str, sent: Sequence[SentValue], *, any_text: bool) -> list[str]:
    """Return the places whose values a text of an HTTP API repeats without quotes; several only beside their names.

    Only values count that are no words of the sentence: with a digit, a mark or a capital inside, or a word behind a
    colon that ends it: `No such image: redis`. Nothing is told where the text repeats a value of the path.
    """
    text = message[:_LONGEST]
    in_path = [str(one.value) for one in sent if not one.path]
    for value in filter(None, in_path):
        for match in re.finditer(f"{_BEFORE}{re.escape(value)}{_AFTER}", text):
            if not _SURROUNDINGS.search(text[: match.start()]):
                return []
    mentions = _mentions(message, sent)
    plain = [one for one in mentions if _WORD.fullmatch(one.value)]
    particular = [one for one in mentions if one not in plain]
    beside = list(dict.fromkeys(one.place for one in particular if _follows_name(one)))
    if 1 < len(beside) <= _MOST_TOLD and len({one.place for one in particular}) == len(beside):
        return beside
    given = [one for one in particular if _GIVEN.search(one.before.removesuffix("/")) or _VALUE_WORD.search(one.before)]
    ending = [one for one in plain if one.before.endswith(": ") and _SENTENCE_END.match(one.after)]
    chosen = (
        _chosen([one for one in particular if _follows_name(one)])
        or _chosen([*given, *ending])
        or (_chosen([one for one in particular if len(one.value) >= _DISTINCT]) if any_text else "")
    )
    return [chosen] if chosen else []


_WORD: Final = re.compile(r"[A-Za-z]?[a-z]+|[A-Z]+")
_MOST_TOLD: Final = 3
_DISTINCT: Final = 3


def names_in_message(message: str, sent: Sequence[SentValue]) -> list[str]:
    """Return the places whose names of several words a text has, apart or together: `Page size`, `PageSize`."""
    text = message[:_LONGEST]
    together = re.sub(r"[ _-]", "", text).lower()
    out: list[str] = []
    for one in sent:
        parts = words(one.path[-1]) if one.path and one.folded[-1] in together else ()
        if len(parts) > 1:
            spend()
            pattern = r"[ _-]?".join(map(re.escape, parts))
            if re.search(rf"(?i)(?<![\w.]){pattern}(?!\w)", text):
                out.append(one.pointer)
    return out


def reference_in_message(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place that refers to what a text says does not exist, by the thing that its name is about.

    `Room gren not found` and `no room gren` are about `room_id` where that holds `gren`, and so is `Room not found`
    where nothing in the path can be meant.
    """
    text = message[:_LONGEST]
    if not (ABSENT.search(text) or _NONE.match(text)):
        return ""
    by_value: set[str] = set()
    by_kind: set[str] = set()
    in_path = False
    for one in sent:
        if isinstance(one.value, bool) or not isinstance(one.value, str | int):
            continue
        if not one.path:
            in_path = True
            if _is_word_of(str(one.value), text):
                return ""
            continue
        parts = words(one.path[-1])
        stem = parts[:-1] if len(parts) > 1 and parts[-1] in _REFERENCES else ()
        spend()
        if not (stem or parts) or not re.search(
            rf"(?i)(?<![\w.]){r'[ _-]?'.join(map(re.escape, stem or parts))}s?(?!\w)", text
        ):
            continue
        if _is_word_of(str(one.value), text):
            by_value.add(one.pointer)
        elif stem:
            by_kind.add(one.pointer)
    chosen = by_value or (by_kind if not in_path and ABSENT.search(text) else set())
    return next(iter(chosen)) if len(chosen) == 1 else ""


def _is_word_of(value: str, text: str) -> bool:
    return 0 < len(value) <= _LONGEST_VALUE and re.search(f"{_BEFORE_TOLD}{re.escape(value)}{_AFTER}", text) is not None


def name_as_word(message: str, sent: Sequence[SentValue]) -> list[str]:
    """Return the places of whose names the most words are words of a text: `Minimum memory limit is 6MB`.

    All words of a name have to be there, the last one perhaps longer: `filter-lang` for `Invalid filter language`.
    """
    told = {word.lower() for word in re.findall(r"[A-Za-z]{3,40}", message[:_LONGEST])}
    places: dict[str, int] = {}
    for one in sent:
        lower = one.path[-1].lower() if one.path else ""
        parts = words(one.path[-1]) if any(word in lower for word in told) else ()
        name = parts[0] if len(parts) == 1 else ""
        is_general = name in _ANYTHING or (name in _ANY_HOLDER and isinstance(one.value, Mapping | list))
        if parts and not is_general and all(part in told for part in parts[:-1]) and _is_told(parts[-1], told, parts):
            places[one.pointer] = len(parts)
    most = max(places.values(), default=0)
    return [place for place, count in places.items() if count == most]


def _is_told(word: str, told: Collection[str], parts: Sequence[str]) -> bool:
    """Whether a text has the last word of a name, in the singular for the plural, or a longer one for its beginning."""
    if word in told or (word.endswith("s") and word[:-1] in told):
        return True
    return len(parts) > 1 and len(word) >= _SHORTEST_BEGINNING and any(one.startswith(word) for one in told)


_SHORTEST_BEGINNING: Final = 3


_ANYTHING: Final = frozenset(
    {
        *(
            "name",
            "type",
            "value",
            "values",
            "key",
            "code",
            "kind",
            "text",
            "request",
            "body",
            "query",
            "path",
            "header",
        ),
        *(
            "method",
            "json",
            "object",
            "string",
            "number",
            "integer",
            "boolean",
            "list",
            "array",
            "map",
            "item",
            "items",
        ),
        *("field", "fields", "param", "params", "parameter", "parameters", "property", "properties", "option", "input"),
        *(
            "error",
            "errors",
            "message",
            "result",
            "resource",
            "url",
            "status",
            "version",
            "api",
            "server",
            "not",
            "and",
        ),
    }
)
"""Words of messages about any request, whatever its members are called."""
_ANY_HOLDER: Final = frozenset({"data", "attributes", "config", "spec", "metadata", "options", "settings", "content"})


def _mentions(message: str, sent: Sequence[SentValue]) -> list[_Mention]:
    text = message[:_LONGEST]
    out: list[_Mention] = []
    for one in sent:
        value = one.value
        if not one.path or isinstance(value, bool) or not isinstance(value, str | int):
            continue
        written = str(value)
        if not _SHORTEST <= len(written) <= _LONGEST_VALUE or written not in text:
            continue
        spend()
        for match in re.finditer(f"{_BEFORE_TOLD}{re.escape(written)}{_AFTER}", text):
            before, after = text[: match.start()], text[match.end() :]
            out.append(_Mention(one.pointer, one.path[-1], written, before, after))
    return out


def _follows_name(one: _Mention) -> bool:
    """Whether the name of a place, or the beginning of it, stands right before its value."""
    parts = list(words(one.name))
    spellings = [parts]
    if len(parts) > 1 and parts[-1] in _ENDINGS:
        spellings.append(parts[:-1])
    elif len(parts) > 1:
        spellings.append(parts[-1:])
    for spelling in spellings:
        pattern = r"[ _-]?".join(map(re.escape, spelling))
        if re.search(rf"(?i)(?<!\w){pattern}(?: ?[:=])? ?['\"`\[(<]*$", one.before):
            return True
    return False


def _chosen(mentions: Sequence[_Mention]) -> str:
    """Return the one place that is meant, without those that only say where something was looked for."""
    if len({one.place for one in mentions}) > 1:
        particular = [one for one in mentions if _PARTICULAR.search(one.before)]
        mentions = particular or [one for one in mentions if not _SURROUNDINGS.search(one.before)]
    places = {one.place for one in mentions}
    return next(iter(places)) if len(places) == 1 else ""
