"""A model in a retry loop: call, read the answer, perhaps reflect, call again, until it is done or out of attempts.

Also how it is to be asked: its settings in a plan, its provider. A key is read late and kept nowhere else.
Knows: briefings, conversations, strategies, providers. Does not know: arms, what would be a success.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from corrigible.conformance.lift.agents import prompt
from corrigible.conformance.lift.agents.prompt import Call, Finish, Mode, Unreadable, Vocabulary, action
from corrigible.conformance.lift.agents.protocol import Briefing, Move, Response, Send, Stop, is_read
from corrigible.conformance.lift.agents.reflection import (
    STRATEGIES,
    ModelAnswer,
    PastCall,
    Strategy,
    Trajectory,
    as_prompt,
)
from corrigible.conformance.lift.log import Reflection
from corrigible.conformance.lift.plan import AgentPlan
from corrigible.conformance.model.outcome import UsageError, did_you_mean
from corrigible.conformance.model.yaml_file import checked
from corrigible.model.conversation import (
    PARALLEL,
    Entry,
    ModelMessage,
    Question,
    Reply,
    Sampling,
    ToolResult,
    Usage,
    UserMessage,
)
from corrigible.model.provider_client import (
    PROVIDERS,
    Endpoint,
    Provider,
    ProviderClient,
    ProviderError,
    RateLimiter,
    UnusableProvider,
    endpoint,
    rate_limiter_for,
)
from corrigible.schema.exchange import Json, Request


class Settings(BaseModel):
    """What may stand under `settings` of an agent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    """What the agent is called in reports; default: PROVIDER:MODEL, and the strategy where there is one."""
    base_url: str = ""
    """Of the provider's API. `compatible` needs it: http://127.0.0.1:11434/v1 for Ollama, :8000/v1 for vLLM,
    :1234/v1 for LM Studio."""
    key_env: str = ""
    """The environment variable that holds the key; default: the provider's own."""
    local: bool = False
    """What answers at a loopback address is a model that runs here. Without it such an agent counts as a fake."""
    mode: Mode = "tools"
    """`json`: for models that know no tools."""
    constrained: bool = False
    """With mode=json, for `compatible` servers that can: decode nothing but the form of an answer (JSON Schema)."""
    first_request: Literal["fixed", "agent"] = "fixed"
    """`fixed`: every episode starts with the task's own request, so that arms differ in its response only, and every
    pair of episodes compares recoveries from the same error. `agent`: the model writes it; some then meet no error."""
    vocabulary: Vocabulary = "sentence"
    """Whether the prompt says nothing of feedback, that it may come, or what its words mean: the same in every arm."""
    reflection: Literal["schema", "words"] = "schema"
    """`words`: ask for a structured reflection in words only, where a server cannot constrain decoding."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """None: the provider's. Newer models of Anthropic and OpenAI refuse to be told one."""
    max_tokens: int = Field(default=4096, ge=16)
    """Of one answer, reasoning included."""
    seed: bool = True
    """Send the episode's seed where the API has a place for it (chat completions)."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds that one request may take."""
    retries: int = Field(default=5, ge=0, le=20)
    """Of one question, where the provider is busy."""
    longest_wait: float = Field(default=60.0, ge=0)
    """Seconds that a provider may let wait before the next try; beyond that the episode is an error."""
    tokens_per_minute: float | None = Field(default=None, gt=0)
    extra: dict[str, Any] = Field(default_factory=dict)
    """Further members of every request, in the provider's words: {reasoning_effort: low}. No secrets."""

    @model_validator(mode="after")
    def _has_a_form(self) -> Settings:
        if self.constrained and self.mode != "json":
            raise ValueError("constrained: tools have a form already: set mode=json")
        return self

    @field_validator("extra")
    @classmethod
    def _leaves_the_conversation(cls, value: dict[str, Any]) -> dict[str, Any]:
        if reserved := sorted(_CONVERSATION & set(value)):
            raise ValueError(f"{', '.join(reserved)}: what is asked is not a setting")
        return value


