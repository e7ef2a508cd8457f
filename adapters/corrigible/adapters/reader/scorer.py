"""How likely a refusal is about each of its places: the sum of what its evidence is worth, as a probability.

The weights are data: `make learn` finds them on recorded refusals (`tests/strangers`). They are those of a conditional
logit model, so that the probabilities of all places of a refusal sum to one.

Knows: evidence by name, weights. Does not know: requests, texts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

from .evidence import Refusal, evidence
from .places import Place

Weights = Mapping[str, float]


class Ranked(NamedTuple):
    """A place, how likely a refusal is about it, and why."""

    place: Place
    probability: float
    evidence: Sequence[str]


def rank(refusal: Refusal) -> list[Ranked]:
    """Return the places of a refusal, the likeliest first."""
    weights = _used.get() or _learned()
    named = evidence(refusal)
    sums = [sum(weights.get(name, 0.0) for name in one) for one in named]
    if not sums:
        return []
    most = max(sums)
    powers = [math.exp(one - most) for one in sums]
    total = sum(powers)
    ranked = [
        Ranked(place, power / total, one) for place, power, one in zip(refusal.places, powers, named, strict=True)
    ]
    return sorted(ranked, key=lambda one: -one.probability)


@contextmanager
def use(weights: Weights) -> Iterator[None]:
    """Judge by other weights, such as those that were learned without one server."""
    token = _used.set(weights)
    try:
        yield
    finally:
        _used.reset(token)


_used: Final[ContextVar[Weights | None]] = ContextVar("weights", default=None)


@cache
def _learned() -> Weights:
    text = resources.files(__package__).joinpath("weights.json").read_text("utf-8")
    weights: dict[str, float] = json.loads(text)["weights"]
    return weights
