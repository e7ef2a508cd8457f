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
    ours, theirs = ({_name(one): one for one in log.episodes} for log in (first, second))
    for name in sorted({*ours, *theirs}):
        if name not in theirs:
            differences.append(Difference(name, "only in the first"))
        elif name not in ours:
            differences.append(Difference(name, "only in the second"))
        else:
            differences += [Difference(name, line) for line in _episodes(ours[name], theirs[name])]
    return differences


def _name(episode: Episode) -> str:
    parts = [f"{episode.domain}/{episode.task}", episode.arm, episode.agent, f"seed {episode.seed}"]
    return " ".join([*parts, f"({episode.strategy})"] if episode.strategy else parts)


def _manifests(first: Manifest, second: Manifest) -> Iterator[str]:
    yield from differing(*(_timeless(one.model_dump(mode="json")) for one in (first, second)))


def _episodes(first: Episode, second: Episode) -> Iterator[str]:
    ours, theirs = (_timeless(one.model_dump(mode="json")) for one in (first, second))
    turns = ours.pop("turns"), theirs.pop("turns")
    ours.pop("key"), theirs.pop("key")  # it differs where code or tasks do, and that is said of what ran
    yield from differing(ours, theirs)
    if len(turns[0]) != len(turns[1]):
        yield f"{len(turns[0])} turns, and {len(turns[1])}"
    for number, (mine, yours) in enumerate(zip(*turns, strict=False), start=1):
        for line in differing(mine, yours):
            yield f"turn {number}: {line}"


def _timeless(value: Json) -> Json:
    match value:
        case Mapping():
            return {name: _timeless(inner) for name, inner in value.items() if name not in _TIMES}
        case list():
            return [_timeless(inner) for inner in value]
        case _:
            return value


def differing(first: Json, second: Json, where: str = "") -> Iterator[str]:
    """Yield each innermost place where two values differ: `/shown/message: "a", and "b"`."""
    match first, second:
        case Mapping(), Mapping():
            for name in dict.fromkeys((*first, *second)):
                if name not in second:
                    yield f"{where}/{name}: {_said(first[name])}, and nothing"
                elif name not in first:
                    yield f"{where}/{name}: nothing, and {_said(second[name])}"
                else:
                    yield from differing(first[name], second[name], f"{where}/{name}")
        case list(), list() if len(first) == len(second):
            for index, (mine, yours) in enumerate(zip(first, second, strict=True)):
                yield from differing(mine, yours, f"{where}/{index}")
        case _ if first != second or type(first) is not type(second):
            yield f"{where}: {_said(first)}, and {_said(second)}"


def _said(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
