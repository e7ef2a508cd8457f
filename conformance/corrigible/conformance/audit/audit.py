"""The audit as a whole: everything that is known is looked for in everything that is seen.

Knows: the kinds of things that are audited. Does not know: terminals, clocks, exit statuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corrigible.schema.exchange import Json

from .captures import capture_file
from .search import Hit, search
from .subject import Subject, packs, rendered
from .tasks import task_file

SCHEMA = "corrigible-leak-audit/1"
_LIFT = Path(__file__).parent.parent / "lift" / "tasks"
"""The tasks that `conformance lift` gives agents."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What was looked at, and what was found."""

    subjects: tuple[Subject, ...]
    hits: tuple[Hit, ...]

    @property
    def leaks(self) -> tuple[Hit, ...]:
        """What is ours and gives a fix away."""
        return tuple(hit for hit in self.hits if hit.text.owner == "ours")

    @property
    def disclosed(self) -> tuple[Hit, ...]:
        """What a third party says itself: not ours to change, and told to whoever compares modes."""
        return tuple(hit for hit in self.hits if hit.text.owner != "ours")

    @property
    def texts(self) -> int:
        return sum(len(matter.texts) for subject in self.subjects for matter in subject.matters)

    @property
    def comparisons(self) -> int:
        return sum(len(matter.texts) * len(matter.fixes) for subject in self.subjects for matter in subject.matters)


def gather(
    names: Sequence[str | None],
    tasks: Sequence[Path],
    captures: Sequence[Path],
    corrigible: Sequence[str],
) -> list[Subject]:
    """Return all that is to be audited. `None` stands for every pack and task that ships. Raises UsageError."""
    found = [pack for name in names for pack in packs(rendered(name, corrigible))]
    shipped = [pack.tasks for pack in found if pack.tasks is not None]
    own = sorted(_LIFT.glob("*.yaml")) if None in names else []
    mine = list({path.resolve(): path for path in (*shipped, *own, *tasks)}.values())
    return [*found, *(task_file(path, found) for path in mine), *(capture_file(path) for path in captures)]


def audit(subjects: Sequence[Subject], told: Callable[[int], None] = lambda count: None) -> Audit:
    """Search everything. `told` hears how many matters were done."""
    hits: list[Hit] = []
    for subject in subjects:
        for matter in subject.matters:
            for text in matter.texts:
                hits += search(text, matter.fixes)
            told(1)
    return Audit(tuple(subjects), tuple(_once(hits)))


def _once(hits: Sequence[Hit]) -> Iterator[Hit]:
    seen: set[tuple[str, str, str]] = set()
    for hit in hits:
        key = (hit.text.where, hit.text.channel, str(hit.fix.value))
        if key not in seen:
            seen.add(key)
            yield hit


def document(done: Audit, *, suite: str, date: str) -> dict[str, Json]:
    """Return what was audited and found, for machines. Of an audit without a leak it is the certificate."""
    disclosed = done.disclosed
    return {
        "schema": SCHEMA,
        "suite": suite,
        "date": date,
        "leaks": [_hit(hit) for hit in done.leaks],
        "audited": [{"kind": one.kind, "name": one.name, "sha256": one.digest, **one.facts} for one in done.subjects],
        "texts": done.texts,
        "comparisons": done.comparisons,
        "disclosed": {
            "what": "native answers of third parties that hold the fix themselves; they are the same in every mode",
            "count": len(disclosed),
            "by_channel": dict(sorted(Counter(hit.text.channel for hit in disclosed).items())),
            "by_rule": dict(sorted(Counter(hit.text.rule or hit.text.where for hit in disclosed).items())),
            "each": [_hit(hit) for hit in disclosed],
        },
    }


def _hit(hit: Hit) -> dict[str, Json]:
    return {
        "where": hit.text.where,
        "channel": hit.text.channel,
        "value": hit.fix.value,
        "rule": hit.text.rule,
        "known_from": f"{hit.fix.source}: {hit.fix.origin}",
        "how": hit.how,
        "text": hit.marked,
    }
