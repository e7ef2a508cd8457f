"""What a plan takes in tokens before it is run: the arithmetic, what is committed, and one measurement on a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from corrigible.conformance.cli import main
from corrigible.conformance.lift.plan import Plan, made, read_plan
from corrigible.conformance.lift.token_price import MEASURED, Measured, estimates, rendered
from corrigible.schema.exchange import Json

PLANS = Path(__file__).parents[3] / "conformance" / "plans"
COMMITTED = MEASURED.validate_json((PLANS / "tokens.json").read_bytes())
NOT_RUN_YET = ("qwen3-8b", "frontier", "gpt")
TASK = Measured(task="d/t", grpc=False, told=100, call=20, answers={"none": 30, "verbose": 50})


def plan(**members: Json) -> Plan:
    agent = {"name": "openai", "model": "m", **members.pop("agent", {})}
    return made({"arms": ["none", "verbose"], "start": "refusal", "agents": [agent], **members}, "test")


def test_from_one_call_to_every_attempt_answered_as_the_first() -> None:
    one, three = (estimates(plan(attempts=n), [TASK])[0].tokens for n in (1, 3))
    always = one.least_input - 130
    assert always > 0 and one == (always + 130, 20, always + 130, 20)
    # Each question holds those before it: the call, and what it was answered with.
    assert three == (always + 130, 20, 3 * (always + 130) + (20 + 30) * (0 + 1 + 2), 60)


def test_arms_differ_by_what_they_show_and_seeds_multiply() -> None:
    none, verbose = estimates(plan(attempts=1, seeds=[0, 1]), [TASK])
    assert verbose.tokens.least_input - none.tokens.least_input == 2 * (50 - 30)
    assert (none.episodes, verbose.episodes) == (2, 2)


def test_from_the_wish_on_the_first_call_is_an_attempt() -> None:
    from_wish = estimates(plan(attempts=3, start="wish"), [TASK])[0].tokens
    assert from_wish.most_output == 2 * 20


def test_tools_are_paid_for_and_json_needs_none() -> None:
    tools, words = (estimates(plan(agent={"settings": {"mode": mode}}), [TASK])[0] for mode in ("tools", "json"))
    assert tools.tokens.least_input > words.tokens.least_input


def test_prices_make_a_cost() -> None:
    prices: Json = {"date": "2026-01-01", "models": {"m": {"input": 1000, "output": 10000}}}
    priced = list(rendered(plan(attempts=1, arms=["none"], prices=prices), [TASK]))
    tokens = estimates(plan(attempts=1, arms=["none"]), [TASK])[0].tokens
    cost = (tokens.least_input * 1000 + 20 * 10000) / 1e6
    assert [line for line in priced if line.endswith(f"{cost:.2f} to {cost:.2f}")] and "cost" in priced[3]
    assert "cost" not in list(rendered(plan(attempts=1), [TASK]))[3]


@pytest.mark.parametrize("name", NOT_RUN_YET)
def test_the_tokens_of_each_plan_that_was_not_run_are_written_down(name: str) -> None:
    assert "\n".join(rendered(read_plan(PLANS / f"{name}.yaml"), COMMITTED)) in (PLANS / "README.md").read_text("utf-8")


def test_what_is_written_down_is_what_a_server_says_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks, arms = (
        ["--task", "adv_ctx_001", "--task", "adv_impossible_001"],
        "none,verbose,reflective,reflective-patches",
    )
    file = tmp_path / "tokens.json"
    command = ["lift", "run", str(PLANS / "frontier.yaml"), "--domain", "recipe", *tasks, "--arm", arms]
    assert main([*command, "--dry-run", "--tokens", str(file)]) == 0  # no key is set: nothing is asked
    assert "anthropic claude-sonnet-4-6" in capsys.readouterr().out
    known = {one.task: one for one in COMMITTED}
    found = MEASURED.validate_json(file.read_bytes())
    assert [one.task for one in found] == ["recipe/adv_ctx_001", "recipe/adv_impossible_001"]
    for one in found:
        before = known[one.task]
        assert (one.told, one.call) == pytest.approx((before.told, before.call), rel=0.05)
        assert one.answers == pytest.approx({arm: before.answers[arm] for arm in one.answers}, rel=0.05), (
            "measure again, as plans/README.md says"
        )


def test_what_a_dry_run_needs_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lift", "run", "--agents", "stubborn", "--dry-run"]) == 2
    assert "no model plays" in capsys.readouterr().err
    assert main(["lift", "run", "--agents", "stubborn", "--tokens", "x"]) == 2
    assert "--tokens belongs to --dry-run" in capsys.readouterr().err
