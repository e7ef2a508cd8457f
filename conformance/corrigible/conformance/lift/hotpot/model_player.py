"""A model as actor, reflector and judge, through the suite's client of providers."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from functools import cached_property
from typing import Final, Literal

from corrigible.conformance.lift.agents.model import ModelAgent, identity
from corrigible.conformance.lift.hotpot import player
from corrigible.conformance.lift.hotpot.log import Tokens
from corrigible.conformance.lift.hotpot.run import PlayerFailed
from corrigible.model.conversation import Question as Asked
from corrigible.model.conversation import Sampling, UserMessage
from corrigible.model.provider_client import ProviderClient, ProviderError
from corrigible.schema.exchange import Json

_OF_CALLS: Final = frozenset({"mode", "first_request", "vocabulary"})
"""Settings that say how a call of an API is written."""


class ModelPlayer:
    """Asks a model; a structured answer is constrained by JSON Schema (llama.cpp makes a grammar of it).

    Where `constrained` is set, as it is for `--local-model`, the actor's steps are so, too.
    """

    kind: Literal["model"] = "model"

    def __init__(self, agent: ModelAgent, seed: int) -> None:
        self._agent, self._seed = agent, seed
        self._client = ProviderClient(agent.endpoint, agent.rate, random.Random(seed), sleep=agent.sleep)

    def close(self) -> None:
        self._client.close()

    @property
    def name(self) -> str:
        return self._agent.name

    @cached_property
    def identity(self) -> Mapping[str, Json]:
        agent = self._agent
        chosen = {name: value for name, value in identity(agent.settings).items() if name not in _OF_CALLS}
        return {
            "provider": agent.provider, "wire": agent.wire, "model": agent.model, "address": agent.address,
            "fake": agent.endpoint.fake, "prompt": player.WORDS, **chosen,
        }  # fmt: skip

    def act(self, view: player.View) -> player.Said:
        if not self._agent.settings.constrained:
            return self._ask(player.PROMPTS["actor"], player.actor_prompt(view), view.number)
        said = self._ask(player.PROMPTS["constrained"], player.actor_prompt(view), view.number, player.STEP_SCHEMA)
        return player.Said(player.as_step(said.text), said.tokens)

    def reflect(self, view: player.View, form: Literal["free", "structured", "lifted"]) -> player.Said:
        schema = player.BOUNDED_REFLECTION_SCHEMA if self._agent.settings.constrained else player.REFLECTION_SCHEMA
        text = player.reflector_prompt(view, form)
        return self._ask(player.PROMPTS["reflector"], text, view.number, schema if form == "structured" else None)

    def judge(self, question: str, gold: str, answer: str) -> player.Said:
        return self._ask(
            player.PROMPTS["judge"], player.judge_prompt(question, gold, answer), 0, player.PROMPTS["judge_schema"]
        )

    def _ask(self, system: str, text: str, number: int, schema: Mapping[str, Json] | None = None) -> player.Said:
        agent = self._agent
        if schema is not None and agent.settings.reflection == "words":
            text = f"{text}\n\nAnswer with one JSON object that fits this schema, and nothing else:\n"
            text += json.dumps(schema)
            schema = None
        sampling = Sampling(
            model=agent.model,
            max_tokens=agent.settings.max_tokens,
            temperature=agent.settings.temperature,
            # Of the trial too: where nothing was reflected, a trial would else only be the one before again.
            seed=self._seed * 1000 + number if agent.takes_seed and agent.settings.seed else None,
            extra=agent.settings.extra,
        )
        document = agent.encode(Asked(system, (UserMessage(text),), schema=schema), sampling)
        try:
            reply = agent.decode(self._client.ask(document).document)
        except ProviderError as problem:
            raise PlayerFailed(str(problem)) from None
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
            raise PlayerFailed(f"{agent.address}: no answer of {agent.wire}: {type(problem).__name__}") from None
        usage = reply.usage
        if usage is not None:
            agent.rate.billed(usage.input + usage.output)
        text = reply.text.encode("utf-8", "replace").decode()  # a lone surrogate, which a model may write, has no UTF-8
        return player.Said(text, Tokens(input=usage.input, output=usage.output) if usage is not None else None)
