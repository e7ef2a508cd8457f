"""The providers, and an agent made of one of them by a plan.

Knows: which wire format each uses, where its key comes from. Does not know: episodes, arms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from corrigible.conformance.lift.agents.reflection.strategy import STRATEGIES
from corrigible.conformance.lift.plan import AgentPlan
from corrigible.conformance.model.usage_error import UsageError, did_you_mean
from corrigible.schema.exchange import Json

from . import anthropic, openai_chat, openai_responses
from .conversation import Question, Reply, Sampling
from .loop import ModelAgent
from .provider_client import Endpoint
from .rate_limiter import rate_limiter_for
from .settings import Settings, address, checked, is_loopback, settings


@dataclass(frozen=True, slots=True)
class Provider:
    """One wire format, and where it is used."""

    name: str
    wire: str
    base_url: str
    """Empty: there is no default."""
    path: str
    key_env: str
    needs_key: bool
    takes_seed: bool
    headers: Callable[[str], dict[str, str]]
    encode: Callable[[Question, Sampling], dict[str, Json]]
    decode: Callable[[Mapping[str, Json]], Reply]


_OPENAI: Final = "https://api.openai.com/v1"
_ALL: Final = (
    Provider(
        "anthropic", "anthropic-messages/2023-06-01", "https://api.anthropic.com", "/v1/messages", "ANTHROPIC_API_KEY",
        True, False, anthropic.headers, anthropic.encode, anthropic.decode,
    ),
    Provider(
        "openai", "openai-chat-completions/v1", _OPENAI, "/chat/completions", "OPENAI_API_KEY",
        True, True, openai_chat.headers, openai_chat.encode, openai_chat.decode,
    ),
    Provider(
        "openai-responses", "openai-responses/v1", _OPENAI, "/responses", "OPENAI_API_KEY",
        True, False, openai_chat.headers, openai_responses.encode, openai_responses.decode,
    ),
    Provider(  # a key of its own, so that OpenAI's goes to nobody else
        "compatible", "openai-chat-completions/v1", "", "/chat/completions", "COMPATIBLE_API_KEY",
        False, True, openai_chat.headers, openai_chat.encode_compatible, openai_chat.decode,
    ),
)  # fmt: skip
PROVIDERS: Final[Mapping[str, Provider]] = {one.name: one for one in _ALL}


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
    chosen = settings(plan.settings, plan.name)
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
    base = chosen.base_url or provider.base_url
    if not base:
        raise UsageError(f"{provider.name}: where is it? --base-url URL, as http://127.0.0.1:11434/v1")
    loopback = is_loopback(base)
    variable = chosen.key_env or provider.key_env
    # A program on this machine is told a key only where somebody says which.
    key = "" if loopback and not chosen.key_env else environ.get(variable, "").strip()
    if not key and (provider.needs_key or chosen.key_env) and not loopback:
        raise UsageError(f"{provider.name}: {variable} is not set: it holds the key")
    base = checked(base, has_key=bool(key))
    if provider.name == "anthropic":
        base = base.removesuffix("/v1")
    return Endpoint(
        url=base + provider.path,
        shown=address(base + provider.path),
        headers=provider.headers(key),
        secret=key,
        fake=loopback and not chosen.local,
        loopback=loopback,
        timeout=chosen.timeout,
        retries=chosen.retries,
        longest_wait=chosen.longest_wait,
    )
