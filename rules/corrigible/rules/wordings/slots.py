"""The typed slots of a row: which part of a text each takes, and which values that part gives."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

from corrigible.schema.exchange import Json

TABLES: Final[Mapping[str, Any]] = tomllib.loads(files(__package__).joinpath("tables.toml").read_text("utf-8"))
SLOTS: Final[Mapping[str, str]] = TABLES["slots"]
_QUOTED: Final = r"""(?:"+[^"]*"+|'+[^']*'+)"""
_NAME: Final = rf"(?:{_QUOTED}|[\w$@#/%~-]+(?:[.:\[\]/*]+[\w$@#/%~-]+)*\]?)"
_BARE: Final = r"""[^\s,;|"'()\[\]{}<>]+"""
_LATIN_BARE: Final = _BARE.replace("]+", "\u0080-\U0010ffff]+")
"""A bare value in a language without blanks between words ends where the letters of the language begin."""
_BRACKETED: Final = r"(?:\[[^\[\]]*\]|\([^()]*\)|\{[^{}]*\}|<[^<>]*>)"
_WORD: Final = rf"(?:{_QUOTED}|[^\s,;\"']+)"
_NUMBER: Final = r"[+-]?\d+(?:[.,_]\d+)*"
_ITEM: Final = re.compile(r"""(?P<quoted>"+[^"]*"+|'+[^']*'+)|[^\s,|"']+""")
_LATIN_ITEM: Final = re.compile(_ITEM.pattern.replace("']+", "'\u0080-\U0010ffff]+"))
_MOST_OPTIONS: Final = 300
_LONGEST_NUMBER: Final = 30
_LITERALS: Final[Mapping[str, Json]] = {
    **{"true": True, "false": False, "null": None},
    **{"True": True, "False": False, "None": None},
}

