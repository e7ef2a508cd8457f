"""The goals that a plan registered before the run, and how each came out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corrigible.conformance.lift.log.record import Manifest
from corrigible.conformance.lift.stats.comparison import Comparison
from corrigible.conformance.lift.stats.estimate import Estimate
from corrigible.conformance.lift.stats.group import POOLED
from corrigible.conformance.lift.stats.way import CallsRatio, Way

_ALPHA = 0.05


def goals(
    manifest: Manifest, comparisons: Sequence[Comparison], ratios: Sequence[CallsRatio], ways: Sequence[Way]
) -> Iterator[str]:
    """Yield a sentence for each registered goal and agent: reached, not reached, or not shown by so few tasks."""
    registered = manifest.plan.get("registered") or {}
    margin, most, gain = (registered.get(name) for name in ("margin", "calls_ratio", "gain"))
    clean = {(way.agent, way.arm): way.clean for way in ways}
    for one in comparisons:
        if one.agent == POOLED:
            continue
        if margin is not None:
            yield _tie(one, margin)
        if gain is not None:
            yield f"{one.agent}: gain of {100 * gain:.0f} points or more: {_at_least(one.difference.estimate, gain)}"
        ratio = next((ratio for ratio in ratios if ratio.agent == one.agent), None)
        if most is not None and ratio is not None:
            turns = clean.get((one.agent, one.first))
            known = turns is not None and turns.value is not None
            rest = f"; without a wrong turn: {turns.value:.0%} of {turns.n}" if turns is not None and known else ""
            goal = f"{one.agent}: calls at most {most:g} of those under {one.second}"
            yield f"{goal}: {_at_most(ratio.ratio, most)}{rest}"


def _tie(one: Comparison, margin: float) -> str:
    words = f"{one.agent}: a tie within {100 * margin:.0f} points of success"
    if one.tie is None:
        return f"{words}: nothing can be said of {one.difference.estimate.n} tasks that all came out alike"
    shown = f"shown, TOST p {one.tie:.3f}" if one.tie < _ALPHA else f"not shown, TOST p {one.tie:.2f}"
    return f"{words}: {shown}, {one.difference.estimate.n} tasks"


def _at_least(estimate: Estimate, goal: float) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return f"nothing can be said of {estimate.n} tasks that all came out alike"
    span = f"{100 * estimate.value:+.0f} ({100 * estimate.low:+.0f} to {100 * estimate.high:+.0f}), {estimate.n} tasks"
    word = "reached" if estimate.low >= goal else "missed" if estimate.high < goal else "not shown"
    return f"{word}, {span}"


def _at_most(estimate: Estimate, goal: float) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return f"nothing can be said of {estimate.n} tasks"
    word = "reached" if estimate.high <= goal else "missed" if estimate.low > goal else "not shown"
    return f"{word}, {estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f}), {estimate.n} tasks"
