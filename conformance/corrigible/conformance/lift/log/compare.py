"""Compares two logs in everything but times.

Pure. Episodes are matched by task, arm, agent, strategy and seed, never by key: a key may differ and all else agree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from corrigible.schema.exchange import Json

from .record import Episode, Manifest
from .store import Log

_TIMES = frozenset({"at", "seconds"})
_WIDTH = 160


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two logs differ."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def compare(first: Log, second: Log) -> list[Difference]:
    """Return where two logs differ, what ran first, then episode by episode."""
    differences = [Difference("what ran", line) for line in _manifests(first.manifest, second.manifest)]
    first_episodes, second_episodes = ({_name(episode): episode for episode in log.episodes} for log in (first, second))
    for name in sorted({*first_episodes, *second_episodes}):
        if name not in second_episodes:
            differences.append(Difference(name, "only in the first"))
        elif name not in first_episodes:
            differences.append(Difference(name, "only in the second"))
        else:
            differences += [Difference(name, line) for line in _episodes(first_episodes[name], second_episodes[name])]
    return differences


def _name(episode: Episode) -> str:
    parts = [f"{episode.domain}/{episode.task}", episode.arm, episode.agent, f"seed {episode.seed}"]
    if episode.start != "wish":
        parts.append(f"from the {episode.start} on")
    return " ".join([*parts, f"({episode.strategy})"] if episode.strategy else parts)


def _manifests(first: Manifest, second: Manifest) -> Iterator[str]:
    yield from differing(*(_timeless(manifest.model_dump(mode="json")) for manifest in (first, second)))


def _episodes(first: Episode, second: Episode) -> Iterator[str]:
    first_document, second_document = (_timeless(episode.model_dump(mode="json")) for episode in (first, second))
    turns = first_document.pop("turns"), second_document.pop("turns")
    (
        first_document.pop("key"),
        second_document.pop("key"),
    )  # it differs where code or tasks do, and that is said of what ran
    yield from differing(first_document, second_document)
    if len(turns[0]) != len(turns[1]):
        yield f"{len(turns[0])} turns, and {len(turns[1])}"
    for number, (first_turn, yours) in enumerate(zip(*turns, strict=False), start=1):
        for line in differing(first_turn, yours):
            yield f"turn {number}: {line}"


def _timeless(value: Json) -> Json:
    match value:
        case Mapping():
            return {name: _timeless(inner) for name, inner in value.items() if name not in _TIMES}
        case list():
            return [_timeless(inner) for inner in value]
        case _:
            return value


def differing(first: Json, second: Json, path: str = "") -> Iterator[str]:
    """Yield each innermost place where two values differ: `/shown/message: "a", and "b"`."""
    match first, second:
        case Mapping(), Mapping():
            for name in dict.fromkeys((*first, *second)):
                if name not in second:
                    yield f"{path}/{name}: {_as_text(first[name])}, and nothing"
                elif name not in first:
                    yield f"{path}/{name}: nothing, and {_as_text(second[name])}"
                else:
                    yield from differing(first[name], second[name], f"{path}/{name}")
        case list(), list() if len(first) == len(second):
            for index, (first_element, yours) in enumerate(zip(first, second, strict=True)):
                yield from differing(first_element, yours, f"{path}/{index}")
        case _ if first != second or type(first) is not type(second):
            yield f"{path}: {_as_text(first)}, and {_as_text(second)}"


def _as_text(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
