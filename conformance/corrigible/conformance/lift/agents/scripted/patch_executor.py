"""Does what the published reader makes of feedback, and nothing else."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Literal

from corrigible.conformance.lift.agents.protocol import Briefing, Move
from corrigible.conformance.lift.environment.response import Response
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import apply

from .feedback_loop import agrees, move_for_outcome, run_feedback_loop


class PatchExecutor:
    """Applies suggestions, waits and steps as the reader does, for a user who agrees to what changes the wish."""

    name = "patch-executor"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {"version": 2}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        return run_feedback_loop(briefing, execute)


def execute(feedback: Mapping[str, Json], request: Request, refusals: int) -> Move:
    """Return what the reader would do for a user who agrees to what changes the wish."""
    return move_for_outcome(apply(feedback, request, confirm=agrees), request, refusals)
