"""From repairs to results, as rules give them: what was not written by an author of rules has a source, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.safety.loss import LookupResult
from corrigible.schema.exchange import Json
from corrigible.schema.word import EvidenceKind

from .repair import Repair


class RepairSource(NamedTuple):
    """What a repair was made from, in the place of a rule."""

    diagnosis: str
    code: str
    id: str

    @property
    def verbose_code(self) -> str:
        return self.code

    @property
    def may_guess(self) -> bool:
        return False  # its evidence says what it was made from


ANSWER = "the error"
"""The source of what the answer itself states."""
_SAID = "The server's error says so."


def stated_by_answer(repair: Repair) -> Repair:
    """Return a repair that comes from what the answer states: evidence and texts say so; no schema verifies it."""
    return repair._replace(suggestions=tuple(map(_stated, repair.suggestions)))


def _stated(suggestion: dict[str, Json]) -> dict[str, Json]:
    out = {name: value for name, value in suggestion.items() if name != "verification"}
    out["message"] = f"{suggestion['message']} {_SAID}" if suggestion.get("message") else _SAID
    out["evidence"] = {**suggestion["evidence"], "kind": EvidenceKind.ANSWER.value}
    return out


def result_of(repair: Repair, source: str, seen: Sequence[LookupResult] = ()) -> RuleResult:
    """Return a repair as a result; `seen` is what look-ups showed."""
    author = RepairSource(repair.diagnosis, repair.code, source)
    return RuleResult(
        author,
        repair.suggestions,
        repair.type,
        repair.recovery,
        repair.retry,
        used_live_state=bool(seen),
        lookup_results=tuple(seen),
    )
