"""The whole path of a model, run as the command runs it: real servers behind the proxy, fakes of providers, the log.

What comes out says nothing about any model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from corrigible.conformance.cli import main
from corrigible.conformance.lift.log import Episode, Log, read

from .fake_provider import FakeProvider, Mind, calls, error, follower, last_exchange, stubborn
from .wire_formats import Heard, Speaks

WIRES = ("anthropic", "openai", "openai-responses", "compatible")
PLAN = {
    "domains": ["recipe"],
    "tasks": ["recipe/*001*"],
    "arms": ["verbose", "reflective-patches"],
    "concurrency": 1,  # whom a busy provider turns away is a matter of order
}


def clumsy(heard: Heard) -> Speaks:
    """Writes no readable call before it is told that it did not."""
    if heard.turns[-1][0] != "tool":
        return Speaks("", (("call_api", "{"),))
    call, _ = last_exchange(heard)
    assert call is not None
    return calls(call, heard)


AGENTS: tuple[tuple[str, str, str, Mind], ...] = (
    *((f"follower-{wire}", wire, "none", follower) for wire in WIRES),
    ("stubborn", "anthropic", "adaptive", stubborn),
    ("clumsy", "openai", "none", clumsy),
    ("away", "openai", "none", follower),
)
BUSY = error("anthropic", 429, "rate_limit_error", "slow down", {"retry-after": "0.01"})
UNKNOWN = error("openai", 401, "invalid_api_key", "Incorrect API key provided: sk-abcdef0123456789")


@dataclass(frozen=True)
class Ran:
    """Two runs of one plan, one after the other."""

    first: Path
    second: Path
    asked: dict[str, int]
    """Requests on the wire in the first run, by agent."""
    problems: list[str]

    @property
    def log(self) -> Log:
        return read(self.first)

    def of(self, name: str) -> list[Episode]:
        found = [one for one in self.log.episodes if one.agent == f"fake {name}"]
        assert found
        return found


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    folder = tmp_path_factory.mktemp("models")
    with ExitStack() as stack:
        fakes = {name: stack.enter_context(FakeProvider(wire, mind)) for name, wire, _, mind in AGENTS}
        agents = [
            {
                "name": wire,
                "model": "some-model",
                "strategy": strategy,
                "settings": {"name": name, "base_url": fakes[name].base_url},
            }
            for name, wire, strategy, _ in AGENTS
        ]
        plan = folder / "plan.yaml"
        plan.write_text(yaml.safe_dump({**PLAN, "agents": agents}), "utf-8")
        asked: dict[str, int] = {}
        for out in ("a", "b"):
            fakes["follower-anthropic"].troubles.extend([BUSY])
            fakes["away"].troubles.extend([UNKNOWN] * 50)
            assert main(["lift", "run", str(plan), "--quiet", "--out", str(folder / out)]) == 2  # one is given up
            asked = asked or {name: len(fake.asked) for name, fake in fakes.items()}
        yield Ran(folder / "a", folder / "b", asked, [text for fake in fakes.values() for text in fake.problems])


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


def test_every_request_was_one_that_the_provider_takes(ran: Ran) -> None:
    assert ran.problems == []


@pytest.mark.parametrize("wire", WIRES)
def test_a_run_over_the_wire_solves_where_feedback_says_how_and_bills_every_request(ran: Ran, wire: str) -> None:
    episodes = ran.of(f"follower-{wire}")
    assert all(one.outcome == "success" for one in episodes if one.arm == "reflective-patches")
    assert any(one.outcome == "failure" for one in episodes if one.arm == "verbose")
    spent = [one.spent for one in episodes if one.spent is not None]
    assert sum(one.calls for one in spent) == ran.asked[f"follower-{wire}"]
    assert all(0 < one.input + one.output >= sum(one.by_turn) for one in spent)


def test_what_a_fake_did_is_labelled_everywhere(ran: Ran) -> None:
    for name, document in ran.log.manifest.agents.items():
        assert name.startswith("fake ") and document["identity"]["fake"] is True
    assert all(one.agent.startswith("fake ") and one.kind == "model" for one in ran.log.episodes)


def test_two_runs_with_one_seed_differ_in_times_only(ran: Ran) -> None:
    assert lines(ran.first) == lines(ran.second)


def test_reflections_are_in_the_record_with_their_tokens(ran: Ran) -> None:
    episodes = ran.of("stubborn")
    made = [one for episode in episodes for turn in episode.turns for one in turn.reflections]
    assert {(one.form, one.repeated, one.lifted) for one in made} == {
        ("structured", False, False),
        ("structured", True, False),
        ("free", False, True),
    }
    assert all(one.tokens for one in made) and {one.category for one in made} == {"FORMAT_MISMATCH", ""}
    assert {episode.strategy for episode in episodes} == {"adaptive"}


def test_attempts_that_came_to_no_call_are_in_the_record(ran: Ran) -> None:
    episodes = ran.of("clumsy")
    assert episodes
    for one in episodes:
        assert one.attempts == len(one.turns) + sum(turn.lost for turn in one.turns)
        assert any(turn.lost for turn in one.turns)


def test_a_provider_that_stays_away_makes_errors_that_name_no_key_and_is_given_up(ran: Ran) -> None:
    assert len(ran.of("away")) == ran.asked["away"] == 5
    for one in ran.of("away"):
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
    assert main(["lift", "run", "--domain=recipe", "--out", str(tmp_path), *arguments]) == 2
    assert said in capsys.readouterr().err
