"""The whole path of a model, run as the command runs it: real servers behind the proxy, a fake of a provider, the log.

What comes out says nothing about any model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from corrigible.conformance.cli import main
from corrigible.conformance.lift.store import read

from .fake_provider import FakeProvider, Speaks, calls, error, follower, last_exchange, stubborn

TASK = "--domain=recipe", "--task=recipe/*001*", "--arm=verbose,reflective-patches", "--quiet"


def run(fake: FakeProvider, out: Path, *more: str) -> int:
    model = f"{fake.wire}:some-model"
    return main(["lift", "run", *TASK, "--model", model, "--base-url", fake.base_url, "--out", str(out), *more])


def timeless(value: Any) -> Any:
    match value:
        case dict():
            return {name: timeless(inner) for name, inner in value.items() if name not in ("seconds", "at")}
        case list():
            return [timeless(inner) for inner in value]
        case _:
            return value


def lines(out: Path) -> Sequence[Any]:
    found = [timeless(json.loads(line)) for line in (out / "log.jsonl").read_text("utf-8").splitlines()]
    return sorted(found, key=lambda one: str(one.get("key", "")))


@pytest.mark.parametrize("wire", ["anthropic", "openai", "openai-responses", "compatible"])
def test_a_run_over_the_wire_solves_where_feedback_says_how_and_says_that_it_was_a_fake(
    wire: str, tmp_path: Path
) -> None:
    trouble = [error(wire, 429, "rate_limit_error", "slow down", {"retry-after": "0.01"}), None]
    with FakeProvider(wire, follower, trouble) as fake:
        assert run(fake, tmp_path) == 0
    assert fake.problems == []
    log = read(tmp_path)
    assert {one.outcome for one in log.episodes} <= {"success", "failure"} and len(log.episodes) >= 4
    by_arm = {arm: [one for one in log.episodes if one.arm == arm] for arm in ("verbose", "reflective-patches")}
    assert all(one.outcome == "success" for one in by_arm["reflective-patches"])
    assert any(one.outcome == "failure" for one in by_arm["verbose"])
    spent = [one.spent for one in log.episodes if one.spent is not None]
    assert sum(one.calls for one in spent) == len(fake.asked)
    assert all(sum(one.by_turn) <= one.input + one.output for one in spent)
    ((name, document),) = log.manifest.agents.items()
    assert name.startswith("fake ") and document["identity"]["fake"] is True
    assert all(one.agent == name and one.kind == "model" for one in log.episodes)
    for one in log.episodes:
        arms = {"verbose", "reflective", "recovery_feedback"} if one.arm == "verbose" else set[str]()
        shown = json.dumps([turn.shown for turn in one.turns])
        assert not any(word in shown for word in arms)


def test_two_runs_with_one_seed_differ_in_times_only(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with FakeProvider("anthropic", stubborn) as fake:
            assert run(fake, tmp_path / name, "--strategy=adaptive") == 0
    assert lines(tmp_path / "a") == lines(tmp_path / "b")
    episodes = read(tmp_path / "a").episodes
    made = [one for episode in episodes for turn in episode.turns for one in turn.reflections]
    assert any(one.lifted for one in made) and all(one.tokens for one in made)
    assert {episode.strategy for episode in episodes} == {"adaptive"}


def test_attempts_that_came_to_no_call_are_in_the_record(tmp_path: Path) -> None:
    def clumsy(heard: Any) -> Speaks:
        if heard.turns[-1][0] == "tool":
            call, _ = last_exchange(heard)
            assert call is not None
            return calls(call, heard)
        return Speaks("", (("call_api", "{"),))

    with FakeProvider("openai", clumsy) as fake:
        assert run(fake, tmp_path, "--arm=verbose") == 0
    for one in read(tmp_path).episodes:
        assert one.attempts == len(one.turns) + sum(turn.lost for turn in one.turns)
        assert any(turn.lost for turn in one.turns)


def test_a_provider_that_stays_away_makes_errors_that_name_no_key_and_bills_what_was_billed(tmp_path: Path) -> None:
    away = [error("openai", 401, "invalid_api_key", "Incorrect API key provided: sk-abcdef0123456789")] * 50
    with FakeProvider("openai", follower, away) as fake:
        assert run(fake, tmp_path) == 2
    for one in read(tmp_path).episodes:
        assert one.outcome == "error" and "401" in one.why and "sk-" not in one.why
        assert one.spent is not None and one.spent.calls == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--strategy=free"], "belong to a --model"),
        (["--model=openai"], "names no model"),
        (["--model=opnai:x"], 'did you mean "openai"'),
        (["--model=compatible:x"], "where is it"),
        (["--model=compatible:x", "--set", "temperature"], "NAME=VALUE"),
    ],
)
def test_options_that_make_no_sense_are_said(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lift", "run", *TASK, "--out", str(tmp_path), *arguments]) == 2
    assert said in capsys.readouterr().err
