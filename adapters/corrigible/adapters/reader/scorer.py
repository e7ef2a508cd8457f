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
from itertools import accumulate
from typing import Any, Final, NamedTuple

from .evidence import Refusal, evidence
from .places import Place


class Model(NamedTuple):
    """What was learned."""

    weights: Mapping[str, float]
    calibration: Sequence[float]
    """Slope and intercept: how often a likeliest place is right, by the logit of its probability."""


class Ranked(NamedTuple):
    """A place, how likely a refusal is about it, and why."""

    place: Place
    probability: float
    """Its share of the probability of all places."""
    confidence: float
    """How often such a place was right on servers that the weights had not seen. Of several places it adds up."""
    evidence: Sequence[str]


def rank(refusal: Refusal) -> list[Ranked]:
    """Return the places of a refusal, the likeliest first."""
    weights, line = _used.get() or _learned()
    named = evidence(refusal)
    if (seen := _seen.get()) is not None:
        seen.append((refusal, named))
    sums = [sum(weights.get(name, 0.0) for name in one) for one in named]
    most = max(sums, default=0.0)
    powers = [math.exp(one - most) for one in sums]
    total = sum(powers)
    order = sorted(range(len(powers)), key=lambda number: -powers[number])
    shares = [powers[number] / total for number in order]
    right = [calibrated(share, line) for share in accumulate(shares)]  # of this place and those before it
    return [
        Ranked(refusal.places[number], share, up_to - before, named[number])
        for number, share, before, up_to in zip(order, shares, [0.0, *right], right, strict=False)
    ]


def calibrated(probability: float, line: Sequence[float]) -> float:
    """Return how often what had this probability was right."""
    return 1 / (1 + math.exp(-(line[0] * logit(min(max(probability, _LEAST), 1 - _LEAST)) + line[1])))


def logit(probability: float) -> float:
    """Return the logarithm of the odds."""
    return math.log(probability / (1 - probability))


_LEAST: Final = 1e-6


def reasons(evidence: Sequence[str], most: int) -> list[str]:
    """Return the evidence that counts most for or against a place, each name with its weight."""
    weights = (_used.get() or _learned()).weights
    known = sorted(((weights.get(name, 0.0), name) for name in evidence), key=lambda one: -abs(one[0]))
    return [f"{name} {weight:+.1f}" for weight, name in known[:most]]


@contextmanager
def use(learned: Mapping[str, Any]) -> Iterator[None]:
    """Judge by other weights, such as those that were learned without one server."""
    token = _used.set(Model(learned["weights"], learned["calibration"]))
    try:
        yield
    finally:
        _used.reset(token)


@contextmanager
def observed() -> Iterator[list[tuple[Refusal, list[list[str]]]]]:
    """Give what is judged meanwhile, with the evidence for each place."""
    seen: list[tuple[Refusal, list[list[str]]]] = []
    token = _seen.set(seen)
    try:
        yield seen
    finally:
        _seen.reset(token)


_used: Final[ContextVar[Model | None]] = ContextVar("model", default=None)
_seen: Final[ContextVar[list[tuple[Refusal, list[list[str]]]] | None]] = ContextVar("seen", default=None)


@cache
def _learned() -> Model:
    learned = json.loads(resources.files(__package__).joinpath("weights.json").read_text("utf-8"))
    return Model(learned["weights"], learned["calibration"])