_CONVERSATION = frozenset({"model", "messages", "input", "system", "instructions", "tools", "tool_choice", "stream"})
_NOT_IDENTITY = frozenset(
    {"name", "base_url", "key_env", "local", "timeout", "retries", "longest_wait", "tokens_per_minute"}
)
"""Changes how an answer is got, never which."""


def identity(chosen: Settings) -> dict[str, Any]:
    """Return the settings that a result depends on."""
    return chosen.model_dump(mode="json", exclude=set(_NOT_IDENTITY))


VERSION: Final = 4
"""Grows with every change of the loop that changes what a model does."""
_LONGEST_NOTE: Final = 500


class ProviderFailed(Exception):
    """A provider failed in the middle of an episode."""

    def __init__(self, text: str, usage: Usage | None) -> None:
        super().__init__(text)
        self.usage = usage
        """Billed since the last move, which no later move reports."""


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
        """PROVIDER:MODEL, and the strategy if there is one; a fake's name says so."""
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

    def sampling(self, seed: int) -> Sampling:
        """Return how an answer is drawn."""
        chosen = self.settings
        sent = seed if self.takes_seed and chosen.seed else None
        return Sampling(self.model, chosen.max_tokens, chosen.temperature, sent, chosen.extra)

    def apart(self, system: str, text: str, schema: Mapping[str, Json] | None, name: str = "reflection") -> Question:
        """Return a question outside of any conversation; its schema in words where a server cannot constrain."""
        if schema is not None and self.settings.reflection == "words":
            text += f"\n\nAnswer with one JSON object that fits this schema, and nothing else:\n{json.dumps(schema)}"
            schema = None
        return Question(system, (UserMessage(text),), schema=schema, schema_name=name)

    def ask(self, client: ProviderClient, question: Question, sampling: Sampling) -> tuple[Reply, int]:
        """Return the reply, and how many requests it took. Raises ProviderFailed with the usage of these requests."""
        try:
            answer = client.ask(self.encode(question, sampling))
        except ProviderError as problem:
            raise ProviderFailed(str(problem), Usage(calls=problem.calls)) from None
        try:
            reply = self.decode(answer.document)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
            said = f"{self.address}: no answer of {self.wire}: {type(problem).__name__}: {problem}"
            raise ProviderFailed(said, Usage(calls=answer.calls)) from None
        if reply.usage is not None:
            self.rate.billed(reply.usage.input + reply.usage.output)
        return reply, answer.calls

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        """Play one episode."""
        text = json.dumps([self.name, seed, briefing.prompt])
        with closing(ProviderClient(self.endpoint, self.rate, random.Random(text), sleep=self.sleep)) as client:
            yield from _EpisodeLoop(self, briefing, seed, client).moves()


