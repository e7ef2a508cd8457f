"""The providers, and an agent made of one of them by a plan.

Knows: which wire format each uses, where its key comes from. Does not know: episodes, arms.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from corrigible.conformance.lift.agents.reflection.strategy import STRATEGIES
from corrigible.conformance.lift.plan import AgentPlan
from corrigible.conformance.model.usage_error import UsageError, did_you_mean
from corrigible.model.provider import PROVIDERS, Provider, endpoint
from corrigible.model.provider_client import Endpoint, UnusableProvider, rate_limiter_for

from .loop import ModelAgent
from .settings import Settings, settings


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
