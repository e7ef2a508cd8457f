"""The same refusal, said in another way: under names that nobody knows, in other words, with other quotation marks.

What an answer means does not depend on these, and neither may what the product makes of it. So the recorded answers
also try it on wordings and shapes that no server here has.

Knows: recorded answers. Does not know: the product's decisions, what is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import yaml
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.json_format import MessageToDict

from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json

from .case import OWN, Case, Recorded, document

Telling = Callable[[Recorded], str | None]
"""From a recorded refusal to its body, said otherwise; None where that changes nothing."""

_USUAL: Final = (
    *("message", "error", "errors", "code", "detail", "details", "status", "title", "type", "msg", "reason", "info"),
    *("result", "success", "ok", "timestamp", "traceId", "requestId", "statusCode", "cause", "hint", "exception"),
)
_NONSENSE: Final = "blorven"
_WORD: Final = re.compile(r"(?<![\w/$@.-])[^\W\d_]+(?:['\N{RIGHT SINGLE QUOTATION MARK}-][^\W\d_]+)*(?![\w/$@]|[.-]\w)")
"""A word of prose: what is tied to digits, dots, slashes or low lines is a name or a code of some kind."""
_MARKUP: Final = re.compile(r"(<[^<>]{1,400}>)")
_QUOTED: Final = re.compile(r"(?<!\w)(['\"`])([^'\"`]{1,60})\1(?!\w)")


def under_other_names(recorded: Recorded) -> str | None:
    """Rename the members that tell about errors; names of what was sent stay, for they are places."""
    answer = _json(recorded)
    sent = set(_names(_loaded(recorded.body))) | {name for name, _ in parse_qsl(urlsplit(recorded.target).query)}
    other = {name: f"meldung{number}" for number, name in enumerate(_USUAL) if name not in sent}
    if not isinstance(answer, dict | list) or other.keys().isdisjoint(_names(answer)):
        return None
    return json.dumps(_with_names(answer, other))


def in_other_words(recorded: Recorded) -> str | None:
    return _with_texts(recorded, _in_other_words)


def _in_other_words(text: str) -> str:
    for pattern, words in _phrases():
        text = pattern.sub(words, text)
    return text


@cache
def _phrases() -> list[tuple[re.Pattern[str], str]]:
    read = yaml.load((OWN / "other_words.yaml").read_bytes(), Loader=yaml.CSafeLoader)
    phrases = []
    for pattern, words in read["phrases"]:
        for name, expression in read["names"].items():
            pattern = pattern.replace(f"{{{name}}}", expression)
        phrases.append((re.compile(rf"(?im)(?<![\w'\"`])(?:{pattern})"), words))
    return phrases


def with_other_quotes(recorded: Recorded) -> str | None:
    answer = _json(recorded)
    quoted = _each_text(
        answer, lambda text: _QUOTED.sub("\N{LEFT DOUBLE QUOTATION MARK}\\2\N{RIGHT DOUBLE QUOTATION MARK}", text)
    )
    return json.dumps(quoted) if quoted != answer else None


def in_nonsense(names: frozenset[str]) -> Telling:
    """Replace each word that is no name or value of the request or of the description, as another language does."""

    def telling(recorded: Recorded) -> str | None:
        sent = document(recorded.request).document()
        answer = _json(recorded)
        kept = names | {word.lower() for word in (*_names(sent), *_names(answer), *map(scalar_text, _scalars(sent)))}
        kept |= {part.lower() for part in re.split(r"[/.]", f"{sent['method']}/{sent['path']}")}

        def change(text: str) -> str:
            return _WORD.sub(lambda word: word[0] if word[0].lower() in kept else _like(word[0]), text)

        return _with_texts(recorded, change)

    return telling


def _with_texts(recorded: Recorded, change: Callable[[str], str]) -> str | None:
    """Change the texts of an answer: the values of JSON, what stands between marks of markup, or all of it."""
    answer = _json(recorded)
    if isinstance(answer, dict | list):
        said = _each_text(answer, change)
        return json.dumps(said, ensure_ascii=False) if said != answer else None
    parts = _MARKUP.split(recorded.response_body)
    text = "".join(part if number % 2 else change(part) for number, part in enumerate(parts))
    return text if text != recorded.response_body else None


def _like(word: str) -> str:
    return _NONSENSE.upper() if word.isupper() else _NONSENSE.title() if word[0].isupper() else _NONSENSE


def names_described(description: Path) -> frozenset[str]:
    """Return the names and values of a description, in lower case."""
    if description.suffix == ".binpb":
        files = FileDescriptorSet.FromString(description.read_bytes())
        return frozenset(name.lower() for name in _named(MessageToDict(files)))
    text = description.read_bytes()
    # JSON writes what is beyond 16 bits as two escapes, which YAML does not take.
    read = json.loads(text) if description.suffix == ".json" else yaml.load(text, yaml.CSafeLoader)
    return frozenset(name.lower() for name in _described(read))


def _named(value: Json) -> Iterator[str]:
    """Yield each `name` and `jsonName` of what protobuf describes."""
    for inner in value if isinstance(value, list) else ():
        yield from _named(inner)
    for name, inner in value.items() if isinstance(value, dict) else ():
        if name in ("name", "jsonName") and isinstance(inner, str):
            yield inner
        yield from _named(inner)


def _described(value: Json) -> Iterator[str]:
    if isinstance(value, list):
        for inner in value:
            yield from _described(inner)
    for name, inner in value.items() if isinstance(value, dict) else ():
        if name in ("properties", "patternProperties") and isinstance(inner, dict):
            yield from inner
        elif name == "paths" and isinstance(inner, dict):
            yield from (part for path in inner for part in re.findall(r"[^/{}]+", path))
        elif name == "name" and isinstance(inner, str):
            yield inner
        elif name in ("enum", "const", "default", "example", "examples"):
            yield from map(scalar_text, _scalars(inner))
            yield from _names(inner)
        yield from _described(inner)


def _scalars(value: Json) -> Iterator[Json]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _scalars(inner)
    else:
        yield value


TELLINGS: Final[dict[str, Telling]] = {
    "under other names": under_other_names,
    "in other words": in_other_words,
    "with other quotes": with_other_quotes,
}


def told(case: Case, telling: Telling) -> Case | None:
    """Return a case with all its refusals said otherwise; None where the first of them stays the same."""
    bodies = [telling(one) for one in case.exchanges]
    if bodies[0] is None:
        return None
    said = [
        one if body is None else one.model_copy(update={"response_body": body})
        for one, body in zip(case.exchanges, bodies, strict=True)
    ]
    return case.model_copy(update={"exchanges": said})


def _json(recorded: Recorded) -> Json:
    return _loaded(recorded.response_body)


def _loaded(text: str) -> Json:
    try:
        loaded: Json = json.loads(text)
    except ValueError:
        return None
    return loaded


def _names(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)


def _with_names(value: Json, other: dict[str, str]) -> Json:
    if isinstance(value, dict):
        return {other.get(name, name): _with_names(inner, other) for name, inner in value.items()}
    return [_with_names(inner, other) for inner in value] if isinstance(value, list) else value


def _each_text(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, dict):
        return {name: _each_text(inner, change) for name, inner in value.items()}
    if isinstance(value, list):
        return [_each_text(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value