class _EpisodeLoop:
    """One episode from the model's side."""

    def __init__(self, agent: ModelAgent, briefing: Briefing, seed: int, client: ProviderClient) -> None:
        self._agent, self._briefing, self._client = agent, briefing, client
        self._settings = agent.settings
        self._sampling = agent.sampling(seed)
        self._conversation: list[Entry] = []
        self._past_calls: list[PastCall] = []
        self._memory: list[Reflection] = []
        self._used = 0
        """Attempts, lost ones too."""
        self._new_reflections: tuple[Reflection, ...] = ()
        self._lost = 0
        self._usage = Usage()
        self._asked = self._unbilled = False

    def moves(self) -> Generator[Move, Response, None]:
        start = prompt.opening(self._briefing)
        if self._briefing.refusal is not None:
            response = self._briefing.refusal
            self._past_calls.append(PastCall(prompt.written(self._briefing.request), prompt.answer(response)))
            self._conversation.append(UserMessage(f"{start}\n\n{prompt.refused(self._briefing.request, response)}"))
            self._reflect(response)
        elif self._settings.first_request == "fixed":
            response = yield Send(self._briefing.request)
            self._record_call(self._briefing.request, response, settles=True)
            start = f"{start}\n\n{prompt.given(self._briefing.request, response)}"
            self._conversation.append(UserMessage(start))
            self._reflect(response)
        else:
            self._conversation.append(UserMessage(start))
        while self._used < self._briefing.attempts:
            decision = self._next_action()
            if isinstance(decision, Stop):
                yield decision
                return
            call, text = decision
            send = self._send(call, text)
            response = yield send
            self._record_call(call.request, response, settles=send.ends_episode)
            self._tell_model(call.id, prompt.answer(response))
            self._reflect(response)
        yield self._stop("gave up", "no attempt left")

    def _next_action(self) -> tuple[Call, str] | Stop:
        """Return the model's next call. An unreadable reply costs an attempt; after the second one the model stops."""
        warned = False
        while True:
            reply = self._ask(self._question())
            self._conversation.append(ModelMessage(reply))
            if reply.why == "refusal":
                return self._stop("gave up", f"the model refused: {reply.text[:_LONGEST_NOTE]}")
            decision = self._read(reply)
            match decision:
                case Finish(ending=ending, reason=reason):
                    return self._stop(ending, reason[:_LONGEST_NOTE])
                case Call():
                    self._reject_parallel_calls(reply)
                    return decision, reply.text
            self._lost += 1
            self._used += 1
            if warned or self._used >= self._briefing.attempts:
                return self._stop("unreadable", f"no call that could be read: {decision.problem}")
            warned = True
            self._tell_model(
                decision.id, f"This could not be carried out, and counts as a call: {decision.problem}", failed=True
            )
            self._reject_parallel_calls(reply)

    def _read(self, reply: Reply) -> Call | Finish | Unreadable:
        request = self._briefing.request
        tools = self._settings.mode == "tools"
        return action(reply, tools=tools, grpc=prompt.is_grpc(request), form=request.form)

    def _send(self, call: Call, text: str) -> Send:
        dropped = f" (left out: {', '.join(call.dropped)})" if call.dropped else ""
        move = Send(
            call.request,
            wait=call.wait,
            usage=self._billed(),
            note=f"{text.strip()[:_LONGEST_NOTE]}{dropped}".strip(),
            ends_episode=_is_same_operation(call.request, self._briefing.request),
            lost=self._lost,
            reflections=self._new_reflections,
        )
        self._reset()
        return move

    def _stop(self, ending: str, reason: str) -> Stop:
        stop = Stop(ending, reason, self._billed(), self._lost, self._new_reflections)  # type: ignore[arg-type]  # an Ending
        self._reset()
        return stop

    def _billed(self) -> Usage | None:
        return self._usage if self._asked and not self._unbilled else None

    def _reset(self) -> None:
        self._usage, self._lost, self._new_reflections, self._asked, self._unbilled = Usage(), 0, (), False, False

    def _record_call(self, request: Request, response: Response, *, settles: bool) -> None:
        self._used += not (response.succeeded and not settles and is_read(request, self._briefing.read_methods))
        self._past_calls.append(PastCall(prompt.written(request), prompt.answer(response)))

    def _tell_model(self, call: str, text: str, *, failed: bool = False) -> None:
        self._conversation.append(ToolResult(call, text, failed) if call else UserMessage(text))

    def _reject_parallel_calls(self, reply: Reply) -> None:
        """Answer every further tool call: providers demand a result for each."""
        self._conversation.extend(ToolResult(other.id, PARALLEL, failed=True) for other in reply.calls[1:])

    def _reflect(self, response: Response) -> None:
        if response.succeeded or self._used >= self._briefing.attempts:
            return
        trajectory = Trajectory(self._briefing.about, self._briefing.prompt, self._past_calls, self._memory)
        self._new_reflections = self._agent.strategy.reflect(trajectory, self._ask_apart)
        self._memory.extend(self._new_reflections)
        if self._new_reflections and self._new_reflections[-1].text:
            self._conversation.append(UserMessage(f"Your reflection on this: {as_prompt(self._new_reflections[-1])}"))

    def _ask_apart(self, question: str, schema: Mapping[str, Json] | None) -> ModelAnswer:
        """Ask outside of the conversation, as the paper's reflector does."""
        before = self._usage
        reply = self._ask(self._agent.apart("You reflect on calls of an API. You make none.", question, schema))
        usage = replace(self._usage, calls=0)
        tokens = usage.input + usage.output - before.input - before.output
        return ModelAnswer(reply.text, tokens)

    def _question(self) -> Question:
        mode = self._settings.mode
        return Question(
            system=prompt.system(self._briefing, mode, self._settings.vocabulary),
            entries=tuple(self._conversation),
            tools=prompt.tools(self._briefing.request) if mode == "tools" else (),
            schema=prompt.form(self._briefing.request) if mode == "json" and self._settings.constrained else None,
            schema_name="call",
        )

    def _ask(self, question: Question) -> Reply:
        """Ask the model and add up its usage. Raises ProviderFailed."""
        self._asked = True
        try:
            reply, calls = self._agent.ask(self._client, question, self._sampling)
        except ProviderFailed as problem:
            self._usage += problem.usage or Usage()
            raise ProviderFailed(str(problem), self._billed()) from None
        self._usage += Usage(calls=calls)
        if reply.usage is None:
            self._unbilled = True
        else:
            self._usage += reply.usage
        return reply


