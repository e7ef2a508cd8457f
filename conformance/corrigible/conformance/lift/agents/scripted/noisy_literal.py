"""A patch-executor that errs with a known probability: what statistics say of it can be checked against the truth."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from random import Random
from typing import Literal

from corrigible.conformance.lift.agents.protocol import Briefing, Move, Send
from corrigible.conformance.lift.agents.scripted.reading.path import format_pointer, scalars, value_at, with_value
from corrigible.conformance.lift.environment.response import Response
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import Next, apply

from .feedback_loop import agrees, move_for_outcome, run_feedback_loop


class NoisyLiteral:
    """With probability `p` at each answer it skips what it is told, or garbles one value of it."""

    kind: Literal["scripted"] = "scripted"

    def __init__(self, p: float) -> None:
        if not 0 <= p <= 1:
            raise ValueError(f"{p} is no probability")
        self.p = p
        self.name = f"noisy-literal({p:g})"
        self.identity: Mapping[str, Json] = {"version": 1, "p": p}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        rng = seeded_random(briefing, seed, self.name)

        def decide(feedback: Mapping[str, Json], request: Request, refusals: int) -> Move:
            outcome = apply(feedback, request, confirm=agrees)
            errs, garbles, which = rng.random() < self.p, rng.random() < 0.5, rng.random()
            if not errs or not isinstance(outcome, Next):
                return move_for_outcome(outcome, request, refusals)
            if not garbles:
                return Send(request, applied=(), note="skipped")
            return Send(_garbled(outcome.request, request, which), outcome.steps, outcome.wait_seconds, note="garbled")

        return run_feedback_loop(briefing, decide)


def seeded_random(briefing: Briefing, seed: int, name: str) -> Random:
    """Return dice that fall the same in every run with one seed, and otherwise for each task.

    Of the prompt only plain words count: the others may be names that a server gave, other ones in every run.
    """
    words = " ".join(re.findall(r"\b[a-z]+\b", briefing.prompt))
    places = ",".join(format_pointer(place) for place, _ in scalars(briefing.request))
    return Random(f"{seed}|{name}|{briefing.request.method}|{places}|{words}")


def _garbled(right: Request, before: Request, which: float) -> Request:
    """Spoil one scalar that the advice changed, any where it changed none."""
    all_leaves = list(scalars(right))
    changed = [(place, value) for place, value in all_leaves if value_at(before, place) != value] or all_leaves
    if not changed:
        return before
    place, value = changed[int(which * len(changed))]
    match value:
        case bool():
            wrong: Json = not value
        case int() | float():
            wrong = value * 10 + 1
        case _:
            wrong = "garbled"
    return with_value(right, place, wrong) or before
