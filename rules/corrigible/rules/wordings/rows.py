"""Rows of wordings and the languages that have them: what stands in `rows/*.yaml`, and in the packs that bring rows.

The files are checked by tests and by `corrigible pack lint`; here they are read as quickly as can be.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import yaml

from corrigible.rules import budget
from corrigible.rules.wordings.slots import TABLES, Words, fold
from corrigible.schema.exchange import Json

FOLDER: Final = Path(__file__).parent / "rows"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TOP: Final = re.compile(r"^rows:", re.MULTILINE)
_SENTENCES: Final = re.compile(r"^ {4}(?:example|gives|counter):.*\n(?: {6}.*\n| {4}- .*\n)*", re.MULTILINE)
"""What tests need of rows and readers do not: half of a file."""
_PART: Final = re.compile(r"<([a-z_]+)>")
_LITERAL: Final = re.compile(r"\\.|[^\\]+")
SCRIPTS: Final[Mapping[str, str]] = TABLES["scripts"]


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
    """An expression of RE2 with `{slots}` and `<parts>`, folded."""
    unless: str
    """A sentence in which this is found does not say what the row says."""
    states: Mapping[str, Json]
    """Keywords of JSON Schema: a value, `{slot}`, or `{slot:2}` for the second value of a slot."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a language, or those that a pack brings."""

    language: str
    words: Words
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Language:
    """The head of a language's file: when the language is asked, and what its slots are made of."""

    name: str
    path: Path
    scripts: tuple[str, ...]
    common: frozenset[str]
    """Words of which a text in this language has one; with none every text in the script is asked."""
    words: Words
    around: tuple[str, ...] = ()
    """Prepositions of place and belonging."""

    def is_of(self, folded: str, words: Set[str]) -> bool:
        """Whether a text, whose Latin words are given, is asked in this language."""
        if not any(_letters(script).search(folded) for script in self.scripts):
            return False
        if "latin" in self.scripts:
            return not self.common or not self.common.isdisjoint(words)
        return not self.common or any(word in folded for word in self.common)

    def rows(self) -> Rows:
        text = self.path.read_text("utf-8")
        top = _TOP.search(text)
        rows = text[top.start() :] if top else ""
        return made_rows(yaml.load(_SENTENCES.sub("", rows), _LOADER)["rows"], self.name, self.words)


@functools.cache
def _letters(script: str) -> re.Pattern[str]:
    return re.compile(f"[{SCRIPTS[script]}]")


@functools.cache
def languages() -> Mapping[str, Language]:
    """Return the languages of the project by name, without their rows."""
    with budget.uncounted():
        return {path.stem: read_language(path) for path in sorted(FOLDER.glob("*.yaml"))}


def says_where(text: str, at: int) -> bool:
    """Whether what stands at a place of a text in lower case says where or of what something is.

    `'papers'` of `no column 'x' in the table 'papers'`: a preposition is up to three words before it.
    """
    return _around().search(text, max(0, at - _LONGEST_AROUND), at) is not None


_LONGEST_AROUND: Final = 60


@functools.cache
def _around() -> re.Pattern[str]:
    words = "|".join(sorted({re.escape(word) for one in languages().values() for word in one.around}))
    return re.compile(rf"(?:^|[\s(])(?:{words})(?: [^\W\d]+){{0,3}} ?['\"`\[(<\u2018\u201c\u201e\u00ab]?$")


def read_language(path: Path) -> Language:
    """Return the head of a file, which is half of a thousandth of it."""
    text = path.read_text("utf-8")
    top = _TOP.search(text)
    return made_language(path, yaml.load(text[: top.start()] if top else text, _LOADER))


def made_language(path: Path, head: Mapping[str, Any]) -> Language:
    parts: dict[str, str] = {}
    for name, alternatives in (head.get("parts") or {}).items():
        parts[name] = with_parts(_pattern(alternatives), parts)
    words = Words(
        parts,
        joins=tuple(map(fold, head.get("joins") or ())),
        not_names=frozenset(map(fold, head.get("not_names") or ())),
        numbers={fold(word): number for word, number in (head.get("numbers") or {}).items()},
        types=_turned(head.get("types") or {}),
        forms=_turned(head.get("forms") or {}),
        has_spaces=head.get("spaces", True) is not False,
    )
    scripts = head.get("script", "latin")
    common = frozenset(map(fold, head.get("common") or ()))
    around = tuple(str(one).lower() for one in head.get("around") or ())
    return Language(path.stem, path, tuple(scripts.split()), common, words, around)


def _turned(members: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return what each word stands for."""
    return {fold(word): target for target, words in members.items() for word in words}


def made_rows(data: Iterable[Mapping[str, Any]], language: str, words: Words) -> Rows:
    return Rows(
        language,
        words,
        tuple(
            Row(
                id=f"{language}.{one['id']}",
                kind=Kind(one["id"].partition(".")[0]),
                pattern=_pattern(one["pattern"]),
                unless=_pattern(one.get("unless") or ""),
                states=one.get("states") or {},
            )
            for one in data
        ),
    )


def _pattern(written: str | list[str]) -> str:
    """Return a pattern with its alternatives as one, its letters folded as texts are."""
    alternatives = written if isinstance(written, list) else [written]
    text = f"(?:{'|'.join(alternatives)})" if len(alternatives) > 1 else "".join(alternatives)
    if text.isascii() and "`" not in text:
        return text
    return _LITERAL.sub(lambda part: part[0] if part[0][0] == "\\" else fold(part[0]), text)


def with_parts(pattern: str, parts: Mapping[str, str]) -> str:
    """Return a pattern with the parts that rows share written out."""
    return _PART.sub(lambda part: f"(?:{parts[part[1]]})", pattern)
