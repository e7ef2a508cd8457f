"""Does what the published reader makes of feedback, and nothing else."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Literal

from corrigible.schema.carrier import find
from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Json
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply

from ..move import Briefing, Move, Seen, Send, Stop


class PatchExecutor:
    """Applies suggestions as the reader does. Stops where somebody would have to be asked."""

    name = "patch-executor"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {"version": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Seen, None]:
        request = briefing.request
        send = Send(request)
        while True:
            seen = yield send
            found = find(seen.body)
            if found is None:
                yield Stop("gave up", "no feedback")
                return
            try:
                following = apply(found, request)
            except ReaderError as problem:
                yield Stop("gave up", f"unreadable feedback: {problem}")
                return
            match following:
                case Terminal(action=action):
                    yield Stop("done" if action == "ALREADY_DONE" else "impossible", action)
                    return
                case NeedsInput(reason=reason):
                    yield Stop("needs input", reason)
                    return
                case Next():
                    request = following.request
                    send = Send(request, following.steps, following.wait_seconds, following.applied)
