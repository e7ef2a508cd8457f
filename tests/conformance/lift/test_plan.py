"""Plans: what they mean, what is said of mistakes, and that a hash proves what was declared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrigible.conformance.lift.agents.registry import agents
from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.log import Episode, Spent
from corrigible.conformance.lift.plan import AgentPlan, Plan, Prices, digest_of, made, read_plan
from corrigible.conformance.lift.run import priced
from corrigible.conformance.model.outcome import UsageError
from tests._support.rows import rows

WHOLE = """
domains: [stripe]
tasks: ["refund-*", "stripe/charge-*"]
arms: [verbose, reflective-patches]
agents:
  - patch-executor
  - {name: anthropic, model: claude-x, strategy: structured, settings: {temperature: 0}}
seeds: [0, 1]
concurrency: 8
rate: 60
cost_cap: 5
prices: {date: 2026-11-01, models: {claude-x: {input: 3, output: 15, cached: 0.3}}}
registered:
  hypothesis: structure beats verbosity
  primary: [reflective-patches, verbose]
  margin: 0.1
  exclusions: [episodes that are errors]
"""


def test_a_whole_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(WHOLE)
    plan = read_plan(tmp_path / "plan.yaml")
    assert plan.agents[0] == AgentPlan(name="patch-executor")
    assert plan.agents[1].settings == {"temperature": 0}
    assert plan.registered.primary == (Arm.PATCHES, Arm.VERBOSE)


def test_an_empty_plan_means_all_arms_and_all_scripts(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("")
    plan = read_plan(tmp_path / "plan.yaml")
    assert plan.arms == tuple(Arm)[:-1] and [one.name for one in plan.agents] == ["scripted"] and plan.attempts == 5


@rows(
    ("text", "said"),
    [
        ("arm: [none]", 'unknown key "arm"; did you mean "arms"'),
        (
            "arms: [refletive]",
            'did you mean "reflective"',
        ),
        ("attempts: 0", "attempts: Input should be greater"),
        ("arms: []", "arms: none is named"),
        ("[1]", "valid dictionary"),
        ("a: [", "plan.yaml"),
        ("cost_cap: 1\nagents: [{name: openai, model: gpt-x}]", "cost_cap: no price for gpt-x"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(UsageError) as problem:
        read_plan(tmp_path / "plan.yaml")
    assert said in str(problem.value)


def test_whatever_is_declared_changes_the_hash() -> None:
    plain = made({}, "here")
    changed: list[dict[str, Any]] = [
        {"seeds": [1]},
        {"registered": {"margin": 0.1}},
        {"arms": ["none"]},
        {"registered": {"hypothesis": "h"}},
    ]
    assert len({plain.digest, *(made(one, "here").digest for one in changed)}) == 5
    assert made({}, "there").digest == plain.digest


def test_the_order_of_members_does_not_change_a_hash() -> None:
    assert digest_of({"a": 1, "b": [1]}) == digest_of({"b": [1], "a": 1}) != digest_of({"a": 1, "b": [2]})


def test_scripts_wait_for_nothing_and_models_do() -> None:
    assert Plan().wait_for("scripted") == 0 and Plan().wait_for("model") == 30
    assert Plan(longest_wait=2).wait_for("scripted") == 2


def test_an_agent_that_is_none_is_named() -> None:
    with pytest.raises(UsageError, match='"patch-executor"'):
        agents([AgentPlan(name="patch-exectuor")])


def test_scripted_means_all_of_them_once() -> None:
    names = [one.name for one in agents([AgentPlan(name="scripted"), AgentPlan(name="scripted")])]
    assert "patch-executor" in names and len(names) == len(set(names))


def test_cached_tokens_cost_what_they_cost() -> None:
    prices = Prices.model_validate({"date": "2026-11-01", "models": {"m": {"input": 3, "output": 15, "cached": 0.3}}})
    spent = Spent(input=1_000_000, cached=400_000, output=100_000)
    episode = Episode(
        key="k", task="t", domain="d", needs="nothing", arm="none", agent="a", kind="model", seed=0, outcome="success",
        spent=spent,
    )  # fmt: skip
    assert priced(episode, prices, "m") == pytest.approx(0.6 * 3 + 0.4 * 0.3 + 0.1 * 15)
    assert priced(episode, prices, "other") == 0


def test_scripts_do_not_play_the_control_for_length_unless_it_is_named() -> None:
    model = {"name": "compatible", "model": "m"}
    assert Arm.LENGTH not in made({}, "here").arms and Arm.LENGTH not in made({"agents": ["stubborn"]}, "here").arms
    assert Arm.LENGTH in made({"agents": ["stubborn", model]}, "here").arms
    assert made({"arms": ["length-matched"]}, "here").arms == (Arm.LENGTH,)


def test_a_first_request_of_ones_own_does_not_go_with_the_refusal() -> None:
    agent = {"name": "compatible", "model": "m", "settings": {"first_request": "agent"}}
    with pytest.raises(UsageError, match="first_request of compatible: belongs to `start: wish`"):
        made({"start": "refusal", "agents": [agent]}, "here")
    assert made({"agents": [agent]}, "here").start == "wish"


def test_a_start_that_there_is_not_is_said() -> None:
    with pytest.raises(UsageError, match="here: start: "):
        made({"start": "middle"}, "here")
