"""Reads what a text says: its sentences, one by one, by the rows of the languages that it may be in."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, TypeVar

import re2

from corrigible.rules import budget
from corrigible.rules.pattern import Pattern, compiled_without_groups
from corrigible.rules.wordings.rows import Kind, Row, Rows, languages, with_parts
from corrigible.rules.wordings.slots import Words, fold, name_of, stated
from corrigible.schema.exchange import Json

_LONGEST: Final = 6000
"""Characters of a text that are read."""
_LONGEST_SENTENCE: Final = 1500
_MOST_SENTENCES: Final = 60
_MOST_SAID: Final = 60
_MOST_TIMES: Final = 8
"""How often one row is found in one sentence."""
_READ: Final = 256
"""Texts whose readings are kept."""
_OF_A_ROW: Final = 256 << 10
"""Bytes for what RE2 keeps of texts, of each row. Few rows are asked of a sentence: more is no faster."""
_ENDS: Final = re.compile(r"""\n|(?:(?<![.!])[.!]++['")\]]*+|(?<!\?)\?++(?! ?["'\[({])|;)(?= |$|[^\x00-\x7f])|\u3002""")
_ABBREVIATION: Final = re.compile(r"\b(?:e\.g|i\.e|etc|vs|approx|resp|incl|max|min|no|nr|z\.b|p\.ex|bzw|ej|ca)\.$")
_SPACES: Final = re.compile(r"[ \t]{2,}")
_CODE: Final = re.compile(r"[A-Za-z][a-z]+(?:[A-Z][a-z]+)+|[A-Za-z]+(?:[_-][A-Za-z]+)+")
"""`UserAlreadyExists`, `ALREADY_EXISTS`: a code, which is read as the words that it is made of."""
_HUMP: Final = re.compile(r"[_-]|(?<=[a-z])(?=[A-Z])")
_WORD: Final = re.compile(r"\b[a-z]+\b")
"""Letters beside digits are part of a name: `de` in a UUID is not French."""
_ADDRESS: Final = re.compile(r"\S*(?:://|@)\S*")
"""Its words are of no language: `com` is Portuguese."""
_SLOT: Final = re.compile(r"\{([a-z]+)\}")
_STATED: Final = re.compile(r"\{([a-z]+)(?::(\d))?\}")

_Asked = TypeVar("_Asked")
_Told = TypeVar("_Told")
_Done = TypeVar("_Done")


class Said(NamedTuple):
    """What one row reads of a sentence."""

    kind: Kind
    slots: Mapping[str, tuple[str, ...]]
    states: Mapping[str, Json]
    """Keywords of JSON Schema that the sentence gives."""
    row: str
    language: str
    start: int
    end: int


class Reading(NamedTuple):
    """What a text says, in the order of the text."""

    text: str
    """What was read: composed, at most so long, one blank where several stand."""
    said: tuple[Said, ...]

    def of(self, *kinds: Kind) -> tuple[Said, ...]:
        return tuple(one for one in self.said if one.kind in kinds)


Needs = tuple[frozenset[str], ...]
"""Texts, of each set of which a sentence has one wherever a pattern matches."""


class Wordings:
    """Rows that are ready to read with."""

    def __init__(self, rows: Rows) -> None:
        self.compiled = [_Compiled(row, rows) for row in rows.rows]
        texts: dict[str, set[str]] = {}
        self._asked: dict[str, list[tuple[int, Needs]]] = {"": []}
        """By a text the rows that need it, each with what it needs beside; the empty text is in any sentence."""
        for number, row in enumerate(rows.rows):
            for needs in needed(row.pattern, rows.words):
                clearest, *others = sorted(needs, key=_clearness, reverse=True) or [frozenset({""})]
                asks = number, tuple(others)
                for text in clearest:
                    self._asked.setdefault(text, []).append(asks)
                for text in clearest.union(*others):
                    if len(text) > _SHORTEST:
                        texts.setdefault(text[:_FIRST], set()).add(text)
        self._texts = {first: tuple(found) for first, found in texts.items()}
        """The texts that rows need, by their first letters."""

    def said(self, sentence: str, folded: str, start: int) -> Iterator[Said]:
        """Yield what a sentence says that begins at an index of its text."""
        firsts = [folded[at : at + _FIRST] for at in range(len(folded) - _SHORTEST + 1)]
        known = self._texts
        there = {"", *(first[:_SHORTEST] for first in firsts)}
        for at, first in enumerate(firsts):
            if first in known:
                there.update([text for text in known[first] if folded.startswith(text, at)])
        rows = (one for text in there for one in self._asked.get(text, ()))
        asked = {number for number, others in rows if not any(map(there.isdisjoint, others))}
        content = folded.encode("utf-8", "surrogatepass")
        for number in sorted(asked):
            yield from self.compiled[number].said(sentence, content, start)


_SHORTEST: Final = 2
"""Letters of a text that a row may need."""
_FIRST: Final = 3
_PIECES: Final = re.compile(
    r"(?P<text>[^\\\[{()|.^$?*+<]+(?![?*+{]))|\(\?:|\|"
    r"|(?:\)|<(?P<part>[a-z_]+)>)(?:(?P<optional>[?*]\??|\{0,\d*\}\??)|\+\??|\{[\d,]+\}\??)?"
    r"|(?:\\.|\[(?:\\.|[^\]\\])*\]|\{(?P<slot>[a-z]+)\}|[^()|])(?P<often>[?*]\??|\{0,\d*\}\??)?(?:\+\??|\{[\d,]+\}\??)?"
)
"""The parts of a pattern: a text, where a group begins and ends, an alternative, a shared part, and all else."""


def needed(pattern: str, words: Words) -> Sequence[Needs]:
    """Return what each alternative of a pattern needs."""
    return _needed(_PIECES.finditer(f"{pattern})"), words)


def _needed(pieces: Iterator[re.Match[str]], words: Words) -> Sequence[Needs]:
    """Return what the alternatives of a group need, up to the end of the group."""
    every: list[Needs] = []
    needs: list[frozenset[str]] = []
    text, count = "", 0
    inner: Sequence[Needs] = ()
    for piece in pieces:
        written = piece[0]
        if piece["text"]:
            text += written
            count += 1
            continue
        if len(text) >= _SHORTEST:
            needs.append(frozenset({text}))
        text = ""
        if written[0] in "|)":
            is_group = count == 1 and len(inner) > 1 and written[0] == ")" and not every
            every += inner if is_group else [tuple(needs)]
            needs, count, inner = [], 0, ()
        if written[0] == ")":
            return [()] if piece["optional"] else every
        if written != "|":
            count += 1
        if written == "(?:":
            inner = _needed(pieces, words)
            needs += _of_group(inner)
        elif piece["part"] and not piece["optional"]:
            needs += _of_part(words.parts[piece["part"]])
        elif piece["slot"] in _WORDS_OF and not piece["often"]:
            needs.append(frozenset(getattr(words, _WORDS_OF[piece["slot"]])))
    return every


_WORDS_OF: Final = {"type": "types", "form": "forms"}
"""Slots that take words of the language alone."""


def _of_group(every: Sequence[Needs]) -> Needs:
    """Return what a group needs: of several alternatives the clearest texts of each."""
    if len(every) == 1 or () in every:
        return every[0] if len(every) == 1 else ()
    return (frozenset(text for needs in every for text in max(needs, key=_clearness)),)


@functools.lru_cache(256)
def _of_part(pattern: str) -> Needs:
    return _of_group(needed(pattern, Words()))


def _clearness(texts: frozenset[str]) -> tuple[int, int]:
    return min(map(len, texts)), -len(texts)


class _Compiled:
    """A row, whose pattern is compiled when a sentence has a text that the row needs."""

    def __init__(self, row: Row, rows: Rows) -> None:
        self._row, self._rows = row, rows

    @functools.cached_property
    def pattern(self) -> tuple[Pattern, Mapping[str, str]]:
        """The pattern with a group for each slot, and the slot of each group. Raises ValueError for what is none."""
        groups: dict[str, str] = {}
        written = with_parts(self._row.pattern, self._rows.words.parts)
        expanded = _expanded(written, self._rows, groups)
        bounded = _bounded(f"(?P<said>{expanded})", written, self._rows)
        return Pattern(bounded, _OF_A_ROW, keeps_states=False), groups

    @functools.cached_property
    def _unless(self) -> Pattern | None:
        if not self._row.unless:
            return None
        unless = with_parts(self._row.unless, self._rows.words.parts)
        bounded = _bounded(f"(?:{_expanded(unless, self._rows, {})})", unless, self._rows)
        return Pattern(bounded, _OF_A_ROW, keeps_states=False)

    def compile(self) -> None:
        """Raises ValueError where a pattern is none of RE2, or takes too much room."""
        for one in (self.pattern[0], self._unless):
            try:
                compiled_without_groups(one.text if one is not None else "")
            except re2.error:
                raise ValueError("it unfolds to more than there is room for: make several rows of it") from None

    def said(self, sentence: str, content: bytes, start: int) -> Iterator[Said]:
        pattern, groups = self.pattern
        at = 0
        for _ in range(_MOST_TIMES):
            spans = pattern.spans(content, at)
            if spans is None or (self._unless is not None and self._unless.spans(content) is not None):
                return
            first, last = spans.pop("said")
            at = max(last, at + 1)
            slots: dict[str, tuple[str, ...]] = {}
            for name, span in spans.items():
                written = sentence[slice(*(_index(content, place) for place in span))]
                values = self._rows.words.values(groups[name], written)
                if values:
                    slot = name_of(groups[name])
                    slots[slot] = (*slots.get(slot, ()), *values)
            yield Said(
                kind=self._row.kind,
                slots=slots,
                states=self._states(slots),
                row=self._row.id,
                language=self._rows.language,
                start=start + _index(content, first),
                end=start + _index(content, last),
            )

    def _states(self, slots: Mapping[str, tuple[str, ...]]) -> dict[str, Json]:
        states: dict[str, Json] = {}
        for keyword, value in self._row.states.items():
            slot = _STATED.fullmatch(value) if isinstance(value, str) else None
            if slot is not None:
                values = slots.get(name_of(slot[1]), ())
                value = stated(keyword, slot[1], values[int(slot[2] or 1) - 1 :])
            if value is not None:
                states[keyword] = value
        return states


def _expanded(pattern: str, rows: Rows, groups: dict[str, str]) -> str:
    """Return an expression of RE2. `groups` gets the slot of each named group."""

    def group(slot: re.Match[str]) -> str:
        name = f"{slot[1]}_{len(groups)}"
        groups[name] = slot[1]
        return f"(?P<{name}>{rows.words.pattern(slot[1], is_last=slot.end() == len(pattern))})"

    return _SLOT.sub(group, pattern)


def _bounded(expression: str, pattern: str, rows: Rows) -> str:
    """Return an expression that begins and ends where words do, unless its pattern says where."""
    if not rows.words.has_spaces:
        return expression
    first = "" if _BEGINS.match(pattern) else r"(?:^|\W)"
    return f"{first}{expression}" + ("" if _ENDED.search(pattern) else r"(?:\W|$)")


_BEGINS: Final = re.compile(r"\^|\(\?:\^")
_ENDED: Final = re.compile(r"(?:\$|\(\?:\$(?:[^()\[]|\[[^\]]*\])*\)|\|\$\)|\\b)$")


def _index(content: bytes, place: int) -> int:
    """Return the index of the character at a byte."""
    return place if content.isascii() else len(content[:place].decode("utf-8", "surrogatepass"))


def read(text: str, more: Wordings | None = None, *, only: Wordings | None = None) -> Reading:
    """Read a text by the rows of the project and by `more`, those of a pack; or by `only` some rows.

    Inside of `reading_with` the rows of its pack are read where `more` names none.
    """
    return _read(text[:_LONGEST], more or _MORE.get(), only)


def reading_with(more: Wordings | None, work: Generator[_Asked, _Told, _Done]) -> Generator[_Asked, _Told, _Done]:
    """Do some work with the rows of a pack beside those of the project; it may stop to ask in between."""
    if more is None:
        return (yield from work)
    told: Any = None
    while True:
        token = _MORE.set(more)
        try:
            asked = work.send(told)
        except StopIteration as done:
            result: _Done = done.value
            return result
        finally:
            _MORE.reset(token)
        told = yield asked


_MORE: Final[ContextVar[Wordings | None]] = ContextVar("rows of a pack", default=None)


@functools.lru_cache(_READ)
def _read(text: str, more: Wordings | None, only: Wordings | None) -> Reading:
    text = _SPACES.sub(" ", unicodedata.normalize("NFC", text))
    if _CODE.fullmatch(text):
        text = _HUMP.sub(" ", text)
    folded = fold(text)
    asked = [only] if only is not None else [*_asked(folded), *([more] if more is not None else [])]
    said: list[Said] = []
    for start, end in _sentences(folded):
        for wordings in asked:
            said += wordings.said(text[start:end], folded[start:end], start)
        if len(said) >= _MOST_SAID:
            break
    said.sort(key=lambda one: (one.start, one.end))
    return Reading(text, tuple(said[:_MOST_SAID]))


def _asked(folded: str) -> Iterator[Wordings]:
    """Yield the rows of each language that a text may be in.

    Not where another one has all its words and more, and not in Chinese where a text has signs that only Japanese has.
    """
    words = set(_WORD.findall(_ADDRESS.sub(" ", folded)))
    asked = [language for language in languages().values() if language.is_of(folded, words)]
    for language in asked:
        known = language.common & words
        is_another = any(
            (known and known < other.common & words) or (language.scripts == ("han",) and "kana" in other.scripts)
            for other in asked
        )
        if not is_another:
            yield wordings_of(language.name)


@functools.cache
def wordings_of(language: str) -> Wordings:
    """Return the rows of a language; English is needed by nearly every text, and its first use takes 20 ms."""
    known = languages()[language]
    with budget.uncounted():
        return Wordings(known.rows())


def _sentences(folded: str) -> Iterator[tuple[int, int]]:
    """Yield where sentences begin and end, without the sign at the end."""
    start, count = 0, 0
    for end in _ENDS.finditer(folded):
        if end[0][0] == "." and _ABBREVIATION.search(folded, max(0, end.start() - 7), end.start() + 1):
            continue
        span = _trimmed(folded, start, end.start() + (end[0][0] == "?"))
        start = end.end()
        if span is not None:
            yield span
            count += 1
            if count == _MOST_SENTENCES:
                return
    span = _trimmed(folded, start, len(folded))
    if span is not None:
        yield span


def _trimmed(folded: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and folded[start] in " -*\t":
        start += 1
    end = min(end, start + _LONGEST_SENTENCE)
    while end > start and folded[end - 1] in " ,:.!":
        end -= 1
    return (start, end) if end > start else None
