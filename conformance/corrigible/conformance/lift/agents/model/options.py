"""The options of `conformance lift run` for models: a shorthand for agents of a plan.

Knows: argparse, names. Does not know: episodes, wire formats.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import yaml

from corrigible.conformance.lift.agents.reflection.strategy import STRATEGIES
from corrigible.conformance.model.usage_error import UsageError
from corrigible.model.provider import PROVIDERS
from corrigible.schema.exchange import Json

from .provider import named


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of models that call an API."""
    group = add_models(parser)
    group.add_argument(
        "--strategy",
        action="append",
        default=[],
        metavar="NAME,...",
        help=f"reflection between calls: {', '.join(STRATEGIES)}; default: none",
    )
    group.add_argument(
        "--first-request",
        choices=("fixed", "agent"),
        help="fixed (default): every episode starts with the task's request",
    )
    group.add_argument(
        "--vocabulary", action="store_true", help="explain the words of feedback in the prompt, the same in every arm"
    )


def add_models(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options of models, whatever they are asked for, and return their group."""
    group = parser.add_argument_group("models", "keys come from the environment; they are neither logged nor recorded")
    group.add_argument(
        "--model", action="append", default=[], metavar="PROVIDER:NAME", help=f"PROVIDER: {', '.join(PROVIDERS)}"
    )
    group.add_argument(
        "--base-url", default="", metavar="URL", help="base URL of the provider's API or of a local server"
    )
    group.add_argument("--local", action="store_true", help="a server on this machine is a real model, not a fake")
    group.add_argument(
        "--local-model",
        metavar="NAME",
        help="start a small model on this machine, and play with it: smollm2 (extra `local`); slow, and weak",
    )
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any other setting: mode=json, temperature=0, max_tokens=8192, extra={reasoning_effort: low}",
    )
    group.add_argument(
        "--rate", type=float, metavar="N", help="requests per minute to one provider, all episodes together"
    )
    return group


def plans(args: argparse.Namespace) -> list[dict[str, Json]]:
    """Return the agents that the options name, one for each model and strategy. Raises UsageError."""
    settings = _settings(args)
    strategies = [part for strategy in args.strategy for part in strategy.split(",") if part]
    if not args.model and not args.local_model and (settings or strategies):
        raise UsageError("--strategy, --base-url, --set and the like belong to a --model PROVIDER:NAME")
    return [
        {"name": provider, "model": model, "strategy": strategy, "settings": settings}
        for provider, model in map(named, args.model)
        for strategy in dict.fromkeys(strategies or ["none"])
    ]


LOCAL: Final[Mapping[str, Json]] = MappingProxyType(
    {"local": True, "mode": "json", "constrained": True, "temperature": 0, "max_tokens": 256, "timeout": 600.0}
)
"""Settings of a model that `--local-model` starts; `--set` changes them."""


def local_plan(args: argparse.Namespace, base_url: str) -> dict[str, Json]:
    """Return the agent that plays with the model at an address of this machine."""
    chosen = {**LOCAL, "name": f"local:{args.local_model}", **_settings(args), "base_url": base_url}
    return {"name": "compatible", "model": args.local_model, "settings": chosen}


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    pairs = dict(_pairs(args.set))
    if args.base_url:
        pairs["base_url"] = args.base_url
    if args.local:
        pairs["local"] = True
    if args.first_request:
        pairs["first_request"] = args.first_request
    if args.vocabulary:
        pairs["vocabulary"] = "words"
    return pairs


def _pairs(options: Sequence[str]) -> list[tuple[str, Any]]:
    pairs = []
    for text in options:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"--set {text}: write NAME=VALUE")
        try:
            pairs.append((name.strip(), yaml.safe_load(value)))
        except yaml.YAMLError as problem:
            raise UsageError(f"--set {text}: {problem}") from None
    return pairs
