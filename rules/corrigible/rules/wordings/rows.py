"""Rows of a file: their form, their checks, and the languages that the project has."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

from corrigible.rules.errors import suggest_spelling
from corrigible.rules.language.yaml_source import Trail, read_source
from corrigible.rules.wordings.slots import GIVEN_AS, SLOTS, Words, fold
from corrigible.schema.exchange import Json

FOLDER: Final = Path(__file__).parent / "rows"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_T = TypeVar("_T")


class Kind(StrEnum):
    """What a sentence complains of."""

    MISSING = "missing"
    UNKNOWN = "unknown"
    VALUE = "value"
    MALFORMED = "malformed"
    MEDIA_TYPE = "media_type"
    ROUTE = "route"
    ABSENT = "absent"
    EXISTS = "exists"
    STATE = "state"
    IN_USE = "in_use"
    FIXED = "fixed"
    RIGHT = "right"
    CREDENTIALS = "credentials"
    FEATURE = "feature"
    LIMIT = "limit"
    PACE = "pace"
    STALE = "stale"
    TOGETHER = "together"
    APART = "apart"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Row:
    """One wording."""

    id: str
    """`en.missing.is-required`."""
    kind: Kind
    pattern: str
    """As written, folded."""
    unless: str
    """A sentence in which this is found does not say what the row says."""
    states: Mapping[str, Json]
    """Keywords of JSON Schema: a value, or `{slot}`."""
    examples: tuple[str, ...]
    gives: Mapping[str, tuple[str, ...]]
    """The slots of the first example."""
    counters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one language, or those that a pack brings."""

    language: str
    words: Words
    rows: tuple[Row, ...]
    has_spaces: bool = True
    """Whether the language writes blanks between words: then a row begins and ends where words do."""