def _is_same_operation(request: Request, first: Request) -> bool:
    """Return whether a request calls the task's own operation, and not a look-up or a step on the way."""
    return request.method == first.method and request.path == first.path


def named(text: str) -> tuple[str, str]:
    """Split `PROVIDER:MODEL`. A model's own name may hold colons. Raises UsageError where it is none."""
    provider, _, model = text.partition(":")
    if provider not in PROVIDERS:
        known = ", ".join(PROVIDERS)
        raise UsageError(f"{text}: no provider {provider!r}{did_you_mean(provider, PROVIDERS)} (there are {known})")
    if not model:
        raise UsageError(f"{text}: names no model: {provider}:NAME")
    return provider, model


def build(plan: AgentPlan, rate: float | None = None, environ: Mapping[str, str] = os.environ) -> ModelAgent:
    """Return the agent that a plan describes. Raises UsageError for what is missing."""
    provider = PROVIDERS[plan.name]
    chosen = checked(Settings, plan.settings, plan.name, "settings")
    if chosen.constrained and plan.name != "compatible":
        raise UsageError(f"{plan.name}: constrained: it takes closed objects only, and a body is open")
    if not plan.model:
        raise UsageError(f"{plan.name}: no model is named: --model {plan.name}:NAME")
    if plan.strategy not in STRATEGIES:
        raise UsageError(
            f"no strategy {plan.strategy!r}{did_you_mean(plan.strategy, STRATEGIES)}"
            f" (there are {', '.join(STRATEGIES)})"
        )
    endpoint = _endpoint(provider, chosen, environ)
    host = urlsplit(endpoint.url).netloc
    return ModelAgent(
        provider=provider.name,
        wire=provider.wire,
        model=plan.model,
        address=endpoint.shown,
        settings=chosen,
        strategy=STRATEGIES[plan.strategy],
        encode=provider.encode,
        decode=provider.decode,
        takes_seed=provider.takes_seed,
        endpoint=endpoint,
        rate=rate_limiter_for(host, rate, chosen.tokens_per_minute),
    )


def _endpoint(provider: Provider, chosen: Settings, environ: Mapping[str, str]) -> Endpoint:
    try:
        return endpoint(
            provider,
            base_url=chosen.base_url,
            key_env=chosen.key_env,
            local=chosen.local,
            environ=environ,
            timeout=chosen.timeout,
            retries=chosen.retries,
            longest_wait=chosen.longest_wait,
        )
    except UnusableProvider as problem:
        raise UsageError(str(problem)) from None
