"""Episodes from the refusal on: the same tasks and scores, never in one figure with those from the wish."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from corrigible.conformance.cli import main
from corrigible.conformance.lift.agents.protocol import Response, Send
from corrigible.conformance.lift.episode import play
from corrigible.conformance.lift.log import Episode, Log, compare, opened, read
from corrigible.conformance.lift.plan import made
from corrigible.conformance.lift.report import page, terminal
from corrigible.conformance.lift.report.summary import summarise
from corrigible.conformance.lift.resolved_plan import resolve_plan
from corrigible.conformance.lift.run import EnvironmentPool, run
from corrigible.conformance.lift.serve import EpisodeService, ExternalAgent, Server, refused
from corrigible.conformance.lift.stats.group import calls
from corrigible.schema.exchange import Request

from .fake_provider import FakeProvider, follower
from .shop import BRIEFING, FIRST, agent, api, told
from .test_serve import ask

AGENTS = ["patch-executor", "stubborn", "gullible"]
Play = Callable[..., Log]


@pytest.fixture
def into(recipe_pool: EnvironmentPool) -> Play:
    def into(out: Path, *, fresh: bool = False, **more: object) -> Log:
        """`fresh`: on servers of its own, since a proxy remembers what a caller did."""
        members = {"domains": ["recipe"], "tasks": ["*scale*"], "arms": ["verbose", "reflective-patches"], **more}
        with opened(out) as store:
            run(
                resolve_plan(made({"agents": AGENTS, **members}, "here")),
                store,
                pools={} if fresh else {"recipe": recipe_pool},
            )
        return read(out)

    return into


def test_two_runs_from_the_refusal_agree_and_every_one_begins_with_the_call_that_was_refused(
    into: Play, tmp_path: Path
) -> None:
    first, second = into(tmp_path / "a", start="refusal", fresh=True), into(tmp_path / "b", start="refusal", fresh=True)
    assert compare(first, second) == []
    assert len(first.episodes) == 3 * 2 * len(AGENTS)
    for one in first.episodes:
        given, *others = one.turns
        assert one.start == "refusal" and given.given and not given.accepted and given.shown
        assert not any(turn.given for turn in others)
        assert one.attempts == len([turn for turn in others if not turn.step])


def test_a_script_does_from_the_refusal_what_it_does_after_its_own_first_call(into: Play, tmp_path: Path) -> None:
    from_refusal, from_wish = into(tmp_path, start="refusal"), into(tmp_path)
    assert len(from_wish.episodes) == 2 * len(from_refusal.episodes), "one log holds both"

    def by_name(start: str) -> dict[tuple[str, str, str], Episode]:
        return {(e.task, e.arm, e.agent): e for e in from_wish.episodes if e.start == start}

    ours, theirs = by_name("refusal"), by_name("wish")
    assert ours.keys() == theirs.keys()
    for name, one in ours.items():
        other = theirs[name]
        assert one.outcome == other.outcome, name
        sent = [[turn.request for turn in calls(episode)][: 1 + one.attempts] for episode in (one, other)]
        assert sent[0][: len(sent[1])] == sent[1], name
    assert {one.attempts for name, one in ours.items() if name[1:] == ("reflective-patches", "patch-executor")} == {1}


def test_reports_keep_the_two_starts_apart(into: Play, tmp_path: Path) -> None:
    into(tmp_path, start="refusal")
    log = into(tmp_path)
    summary = summarise(log)
    assert [(section.kind, section.start) for section in summary.sections] == [
        ("scripted", "wish"),
        ("scripted", "refusal"),
    ]
    assert [section.episodes for section in summary.sections] == [18, 18]
    wish, refusal = ({(e.agent, e.arm): e for e in section.efforts} for section in summary.sections)
    solver = ("patch-executor", "reflective-patches")
    assert (wish[solver].retries.value, refusal[solver].retries.value) == (1.0, 1.0)
    assert (wish[solver].attempts.value, refusal[solver].attempts.value) == (2.0, 1.0)
    text = terminal.render(summary)
    assert "NO MODELS, from the wish on: 18 episodes" in text and "NO MODELS, from the refusal on: 18 episodes" in text
    written = page.render(summary, log.episodes)
    assert "Scripted agents, from the wish on" in written and "Scripted agents, from the refusal on" in written


def test_a_task_whose_own_call_is_accepted_has_no_such_start(recipe_pool: EnvironmentPool) -> None:
    plan = made({"domains": ["recipe"], "tasks": ["adv_scale_001"], "start": "refusal", "arms": ["verbose"]}, "here")
    (job, *_) = resolve_plan(plan).jobs
    call = job.task.request.model_copy(
        update={"body": {"recipe_name": "Eggs", "ingredients": [{"name": "eggs", "amount": 2}]}}
    )
    easy = job.task.model_copy(update={"request": call})
    with recipe_pool.environment_for(job.task.id) as running:
        found = play(replace(job, task=easy), running)
    assert found.outcome == "error" and "no refusal to start from" in found.why


def test_the_command_takes_the_start_and_a_wrong_one_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["lift", "run", "--start", "middle", "--out", str(tmp_path)])
    assert "is none of wish, refusal" in capsys.readouterr().err


@pytest.fixture
def desk(tmp_path: Path, recipe_pool: EnvironmentPool) -> Iterator[Server]:
    somebody = ExternalAgent("somebody")
    document = {"domains": ["recipe"], "tasks": ["adv_scale_003"], "arms": ["reflective-patches"], "start": "refusal"}
    planned = resolve_plan(made({**document, "agents": ["somebody"]}, "test"), agents=(somebody,))
    with opened(tmp_path / "out") as store:
        service = EpisodeService(planned, store, somebody, lambda line: None, {"recipe": recipe_pool})
        with Server(service) as server:
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            try:
                yield server
            finally:
                server.shutdown()
                service.close()


def test_serve_hands_out_the_refusal_and_scores_what_comes_after_it(desk: Server, tmp_path: Path) -> None:
    status, episode = ask("POST", f"{desk.url}/episodes")
    assert status == 201 and set(episode) == {"id", "prompt", "about", "base_url", "attempts", "refused"}
    request, answer = episode["refused"]["request"], episode["refused"]["answer"]
    assert (request["method"], request["path"]) == ("POST", "/api/recipe/convert")
    assert answer["body"]["success"] is False and answer["body"]["recovery_feedback"]["suggestions"]
    body = request["body"]
    body["ingredients"][0]["scaled_amount"], body["ingredients"][1]["scaled_amount"] = 11, 2.0625
    body["ingredients"][1]["amount"] = "1 1/2"
    status, said = ask("POST", f"{episode['base_url']}{request['path']}", json.dumps(body).encode())
    assert status == 200, said
    assert ask("POST", f"{desk.url}/episodes/{episode['id']}/finish", b"{}")[0] == 200
    (one,) = read(tmp_path / "out").episodes
    assert (one.outcome, one.attempts, one.start, len(one.turns)) == ("success", 1, "refusal", 2), one.why


def test_what_is_handed_out_holds_no_credential_and_grpc_is_written_as_json_over_http() -> None:
    shown = Response(5, {"code": 5, "message": "no"}, {"content-length": "1"})
    call = Request("/a.B/C", "", headers={"x-api-key": "sk_live_1", "lang": "en"}, body={"x": 1})
    told_of = refused(call, shown, grpc=True)
    assert told_of["request"] == {
        "method": "POST",
        "path": "/a.B/C",
        "query": {},
        "headers": {"lang": "en"},
        "body": {"x": 1},
    }
    assert told_of["answer"]["status"] == 404 and "sk_live_1" not in json.dumps(told_of)


def test_a_model_is_told_the_call_and_its_refusal_and_its_first_call_is_the_first_that_counts() -> None:

    secret = replace(FIRST, headers={"x-api-key": "sk_live_1"})
    briefing = replace(BRIEFING, request=secret, refusal=api(FIRST), attempts=1)
    with FakeProvider("openai", follower) as fake:
        moves = agent(fake).play(briefing, 0)
        move = next(moves)
        moves.close()
    assert isinstance(move, Send) and move.request.body == {"amount": 300, "charge": "ch_1"}
    assert "was refused. It does not count" in told(fake) and "sk_live_1" not in told(fake)
