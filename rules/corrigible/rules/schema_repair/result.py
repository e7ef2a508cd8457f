"""From repairs to results, as rules give them: what was not written by an author of rules has a source, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.safety.loss import LookupResult

from .repair import Repair


class RepairSource(NamedTuple):
    """What a repair was made from, in the place of a rule."""

    diagnosis: str
    code: str
    id: str

    @property
    def verbose_code(self) -> str:
        return self.code


def result_of(repair: Repair, source: str, seen: Sequence[LookupResult] = ()) -> RuleResult:
    """Return a repair as a result; `seen` is what look-ups showed."""
    author = RepairSource(repair.diagnosis, repair.code, source)
    return RuleResult(
        author,
        repair.suggestions,
        repair.type,
        repair.recovery,
        None,
        used_live_state=bool(seen),
        lookup_results=tuple(seen),
    )
