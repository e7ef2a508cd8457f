"""From a plan to a model of a provider: names, keys and addresses, and who may pass for a model."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from corrigible.conformance.cli import parser
from corrigible.conformance.command import lift_options
from corrigible.conformance.lift.agents import model
from corrigible.conformance.lift.agents.model import ProviderFailed, build, named
from corrigible.conformance.lift.agents.registry import agents
from corrigible.conformance.lift.plan import AgentPlan, made
from corrigible.conformance.model.outcome import UsageError
from tests._support.rows import rows

from .fake_provider import FakeProvider, follower
from .shop import KEY, agent, played


def test_what_answers_at_a_loopback_address_counts_as_a_fake_and_says_so_in_its_name() -> None:
    with FakeProvider("compatible", follower) as fake:
        one, other = agent(fake), agent(fake)
    assert one.identity["fake"] is True and one.name == "fake compatible:some-model"
    assert one.identity == other.identity and ":" not in str(one.identity["address"]).partition("//")[2]


def test_a_model_on_this_machine_is_none_but_our_own_fakes_cannot_pass_for_one() -> None:
    with FakeProvider("compatible", follower) as fake:
        who = agent(fake, local=True)
        assert who.identity["fake"] is False and who.name == "compatible:some-model"
        with pytest.raises(ProviderFailed, match="fake"):
            played(who)


def test_a_name_tells_provider_model_and_strategy() -> None:
    plan = AgentPlan(name="anthropic", model="claude-haiku-4-5", strategy="structured")
    who = build(plan, environ={"ANTHROPIC_API_KEY": KEY})
    assert who.name == "anthropic:claude-haiku-4-5+structured" and who.identity["strategy"] == "structured"
    assert who.endpoint.url == "https://api.anthropic.com/v1/messages" and who.endpoint.headers["x-api-key"] == KEY


WRONG: tuple[tuple[str, dict[str, Any], dict[str, str], str], ...] = (
    ("anthropic", {}, {}, "ANTHROPIC_API_KEY is not set"),
    ("openai", {"key_env": "MY_KEY"}, {}, "MY_KEY is not set"),
    ("compatible", {}, {}, "where is it"),
    ("openai", {"base_url": "http://models.example/v1"}, {"OPENAI_API_KEY": KEY}, "unencrypted"),
    ("compatible", {"base_url": "https://me:pass@models.example/v1"}, {}, "credentials"),
    ("compatible", {"base_url": "models.example"}, {}, "http"),
    ("openai", {"temprature": 1}, {"OPENAI_API_KEY": KEY}, 'did you mean "temperature"'),
    ("openai", {"extra": {"messages": []}}, {"OPENAI_API_KEY": KEY}, "not a setting"),
    ("openai", {"max_tokens": "many"}, {"OPENAI_API_KEY": KEY}, "settings.max_tokens"),
)


@rows(("name", "settings", "environ", "said"), WRONG)
def test_what_is_missing_or_unsafe_is_said_before_anything_is_sent(
    name: str, settings: dict[str, Any], environ: dict[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        build(AgentPlan(name=name, model="m", settings=settings), environ=environ)


def test_an_unknown_strategy_is_said_with_the_one_that_was_meant() -> None:
    with pytest.raises(UsageError, match='did you mean "structured"'):
        build(AgentPlan(name="openai", model="m", strategy="structred"), environ={"OPENAI_API_KEY": KEY})


def test_a_program_on_this_machine_gets_no_key_that_is_not_named_for_it() -> None:
    plan = AgentPlan(name="openai", model="m", settings={"base_url": "http://127.0.0.1:9/v1"})
    assert "authorization" not in build(plan, environ={"OPENAI_API_KEY": KEY}).endpoint.headers
    compatible = AgentPlan(name="compatible", model="m", settings={"base_url": "https://models.example/v1"})
    assert "authorization" not in build(compatible, environ={"OPENAI_API_KEY": KEY}).endpoint.headers


def test_a_model_is_named_by_its_provider_and_may_hold_colons() -> None:
    assert named("compatible:qwen3:8b") == ("compatible", "qwen3:8b")
    with pytest.raises(UsageError, match='did you mean "anthropic"'):
        named("antropic:claude")
    with pytest.raises(UsageError, match="names no model"):
        named("openai")


def test_the_catalogue_builds_models_from_a_plan() -> None:
    plan = AgentPlan(name="compatible", model="qwen3:8b", settings={"base_url": "http://127.0.0.1:9/v1", "local": True})
    (who,) = agents((plan,))
    assert who.name == "compatible:qwen3:8b" and who.kind == "model"


def test_the_commands_of_the_guide_are_taken() -> None:
    guide = Path(model.__file__).with_name("README.md").read_text("utf-8")
    lines = re.findall(r"^(?:\w+=\S+ )?conformance (.*(?:\\\\\n.*)*)", guide.replace("\\\n", " "), re.MULTILINE)
    assert len(lines) == 6
    for line in lines:
        args = parser().parse_args(shlex.split(line))
        assert args.plan is not None or lift_options.plans(args)
    (document,) = re.findall(r"^```yaml\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    plan = made(yaml.safe_load(document), "guide")
    assert [who.name for who in agents(plan.agents, plan.rate)][-1] == "compatible:qwen3:8b+adaptive"
