"""The leak audit: searches every text that an agent sees for every fix that is known.

Knows: the kinds of audited things. Does not know: terminals, clocks, exit statuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corrigible.schema.exchange import Json

from .captures import capture_file
from .search import Hit, search
from .subject import AuditSubject, packs, rendered
from .tasks import task_file

SCHEMA = "corrigible-leak-audit/1"
_LIFT = Path(__file__).parent.parent / "lift" / "tasks"
"""The tasks that `conformance lift` gives agents."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The audited subjects and the hits."""

    subjects: tuple[AuditSubject, ...]
    hits: tuple[Hit, ...]

    @property
    def leaks(self) -> tuple[Hit, ...]:
        """Hits in our own texts."""
        return tuple(hit for hit in self.hits if hit.text.owner == "ours")

    @property
    def disclosed(self) -> tuple[Hit, ...]:
        """Hits in texts of third parties, which we cannot change; they are reported only."""
        return tuple(hit for hit in self.hits if hit.text.owner != "ours")

    @property
    def texts(self) -> int:
        return sum(len(scope.texts) for subject in self.subjects for scope in subject.scopes)

    @property
    def comparisons(self) -> int:
        return sum(len(scope.texts) * len(scope.fixes) for subject in self.subjects for scope in subject.scopes)


def gather(
    names: Sequence[str | None],
    tasks: Sequence[Path],
    captures: Sequence[Path],
    corrigible: Sequence[str],
) -> list[AuditSubject]:
    """Return the subjects. The name `None` means all packs and tasks of this package. Raises UsageError."""
    subjects = [pack for name in names for pack in packs(rendered(name, corrigible))]
    shipped = [pack.tasks for pack in subjects if pack.tasks is not None]
    lift_tasks = sorted(_LIFT.glob("*.yaml")) if None in names else []
    paths = list({path.resolve(): path for path in (*shipped, *lift_tasks, *tasks)}.values())
    return [*subjects, *(task_file(path, subjects) for path in paths), *(capture_file(path) for path in captures)]


def audit(subjects: Sequence[AuditSubject], on_progress: Callable[[int], None] = lambda count: None) -> Audit:
    """Search all scopes. `on_progress` gets the number of scopes that were searched since its last call."""
    hits: list[Hit] = []
    for subject in subjects:
        for scope in subject.scopes:
            for text in scope.texts:
                hits += search(text, scope.fixes)
            on_progress(1)
    return Audit(tuple(subjects), tuple(_once(hits)))


def _once(all_hits: Sequence[Hit]) -> Iterator[Hit]:
    seen: set[tuple[str, str, str]] = set()
    for hit in all_hits:
        key = (hit.text.where, hit.text.channel, str(hit.fix.value))
        if key not in seen:
            seen.add(key)
            yield hit


def document(result: Audit, *, suite: str, date: str) -> dict[str, Json]:
    """Return the audit as JSON. Without a leak it is the certificate."""
    disclosed = result.disclosed
    return {
        "schema": SCHEMA,
        "suite": suite,
        "date": date,
        "leaks": [_hit(hit) for hit in result.leaks],
        "audited": [
            {"kind": subject.kind, "name": subject.name, "sha256": subject.digest, **subject.facts}
            for subject in result.subjects
        ],
        "texts": result.texts,
        "comparisons": result.comparisons,
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