_DOUBLE: Final = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d\u300e\u300f\u300a\u300b\uff02"
_SINGLE: Final = "`\u00b4\u2018\u2019\u201a\u2039\u203a\uff07"
_QUOTES: Final = f"\"'\\{_DOUBLE}{_SINGLE}"
_SIGNS: Final = str.maketrans(
    {
        **dict.fromkeys(_DOUBLE, '"'),
        **dict.fromkeys(_SINGLE, "'"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\t\r\f\v\u00a0\u3000", " "),
        **{"ß": "s", "ø": "o", "đ": "d", "ł": "l", "æ": "a", "œ": "o", "\u3001": ","},
    }
)
_SIGNS_OF_ASCII: Final = {number: sign for number, sign in _SIGNS.items() if number < 128}


class _Folded(dict[int, str]):
    """What stands for a character: lower case, no accent, one sign for each kind of quotation mark."""

    def __missing__(self, number: int) -> str:
        lower = chr(number).lower()
        base = unicodedata.normalize("NFKD", lower)[:1]
        folded = _SIGNS.get(ord(lower[0])) or (base if base.isascii() and base.isprintable() else lower[:1])
        self[number] = folded
        return folded


_FOLDED: Final = _Folded()
_MOST_FOLDED: Final = 5000


def fold(text: str) -> str:
    """Return a text as patterns are compared with it, of the same length: lower case, no accents, plain quotes."""
    if len(_FOLDED) > _MOST_FOLDED:
        _FOLDED.clear()  # texts of callers may have any character
    folded = text.lower().translate(_SIGNS_OF_ASCII) if text.isascii() else text.translate(_FOLDED)
    return folded.replace('\\"', '""').replace("\\'", "''") if "\\" in folded else folded


def name_of(slot: str) -> str:
    """Return the name under which the values of a slot are given."""
    return {"fields": "field", "quoted": "value"}.get(slot, slot)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a language that patterns and slots are made of, folded."""

    parts: Mapping[str, str] = field(default_factory=dict)
    """Alternatives that rows share: `<must>` stands for `(?:must|should|has to)`."""
    joins: tuple[str, ...] = ()
    """Between the last two items of a list."""
    not_names: frozenset[str] = frozenset()
    """Words that may stand in the place of a name and are none. What `{thing}` gives does not begin with them."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    """The type of JSON Schema of each word for one."""
    forms: Mapping[str, str] = field(default_factory=dict)
    """The format of JSON Schema of each word for one."""
    has_spaces: bool = True
    """Whether the language writes blanks between words: then a row begins and ends where words do."""

    def pattern(self, slot: str, *, is_last: bool = False) -> str:
        """Return the expression of RE2 for what a slot takes; the last one of a row takes as much as there is."""
        bare = _BARE if self.has_spaces else _LATIN_BARE
        match slot:
            case "field" | "instead":
                return _NAME
            case "quoted":
                return rf"(?:{_QUOTED}|\^\S+\$)"
            case "value":
                return f"(?:{_QUOTED}|{_BRACKETED}|{bare})"
            case "thing":
                return f"(?:{_WORD} ){{0,4}}{'' if is_last else '?'}{_WORD}"
            case "limit":
                return f"(?:{'|'.join([_NUMBER, *_longest_first(self.numbers)])})"
            case "type" | "form":
                return f"(?:{'|'.join(_longest_first(self.types if slot == 'type' else self.forms))})"
        joins = "".join(rf",? *\b{join}\b|" if join.isascii() else f" *{join}|" for join in self.joins)
        if slot == "fields":
            return rf"(?:\[[^\[\]]*\]|{_NAME}(?:(?:{joins} *,) *{_NAME})*)"
        item = f"(?:{_QUOTED}|{bare})"
        return rf"(?:{_BRACKETED}|{item}(?:(?:{joins} *[,|/]) *{item})*)"

    def values(self, slot: str, written: str) -> tuple[str, ...]:
        """Return the values of what a slot took; none where that is no value of its kind."""
        folded = fold(written)
        match slot:
            case "field" | "instead":
                return self._names([written])
            case "fields":
                return self._names(self._items(written, folded)[0])
            case "options":
                return self._options(written, folded)
            case "limit":
                return (str(self.numbers.get(folded, written)),)
            case "type":
                return (self.types[folded],)
            case "form":
                return (self.forms[folded],)
            case "thing":
                words = written.split()
                while words and fold(words[0]) in self.not_names:
                    del words[0]
                return (_unquoted(" ".join(words)),) if words else ()
        return (_unquoted(written),)

    def _names(self, parts: Iterable[str]) -> tuple[str, ...]:
        """Return those parts that are names: what is quoted, and words that are none of the language's own."""
        names = ((part, _unquoted(part.rstrip(".:,"))) for part in parts)
        return tuple(name for part, name in names if name and (part[0] in _QUOTES or fold(name) not in self.not_names))

    def _options(self, written: str, folded: str) -> tuple[str, ...]:
        """Return the items of a list; none where it is one word without quotes, which goes on with the sentence."""
        parts, is_closed = self._items(written, folded)
        items = [_unquoted(part.rstrip(".:;?!")) for part in parts]
        if len(items) == 1 and is_closed:
            items = [item.strip() for item in re.split(r"[|,]", items[0], maxsplit=_MOST_OPTIONS)]
        return tuple(item for item in items if item) if is_closed or len(items) > 1 else ()

    def _items(self, written: str, folded: str) -> tuple[list[str], bool]:
        """Return the items of a list as they are written, and whether brackets or quotes show where it ends."""
        if is_closed := folded[:1] + folded[-1:] in ("[]", "()", "{}", "<>"):
            written, folded = written[1:-1], folded[1:-1]
        items: list[str] = []
        for part in (_ITEM if self.has_spaces else _LATIN_ITEM).finditer(folded):
            if len(items) == _MOST_OPTIONS:
                break
            if part["quoted"] or part[0] not in self.joins:
                items.append(written[part.start() : part.end()])
                is_closed = is_closed or part["quoted"] is not None
        return items, is_closed


def stated(keyword: str, slot: str, values: Sequence[str]) -> Json:
    """Return what a keyword of JSON Schema is by the values of a slot, None where it cannot be that."""
    if not values:
        return None
    match slot:
        case "limit":
            return number_of(values[0])
        case "options":
            is_mark = len(values) == 1 and not any(map(str.isalnum, values[0]))  # a part of a value: "expected `-`"
            return None if is_mark else [_scalar(one) for one in values]
        case "type":
            return values[0] if len(values) == 1 else list(values)
    if keyword == "pattern" and len(values[0]) > 2 and values[0][0] == values[0][-1] == "/":
        return values[0][1:-1]
    return _scalar(values[0]) if keyword == "const" else values[0]


def number_of(written: str) -> int | float | None:
    """Return the number that a text writes, with commas between thousands or without."""
    plain = written.replace("_", "")[:_LONGEST_NUMBER]
    if re.fullmatch(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain):
        plain = plain.replace(",", "")
    if re.fullmatch(r"[+-]?\d+", plain):
        return int(plain)
    return float(plain) if re.fullmatch(r"[+-]?\d+\.\d+", plain) else None


def _scalar(written: str) -> Json:
    """Return a value of JSON; a text such as `007` or `1,5` stays one."""
    if written in _LITERALS:
        return _LITERALS[written]
    is_number = re.fullmatch(r"-?(?:0|[1-9]\d*)(?:\.\d+)?", written[:_LONGEST_NUMBER])
    return number_of(written) if is_number else written


def _unquoted(written: str) -> str:
    return written.strip().strip(_QUOTES).strip()


def _longest_first(words: Iterable[str]) -> list[str]:
    return [re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word))] or [r"\A\z\A."]
