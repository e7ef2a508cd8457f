"""The episodes of the page's step viewer: an index, and their turns in compressed blocks.

A block is the episodes of one task. Requests and answers that are the same (most are: arms and agents share them)
stand in it once. Knows: the log. Does not know: how it is shown.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corrigible.conformance.lift.arms.arm import Arm
from corrigible.conformance.lift.log.record import Episode, Turn
from corrigible.conformance.lift.stats.group import name_of, split
from corrigible.schema.exchange import Json

LIMIT: Final = 12_000_000
"""Bytes of blocks in a page, as they stand in it."""
_COLUMNS: Final = (
    "key",
    "task",
    "arm",
    "agent",
    "seed",
    "outcome",
    "attempts",
    "why",
    "ending",
    "harm",
    "needs",
    "loops",
    "start",
)


@dataclass(frozen=True, slots=True)
class Packed:
    """What a page embeds."""

    index: str
    """Compressed JSON: {columns, rows, tasks, blocks}; a row ends with whether its turns are there."""
    blocks: tuple[str, ...]
    """Compressed JSON, one for each task: {values, episodes: {key: turns}}."""
    left_out: int
    """Episodes whose turns are not embedded."""
    rule: str
    """Which ones, in words."""


def pack(episodes: Sequence[Episode], prompts: dict[str, str], *, limit: int = LIMIT) -> Packed:
    """Pack all turns; where they are too big, those of failures and harm; then one failure of each (task, arm)."""
    rules: tuple[tuple[str, Callable[[Sequence[Episode]], list[Episode]]], ...] = (
        ("", list),
        ("Turns are embedded of episodes that failed or did harm only", _failed_episodes),
        ("Turns are embedded of one failure of each task and arm, and of harm, only", _one_failed_per_arm),
        (
            "Turns are embedded of episodes that did harm only",
            lambda inside: [episode for episode in inside if episode.harm],
        ),
        ("No turns are embedded", lambda inside: []),
    )
    order = [arm.value for arm in Arm]
    ordered = sorted(episodes, key=lambda e: (e.agent, order.index(e.arm) if e.arm in order else -1, e.seed, e.key))
    tasks = split(ordered, name_of)
    place, included, blocks = 0, tasks, _blocks(tasks)
    while sum(map(len, blocks)) > limit and place + 1 < len(rules):
        place += 1
        included = {task: rules[place][1](inside) for task, inside in tasks.items()}
        blocks = _blocks(included)
    included_ids = {id(episode) for inside in included.values() for episode in inside}
    rows = [_row(episode, id(episode) in included_ids) for inside in tasks.values() for episode in inside]
    index = {"columns": _COLUMNS, "rows": rows, "tasks": list(tasks), "prompts": {t: prompts.get(t, "") for t in tasks}}
    return Packed(squeezed(index), blocks, len(rows) - len(included_ids), rules[place][0])


def _blocks(episodes: Mapping[str, Sequence[Episode]]) -> tuple[str, ...]:
    return tuple(squeezed(_block(inside)) for inside in episodes.values())


def _failed_episodes(episodes: Sequence[Episode]) -> list[Episode]:
    return [episode for episode in episodes if episode.outcome != "success" or episode.harm]


def _one_failed_per_arm(episodes: Sequence[Episode]) -> list[Episode]:
    by_arm: set[str] = set()
    chosen = []
    for episode in _failed_episodes(episodes):
        if episode.harm or episode.arm not in by_arm:
            chosen.append(episode)
        if not episode.harm:
            by_arm.add(episode.arm)
    return chosen


def squeezed(value: Json) -> str:
    """Return JSON, gzipped, in base64: nothing in it can end the element that it stands in."""
    content = json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode()
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def _row(episode: Episode, is_included: bool) -> list[Json]:
    return [
        episode.key[:16],
        name_of(episode),
        episode.arm,
        episode.agent,
        episode.seed,
        episode.outcome,
        episode.attempts,
        episode.why,
        episode.ending,
        list(episode.harm),
        episode.needs,
        episode.loops,
        episode.start,
        is_included,
    ]


def _block(episodes: Sequence[Episode]) -> dict[str, Json]:
    places: dict[str, int] = {}
    values: list[Json] = []

    def place(value: Json) -> int:
        text = json.dumps(value, sort_keys=True)
        if text not in places:
            places[text] = len(values)
            values.append(value)
        return places[text]

    def turn(one: Turn, tokens: int | None) -> dict[str, Json]:
        found: dict[str, Json] = {"request": place(one.request), "shown": place(one.shown), "status": one.status}
        rest = one.model_dump(exclude={"request", "shown", "status", "seconds"}, exclude_defaults=True, mode="json")
        return {**found, **rest, **({"tokens": tokens} if tokens else {})}

    def turns(one: Episode) -> Json:
        billed = one.spent.by_turn if one.spent is not None else ()
        return {
            "turns": [turn(made, billed[n] if n < len(billed) else None) for n, made in enumerate(one.turns)],
            "closing": [made.model_dump(exclude_defaults=True) for made in one.closing],
        }

    made = {one.key[:16]: turns(one) for one in episodes}
    return {"values": values, "episodes": made}