_RANGES: Final[Mapping[str, str]] = {
    "latin": "a-z",
    "han": "\u4e00-\u9fff",
    "kana": "\u3041-\u30ff",
    "hangul": "\uac00-\ud7a3",
    "cyrillic": "\u0430-\u045f",
    "greek": "\u03b1-\u03c9",
    "arabic": "\u0620-\u06d3",
    "hebrew": "\u05d0-\u05ea",
    "thai": "\u0e01-\u0e5b",
    "devanagari": "\u0904-\u0939",
}
"""The letters of the scripts that a language may be written in, folded."""
_HEAD: Final = (
    "language",
    "script",
    "spaces",
    "common",
    "parts",
    "joins",
    "not_names",
    "numbers",
    "types",
    "forms",
    "rows",
)
_ROW: Final = ("id", "pattern", "unless", "states", "example", "gives", "counter")
_SLOT: Final = re.compile(r"\{([a-z]+)\}")
_STATED: Final = re.compile(r"\{([a-z]+)(?::\d)?\}")
_LITERAL: Final = re.compile(r"\\.|\[[^\]]*\]")
_PART: Final = re.compile(r"<([a-z_]+)>")
_ID: Final = re.compile(r"([a-z_]+)\.[a-z0-9-]+")
_TOP: Final = re.compile(r"^rows:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Language:
    """The head of a language's file: when the language is asked, and what its slots are made of."""

    name: str
    path: Path
    script: str
    common: frozenset[str]
    """Words of which a text in this language has one; with none every text in the script is asked."""
    words: Words
    has_spaces: bool

    def is_of(self, folded: str, words: Set[str]) -> bool:
        """Whether a text is asked in this language."""
        if self.common and self.script == "latin":
            return not self.common.isdisjoint(words)
        return _letters(self.script).search(folded) is not None and (
            not self.common or any(word in folded for word in self.common)
        )

    def rows(self) -> Rows:
        """Return the rows. Raises AuthoringError."""
        return _of_file(self.path, lambda data: build_rows(_list(data, "rows"), self.name, self.words, self.has_spaces))


@functools.cache
def _letters(script: str) -> re.Pattern[str]:
    return re.compile(f"[{_RANGES[script]}]")


@functools.cache
def languages() -> tuple[Language, ...]:
    """Return the languages of the project, without their rows. Raises AuthoringError."""
    return tuple(read_language(path) for path in sorted(FOLDER.glob("*.yaml")))


def english() -> Words:
    """Return the words of slots of English, which the rows of packs use."""
    return next(one.words for one in languages() if one.name == "en")


class WrongRow(ValueError):
    """A row or a head that cannot be used, and where in the data."""

    def __init__(self, trail: Trail, problem: str) -> None:
        super().__init__(problem)
        self.trail = trail


def read_language(path: Path) -> Language:
    """Read the head of a language's file. Raises AuthoringError."""
    return _of_file(path, lambda data: _head(data, path), head=True)


def _of_file(path: Path, build: Callable[[Any], _T], *, head: bool = False) -> _T:
    """Build from a file without its lines, which take time; with them where it is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
        top = _TOP.search(text) if head else None
        return build(yaml.load(text[: top.start()] if top else text, _LOADER))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, WrongRow):
        source = read_source(path)
        try:
            return build(source.data)
        except WrongRow as wrong:
            raise source.error(wrong.trail, str(wrong)) from None


def _head(data: Any, path: Path) -> Language:
    if not isinstance(data, dict):
        raise WrongRow((), "a file of wordings has members: language, script, rows")
    for name in data:
        if name not in _HEAD:
            raise WrongRow((name,), f'"{name}" is unknown here{suggest_spelling(name, _HEAD)}')
    name, script = data.get("language"), data.get("script", "latin")
    if name != path.stem:
        raise WrongRow(("language",), f'language: the name of the file, "{path.stem}"')
    if script not in _RANGES:
        raise WrongRow(("script",), f"script: one of {', '.join(_RANGES)}")
    written = data.get("parts") or {}
    if not isinstance(written, dict) or not all(isinstance(one, str) for one in written.values()):
        raise WrongRow(("parts",), "parts: names with alternatives, such as {must: must|should|has to}")
    parts: dict[str, str] = {}
    for name, alternatives in written.items():
        parts[name] = _pattern(alternatives, ("parts", name), parts)
    words = Words(
        parts=parts,
        joins=tuple(map(fold, _list(data, "joins"))),
        not_names=frozenset(map(fold, _list(data, "not_names"))),
        numbers=_numbers(data),
        types=_turned(data, "types", _TYPES),
        forms=_turned(data, "forms", ()),
        has_spaces=data.get("spaces", True) is not False,
    )
    common = frozenset(map(fold, _list(data, "common")))
    return Language(path.stem, path, script, common, words, data.get("spaces", True) is not False)


_TYPES: Final = ("string", "integer", "number", "boolean", "object", "array", "null")


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    value = data.get(name) or []
    if not isinstance(value, list) or (name != "rows" and not all(isinstance(one, str) for one in value)):
        raise WrongRow((name,), f"{name}: a list" + ("" if name == "rows" else " of words; quote no, yes, on and off"))
    return value


def _numbers(data: Mapping[str, Any]) -> dict[str, int]:
    numbers = data.get("numbers") or {}
    if not isinstance(numbers, dict) or not all(isinstance(one, int) for one in numbers.values()):
        raise WrongRow(("numbers",), "numbers: words with their numbers, such as {one: 1}")
    return {fold(str(word)): number for word, number in numbers.items()}


def _turned(data: Mapping[str, Any], name: str, known: Sequence[str]) -> dict[str, str]:
    """Return what each word stands for."""
    turned = {}
    members = data.get(name) or {}
    if not isinstance(members, dict):
        raise WrongRow((name,), f"{name}: a list of words for each {name[:-1]}")
    for target in members:
        if known and target not in known:
            raise WrongRow((name, target), f'"{target}" is no type of JSON{suggest_spelling(target, known)}')
        for word in _list(members, target):
            turned[fold(word)] = target
    return turned


def build_rows(data: Sequence[Any], language: str, words: Words, has_spaces: bool = True) -> Rows:
    """Return rows of data. Raises WrongRow, with the trail that begins with `rows`."""
    rows: dict[str, Row] = {}
    for number, one in enumerate(data):
        row = _row(one, ("rows", number), language, words)
        if row.id in rows:
            raise WrongRow(("rows", number, "id"), f'"{row.id}" stands twice')
        rows[row.id] = row
    return Rows(language, words, tuple(rows.values()), has_spaces)


def _row(data: Any, at: Trail, language: str, words: Words) -> Row:
    if not isinstance(data, dict):
        raise WrongRow(at, f"a row has members: {', '.join(_ROW)}")
    for name in data:
        if name not in _ROW:
            raise WrongRow((*at, name), f'"{name}" is unknown in a row{suggest_spelling(name, _ROW)}')
    for name in ("id", "pattern", "example", "counter"):
        if not data.get(name):
            raise WrongRow(at, f"a row needs {name}")
    match = _ID.fullmatch(str(data["id"]))
    if match is None or match[1] not in list(Kind):
        near = suggest_spelling(match[1], list(Kind)) if match else ""
        raise WrongRow(
            (*at, "id"), f"id: a kind and a name, such as missing.is-required{near}; kinds: {', '.join(Kind)}"
        )
    pattern = _pattern(data["pattern"], (*at, "pattern"), words.parts)
    unless = _pattern(data.get("unless", ""), (*at, "unless"), words.parts)
    slots = set(_SLOT.findall(pattern))
    states = data.get("states") or {}
    gives = data.get("gives") or {}
    for name, members in (("states", states), ("gives", gives)):
        if not isinstance(members, dict):
            raise WrongRow((*at, name), f"{name}: members with values")
    for keyword, value in states.items():
        slot = _STATED.fullmatch(value) if isinstance(value, str) else None
        if slot is not None and slot[1] not in slots:
            raise WrongRow((*at, "states", keyword), f"{value} is no slot of this row's pattern")
    for name in gives:
        if name not in slots and slots.isdisjoint(one for one, given in GIVEN_AS.items() if given == name):
            raise WrongRow((*at, "gives", name), f"{{{name}}} is no slot of this row's pattern")
    return Row(
        id=f"{language}.{data['id']}",
        kind=Kind(match[1]),
        pattern=pattern,
        unless=unless,
        states=states,
        examples=_texts(data["example"], (*at, "example")),
        gives={name: tuple(map(str, one if isinstance(one, list) else [one])) for name, one in gives.items()},
        counters=_texts(data["counter"], (*at, "counter")),
    )


def _pattern(written: Any, at: Trail, parts: Mapping[str, str]) -> str:
    """Return a pattern with its parts written out and its letters folded as texts are."""
    if isinstance(written, list) and all(isinstance(one, str) for one in written):
        written = f"(?:{'|'.join(written)})"
    if not isinstance(written, str):
        raise WrongRow(at, "a pattern is a text, or a list of texts of which one has to match")
    for slot in _SLOT.findall(written):
        if slot not in SLOTS:
            raise WrongRow(at, f"{{{slot}}} is no slot{suggest_spelling(slot, SLOTS)}; slots: {', '.join(SLOTS)}")
    for part in _PART.findall(written):
        if part not in parts:
            raise WrongRow(at, f"<{part}> is no part of this language{suggest_spelling(part, parts)}")
    written = _PART.sub(lambda part: f"(?:{parts[part[1]]})", written)
    if "(?P<" in written or re.search(r"\((?!\?:)", _LITERAL.sub("", written)):
        raise WrongRow(at, "groups are written (?:...): values come from slots")
    if re.search(r"(?<!\\)[A-Z]", written):
        raise WrongRow(at, "patterns are written in lower case: texts are read in lower case")
    return re.sub(r"(?:\\.)|[^\\]+", lambda part: part[0] if part[0][0] == "\\" else fold(part[0]), written)


def _texts(value: Any, at: Trail) -> tuple[str, ...]:
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in texts):
        raise WrongRow(at, "a sentence, or a list of sentences; one with a colon in it needs quotes")
    return tuple(texts)
