"""Logs for Inspect AI: each episode is a sample, and Inspect's own reader opens what is written."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from corrigible.conformance.lift.log import Log
from corrigible.conformance.lift.report.export import SCORER, inspect_logs
from corrigible.conformance.lift.stats.group import name_of

from .logs import HOSTILE, episode, models, scripted


def made() -> Log:
    one, two = models(tasks=4), scripted(tasks=3)
    crashed = episode("t9", "verbose", "informed", outcome="error", why="the server died", start="refusal")
    hostile = episode("t8", "verbose", f"a/b {HOSTILE}", ending=HOSTILE, why=HOSTILE, start="refusal")
    return Log((*one.manifests, *two.manifests), (*one.episodes, *two.episodes, crashed, hostile))


def test_every_episode_is_one_sample_of_its_start_agent_and_arm() -> None:
    log = made()
    logs = {name: json.loads(text) for name, text in inspect_logs(log.manifest, log.episodes).items()}
    assert len(logs) == len({(one.start, one.agent, one.arm) for one in log.episodes})
    samples = {sample["uuid"]: (ran, sample) for ran in logs.values() for sample in ran["samples"]}
    assert len(samples) == len(log.episodes)
    for one in log.episodes:
        ran, sample = samples[one.key[:22]]
        assert (ran["eval"]["model"], ran["eval"]["metadata"]["arm"]) == (one.agent, one.arm)
        assert (sample["id"], sample["metadata"]["seed"]) == (name_of(one), one.seed)
        calls = [message for message in sample["messages"] if message.get("tool_calls")]
        assert [call["tool_calls"][0]["arguments"] for call in calls] == [turn.request for turn in one.turns]
        if one.outcome == "error":
            assert sample["scores"] == {} and sample["error"]["message"] == one.why
        else:
            assert sample["scores"][SCORER]["value"] == {"success": "C", "failure": "I"}[one.outcome]
    for name, ran in logs.items():
        assert Path(name).name == name and name.isascii()
        values = [sample["scores"][SCORER]["value"] for sample in ran["samples"] if sample["scores"]]
        found = [score["metrics"]["accuracy"]["value"] for score in ran["results"]["scores"]]
        assert found == ([values.count("C") / len(values)] if values else [])


def test_tokens_are_there_only_where_every_episode_has_a_bill() -> None:
    log = models(tasks=2)
    billed = [one for one in log.episodes if one.spent is not None]
    assert billed
    first = next(iter(inspect_logs(log.manifest, billed[:1]).values()))
    assert json.loads(first)["stats"]["model_usage"][billed[0].agent]["output_tokens"] == billed[0].spent.output  # type: ignore[union-attr]
    unbilled = billed[0].model_copy(update={"spent": None, "key": "f" * 64})
    both = next(iter(inspect_logs(log.manifest, [billed[0], unbilled]).values()))
    assert json.loads(both)["stats"]["model_usage"] == {}


@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="no inspect_ai: it does not suit the others")
def test_inspects_own_reader_opens_them(tmp_path: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    log = made()
    for name, text in inspect_logs(log.manifest, log.episodes).items():
        (tmp_path / name).write_text(text, "utf-8")
    listed = list_eval_logs(str(tmp_path))
    assert len(listed) == len(list(tmp_path.iterdir())), "the viewer shows what is listed"
    found = [read_eval_log(info) for info in listed]
    assert sum(len(ran.samples or ()) for ran in found) == len(log.episodes)
    assert {ran.status for ran in found} == {"success"}
    scores = [score.value for ran in found for sample in ran.samples or () for score in (sample.scores or {}).values()]
    assert scores.count("C") == sum(one.outcome == "success" for one in log.episodes)
    assert any(sample.error is not None for ran in found for sample in ran.samples or ())
