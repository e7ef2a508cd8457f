"""A model in a retry loop: call, read the answer, perhaps reflect, call again, until it is done or out of attempts.

Knows: briefings, conversations, strategies. Does not know: arms, wire formats, what would be a success.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal

from corrigible.conformance.lift.agents.protocol import Briefing, Move, Send, Stop, Usage
from corrigible.conformance.lift.agents.reflection.strategy import (
    ModelAnswer,
    PastCall,
    Strategy,
    Trajectory,
    as_prompt,
)
from corrigible.conformance.lift.environment.reads import is_read
from corrigible.conformance.lift.environment.response import Response
from corrigible.conformance.lift.log.record import Reflection
from corrigible.schema.exchange import Json, Request

from . import prompt
from .action import Call, Finish, Unreadable, action
from .conversation import PARALLEL, Entry, ModelMessage, Question, Reply, Sampling, ToolResult, UserMessage
from .provider_client import Endpoint, ProviderClient, ProviderError
from .rate_limiter import RateLimiter
from .settings import Settings, identity

VERSION: Final = 1
"""Grows with every change of the loop that changes what a model does."""
_LONGEST_NOTE: Final = 500


class ProviderFailed(Exception):
    """A provider failed in the middle of an episode."""

    def __init__(self, said: str, usage: Usage | None) -> None:
        super().__init__(said)
        self.usage = usage
        """What was billed since the last move: no move will carry it."""


@dataclass(frozen=True)
class ModelAgent:
    """Plays episodes by asking a model. Usable from several threads: an episode keeps its state to itself."""

    provider: str
    wire: str
    model: str
    address: str
    settings: Settings
    strategy: Strategy
    encode: Callable[[Question, Sampling], dict[str, Json]] = field(repr=False)
    decode: Callable[[Mapping[str, Json]], Reply] = field(repr=False)
    takes_seed: bool
    endpoint: Endpoint = field(repr=False)
    rate: RateLimiter = field(repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    kind: Literal["model"] = field(default="model", init=False)

    @property
    def name(self) -> str:
        """PROVIDER:MODEL, and the strategy where there is one. A fake says so in its name, too."""
        if self.settings.name:
            plain = self.settings.name
        else:
            plain = f"{self.provider}:{self.model}"
            plain += f"+{self.strategy.name}" if self.strategy.name != "none" else ""
        return f"fake {plain}" if self.endpoint.fake else plain

    @cached_property
    def identity(self) -> Mapping[str, Json]:
        """What its results depend on; no secrets."""
        return {
            "version": VERSION,
            "provider": self.provider,
            "wire": self.wire,
            "model": self.model,
            "address": self.address,
            "fake": self.endpoint.fake,
            "strategy": self.strategy.name,
            "prompt": prompt.digest(),
            **identity(self.settings),
        }

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        """Play one episode."""
        text = json.dumps([self.name, seed, briefing.prompt])
        with closing(ProviderClient(self.endpoint, self.rate, random.Random(text), sleep=self.sleep)) as wire:
            yield from _EpisodeLoop(self, briefing, seed, wire).moves()


class _EpisodeLoop:
    """One episode from the model's side."""

    def __init__(self, agent: ModelAgent, briefing: Briefing, seed: int, wire: ProviderClient) -> None:
        self._agent, self._briefing, self._wire = agent, briefing, wire
        self._settings = agent.settings
        self._sampling = Sampling(
            model=agent.model,
            max_tokens=agent.settings.max_tokens,
            temperature=agent.settings.temperature,
            seed=seed if agent.takes_seed and agent.settings.seed else None,
            extra=agent.settings.extra,
        )
        self._entries: list[Entry] = []
        self._trials: list[PastCall] = []
        self._memory: list[Reflection] = []
        self._used = 0
        """Attempts, lost ones too."""
        self._fresh: tuple[Reflection, ...] = ()
        self._lost = 0
        self._usage = Usage()
        self._asked = self._unbilled = False

    def moves(self) -> Generator[Move, Response, None]:
        start = prompt.opening(self._briefing)
        if self._settings.first_request == "fixed":
            seen = yield Send(self._briefing.request)
            self._saw(self._briefing.request, seen, settles=True)
            start = f"{start}\n\n{prompt.given(self._briefing.request, seen)}"
            self._entries.append(UserMessage(start))
            self._reflect(seen)
        else:
            self._entries.append(UserMessage(start))
        while self._used < self._briefing.attempts:
            found = self._decided()
            if isinstance(found, Stop):
                yield found
                return
            call, said = found
            send = self._send(call, said)
            seen = yield send
            self._saw(call.request, seen, settles=send.settles)
            self._heard(call.id, prompt.answer(seen))
            self._reflect(seen)
        yield self._stop("gave up", "no attempt left")

    def _decided(self) -> tuple[Call, str] | Stop:
        """Return what the model wants to send. What cannot be read costs an attempt, and is told once."""
        told = False
        while True:
            reply = self._ask(self._question())
            self._entries.append(ModelMessage(reply))
            if reply.why == "refusal":
                return self._stop("gave up", f"the model refused: {reply.text[:_LONGEST_NOTE]}")
            found = self._read(reply)
            match found:
                case Finish(ending=ending, reason=reason):
                    return self._stop(ending, reason[:_LONGEST_NOTE])
                case Call():
                    self._answer_others(reply)
                    return found, reply.text
            self._lost += 1
            self._used += 1
            if told or self._used >= self._briefing.attempts:
                return self._stop("gave up", f"no call that could be read: {found.problem}")
            told = True
            self._heard(found.id, f"This could not be carried out, and counts as a call: {found.problem}", failed=True)
            self._answer_others(reply)

    def _read(self, reply: Reply) -> Call | Finish | Unreadable:
        request = self._briefing.request
        tools = self._settings.mode == "tools"
        return action(reply, tools=tools, grpc=prompt.is_grpc(request), form=request.form)

    def _send(self, call: Call, said: str) -> Send:
        dropped = f" (left out: {', '.join(call.dropped)})" if call.dropped else ""
        move = Send(
            call.request,
            wait=call.wait,
            usage=self._billed(),
            note=f"{said.strip()[:_LONGEST_NOTE]}{dropped}".strip(),
            settles=_is_what_was_asked(call.request, self._briefing.request),
            lost=self._lost,
            reflections=self._fresh,
        )
        self._reset()
        return move

    def _stop(self, ending: str, reason: str) -> Stop:
        stop = Stop(ending, reason, self._billed(), self._lost, self._fresh)  # type: ignore[arg-type]  # an Ending
        self._reset()
        return stop

    def _billed(self) -> Usage | None:
        return self._usage if self._asked and not self._unbilled else None

    def _reset(self) -> None:
        self._usage, self._lost, self._fresh, self._asked, self._unbilled = Usage(), 0, (), False, False

    def _saw(self, request: Request, seen: Response, *, settles: bool) -> None:
        self._used += not (seen.succeeded and not settles and is_read(request, self._briefing.read_methods))
        self._trials.append(PastCall(prompt.written(request), prompt.answer(seen)))

    def _heard(self, call: str, text: str, *, failed: bool = False) -> None:
        self._entries.append(ToolResult(call, text, failed) if call else UserMessage(text))

    def _answer_others(self, reply: Reply) -> None:
        """Every call of a tool must be answered. Results keep their order after the first."""
        self._entries.extend(ToolResult(other.id, PARALLEL, failed=True) for other in reply.calls[1:])

    def _reflect(self, seen: Response) -> None:
        if seen.succeeded or self._used >= self._briefing.attempts:
            return
        trajectory = Trajectory(self._briefing.about, self._briefing.prompt, self._trials, self._memory)
        self._fresh = self._agent.strategy.reflect(trajectory, self._answered)
        self._memory.extend(self._fresh)
        if self._fresh and self._fresh[-1].text:
            self._entries.append(UserMessage(f"Your reflection on this: {as_prompt(self._fresh[-1])}"))

    def _answered(self, question: str, schema: Mapping[str, Json] | None) -> ModelAnswer:
        """Ask apart from the conversation, as the reflector of the paper is asked."""
        if schema is not None and self._settings.reflection == "words":
            question = f"{question}\n\nAnswer with one JSON object that fits this schema, and nothing else:\n"
            question += json.dumps(schema)
            schema = None
        instructions = "You reflect on calls of an API. You make none."
        asked = Question(instructions, (UserMessage(question),), schema=schema, schema_name="reflection")
        before = self._usage
        reply = self._ask(asked)
        spent = replace(self._usage, calls=0)
        tokens = spent.input + spent.output - before.input - before.output
        return ModelAnswer(reply.text, tokens)

    def _question(self) -> Question:
        mode = self._settings.mode
        return Question(
            system=prompt.system(self._briefing, mode, self._settings.vocabulary),
            entries=tuple(self._entries),
            tools=prompt.tools(self._briefing.request) if mode == "tools" else (),
        )

    def _ask(self, question: Question) -> Reply:
        """Ask the model and count what it took. Raises Unanswered where the provider fails."""
        document = self._agent.encode(question, self._sampling)
        self._asked = True
        try:
            got = self._wire.ask(document)
        except ProviderError as problem:
            self._usage += Usage(calls=problem.calls)
            raise ProviderFailed(str(problem), self._billed()) from None
        self._usage += Usage(calls=got.calls)
        try:
            reply = self._agent.decode(got.document)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
            said = f"{self._agent.address}: no answer of {self._agent.wire}: {type(problem).__name__}: {problem}"
            raise ProviderFailed(said, self._billed()) from None
        if reply.usage is None:
            self._unbilled = True
        else:
            self._usage += reply.usage
            self._agent.rate.billed(reply.usage.input + reply.usage.output)
        return reply


def _is_what_was_asked(request: Request, first: Request) -> bool:
    """Whether success of a call is what the prompt leads to; a look-up or a step on the way is not."""
    return request.method == first.method and request.path == first.path
