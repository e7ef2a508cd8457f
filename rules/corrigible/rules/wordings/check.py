"""The mistakes in rows, with file and line: of their form, and of what they read of their own sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field

from corrigible.rules.errors import did_you_mean, gather
from corrigible.rules.language.file_model import FileModel, Names, checked
from corrigible.rules.language.pack_model import WordingText
from corrigible.rules.language.yaml_source import Source, Trail, read_source
from corrigible.rules.wordings.reader import Wordings, read
from corrigible.rules.wordings.rows import FOLDER, SCRIPTS, Kind, Rows, languages, made_language, made_rows
from corrigible.rules.wordings.slots import SLOTS, Words, name_of

_ID: Final = re.compile(r"[a-z_]+\.[a-z0-9-]+")
_SLOT: Final = re.compile(r"\{([a-z]+)(?::\d)?\}")
_PART: Final = re.compile(r"<([a-z_]+)>")
_LITERAL: Final = re.compile(r"\\.|\[[^\]]*\]")
_GROUP: Final = re.compile(r"\((?!\?:)")
_UPPER: Final = re.compile(r"[A-Z]")
_LONGEST: Final = 4000
_NUMBER: Final = (int, float)
_KEYWORDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), int),
    **dict.fromkeys(("pattern", "format"), str),
    "type": (str, list),
    "enum": list,
    "const": object,
    "uniqueItems": bool,
}
"""Keywords of JSON Schema that say something of a value, with the types of what they say."""


class LanguageText(FileModel):
    """What an author may write in a file of `rows/`."""

    language: str
    script: str = "latin"
    spaces: bool = True
    common: list[str] = Field([])
    parts: dict[str, Names] = Field({})
    joins: list[str] = Field([])
    around: list[str] = Field([])
    not_names: list[str] = Field([])
    numbers: dict[str, int] = Field({})
    types: dict[Literal["string", "integer", "number", "boolean", "object", "array", "null"], list[str]] = Field({})
    forms: dict[str, list[str]] = Field({})
    rows: list[WordingText] = Field(min_length=1)


def check_language(path: Path) -> Rows:
    """Return the rows of a language's file. Raises AuthoringError with all that is wrong in it."""
    source = read_source(path)
    text = checked(LanguageText, source)
    if text.language != path.stem:
        raise source.error(("language",), f'language is the name of the file, "{path.stem}"')
    for script in text.script.split():
        if script not in SCRIPTS:
            raise source.error(("script",), f'"{script}" is no script; scripts: {", ".join(SCRIPTS)}')
    known: dict[str, list[str]] = {}
    for name, alternatives in text.parts.items():
        for problem in (one for written in alternatives for one in _of_pattern(written, known)):
            raise source.error(("parts", name), problem)
        known[name] = alternatives
    language = made_language(path, source.data)
    return _checked(source, ("rows",), text.rows, text.language, language.words)


def check_languages() -> None:
    """Raises AuthoringError for the first file of a language that is wrong."""
    for path in sorted(FOLDER.glob("*.yaml")):
        check_language(path)


def check_rows(source: Source, trail: Trail, texts: list[WordingText], name: str) -> Rows:
    """Return the rows that a pack brings, read with the words of English. Raises AuthoringError."""
    return _checked(source, trail, texts, name, languages()["en"].words)


def _checked(source: Source, trail: Trail, texts: list[WordingText], language: str, words: Words) -> Rows:
    seen: set[str] = set()
    errors = []
    for number, text in enumerate(texts):
        for member, problem in [*([("id", "stands twice")] if text.id in seen else []), *_of_form(text, words)]:
            errors.append(source.error((*trail, number, member), f"{text.id}: {problem}"))
        seen.add(text.id)
    if (found := gather(errors)) is not None:
        raise found
    rows = made_rows([text.model_dump() for text in texts], language, words)
    errors = [
        source.error((*trail, number, member), f"{text.id}: {problem}")
        for number, text in enumerate(texts)
        for member, problem in _of_sentences(text, rows, number)
    ]
    if (found := gather(errors)) is not None:
        raise found
    return rows


def _of_form(text: WordingText, words: Words) -> Iterator[tuple[str, str]]:
    """Yield mistakes in the form of a row: a member, the problem."""
    kind = text.id.partition(".")[0]
    if not _ID.fullmatch(text.id):
        yield "id", "an id is a kind, a point and a name in lower case, such as exists.seat-taken"
    elif kind not in list(Kind):
        yield "id", f'"{kind}" is no kind{did_you_mean(kind, list(Kind))}; kinds: {", ".join(Kind)}'
    slots: set[str] = set()
    for member, pattern in (("pattern", text.pattern), ("unless", text.unless)):
        for one in pattern if isinstance(pattern, list) else [pattern]:
            slots |= {name_of(slot) for slot in _SLOT.findall(one)} if member == "pattern" else set()
            for problem in _of_pattern(one, words.parts):
                yield member, problem
    for keyword, value in text.states.items():
        if keyword not in _KEYWORDS:
            yield "states", f'"{keyword}" is no keyword{did_you_mean(keyword, _KEYWORDS)}; {", ".join(_KEYWORDS)}'
        elif not isinstance(value, _KEYWORDS[keyword]) and not (isinstance(value, str) and _SLOT.fullmatch(value)):
            yield "states", f"{keyword}: {value!r} is none of its values"
        slot = _SLOT.fullmatch(value) if isinstance(value, str) else None
        if slot is not None and name_of(slot[1]) not in slots:
            yield "states", f"{keyword}: {value} is no slot of its pattern"
    for name in text.gives:
        if name not in slots:
            yield "gives", f"{{{name}}} is no slot of its pattern"


def _of_pattern(pattern: str, parts: Mapping[str, Any]) -> Iterator[str]:
    if len(pattern) > _LONGEST:
        yield f"has {len(pattern):,} letters, and {_LONGEST:,} are read: make several rows of it"
        return
    for slot in _SLOT.findall(pattern):
        if slot not in SLOTS:
            yield f"{{{slot}}} is no slot{did_you_mean(slot, SLOTS)}; slots: {', '.join(SLOTS)}"
    for part in _PART.findall(pattern):
        if part not in parts:
            yield f"<{part}> is no part of the language{did_you_mean(part, parts)}; parts: {', '.join(parts)}"
    plain = _LITERAL.sub("", pattern)
    if _GROUP.search(plain):
        yield "groups are written (?:...): values come from slots"
    if _UPPER.search(plain):
        yield "patterns are written in lower case: texts are read in lower case"


def _of_sentences(text: WordingText, rows: Rows, number: int) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with what a row reads of its own sentences."""
    row = rows.rows[number]
    try:
        wordings = Wordings(Rows(rows.language, rows.words, (row,)))
        wordings.compiled[0].compile()
        found = [read(example, only=wordings).said for example in text.example]
    except ValueError as problem:
        # After a colon RE2 repeats the pattern, with its slots unfolded.
        yield "pattern", f"no expression of RE2: {str(problem).partition(': (')[0]}"
        return
    for example, said in zip(text.example, found, strict=True):
        if not said:
            yield "example", f"does not match its example: {example}"
    for slot, values in text.gives.items():
        given = found[0][0].slots.get(slot, ()) if found[0] else ()
        if found[0] and list(given) != values:
            taken = f"takes {_listed(given)} as {{{slot}}} of the first example"
            yield "gives", f"the pattern {taken}, not {_listed(values)}"
    for counter in text.counter:
        if read(counter, only=wordings).said:
            yield "counter", f"matches its counter-example: {counter}"


def _listed(values: Iterable[str]) -> str:
    return ", ".join(values) or "nothing"
