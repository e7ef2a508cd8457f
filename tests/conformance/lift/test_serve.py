"""An agent that knows nothing but HTTP is handed episodes, played with through the proxy, and scored."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request as Ask
from urllib.request import urlopen

import pytest

from corrigible.conformance import lift
from corrigible.conformance.lift.agents.protocol import Briefing, Response, Send, Stop
from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.episode import Job
from corrigible.conformance.lift.log import opened, read
from corrigible.conformance.lift.plan import made
from corrigible.conformance.lift.resolved_plan import resolve_plan
from corrigible.conformance.lift.run import EnvironmentPool
from corrigible.conformance.lift.serve import (
    HTTP_OF_GRPC,
    EpisodeService,
    ExternalAgent,
    ExternalEpisode,
    NoCalls,
    Server,
    allocation,
    read_call,
)
from corrigible.schema.exchange import Request
from tests._support.command import start as started
from tests._support.rows import rows

AGENT = '''
"""Plays every episode with HTTP alone: does what suggestions say, and gives up where there are none."""
import json, sys, urllib.error, urllib.request

def ask(method, url, body=None):
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)

desk, first = sys.argv[1], json.loads(sys.argv[2])
while True:
    status, episode = ask("POST", desk + "/episodes")
    if status == 410:
        break
    body, outcome = json.loads(json.dumps(first)), "gave up"
    for _ in range(episode["attempts"]):
        status, answer = ask("POST", episode["base_url"] + "/api/recipe/convert", body)
        if answer.get("success"):
            outcome = "done"
            break
        told = (answer.get("recovery_feedback") or {}).get("suggestions") or []
        edits = [edit for edit in (told[0].get("patch") or [] if told else []) if edit["op"] == "replace"]
        if not edits:
            break
        for edit in edits:
            *path, last = [int(part) if part.isdigit() else part for part in edit["path"].split("/")[2:]]
            place = body
            for part in path:
                place = place[part]
            place[last] = edit["value"]
    ask("POST", desk + "/episodes/" + episode["id"] + "/finish", {"outcome": outcome, "reason": "scripted in a test"})
'''
BODY = {
    "recipe_name": "Soup",
    "target_cuisine": "french",
    "ingredients": [{"name": "Coconut Milk", "amount": 1, "unit": "cup"}],
}
SENT = json.dumps(BODY).encode()
TASK = {
    "domain": "recipe",
    "about": "Recipes, as JSON over HTTP.",
    "tasks": [
        {
            "id": "soup",
            "origin": "made up",
            "prompt": "Convert the soup to French cuisine.",
            "needs": "nothing",
            "request": {"method": "POST", "path": "/api/recipe/convert", "body": BODY},
            "accepted": {"path": "/api/recipe/convert", "body": {"recipe_name": "Soup", "target_cuisine": "french"}},
        }
    ],
}
ARMS = ("verbose", "reflective-patches")


@pytest.fixture
def desk(tmp_path: Path, recipe_pool: EnvironmentPool) -> Iterator[tuple[Server, Path]]:
    """Serve one task under two arms, on servers that all tests share."""
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "recipe.yaml").write_text(json.dumps(TASK), encoding="utf-8")
    agent = ExternalAgent("somebody")
    plan = made(
        {"domains": ["recipe"], "arms": list(ARMS), "agents": ["somebody"], "seeds": [1, 2], "attempts": 3}, "test"
    )
    planned = resolve_plan(plan, folder, (agent,))
    with opened(tmp_path / "out") as store:
        service = EpisodeService(planned, store, agent, lambda line: None, {"recipe": recipe_pool})
        with Server(service) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
            thread.start()
            try:
                yield server, tmp_path / "out"
            finally:
                server.shutdown()
                service.close()


def ask(method: str, url: str, body: bytes | None = None, kind: str = "application/json") -> tuple[int, Any]:
    try:
        with urlopen(Ask(url, body, {"content-type": kind}, method=method), timeout=60) as answer:
            return answer.status, json.load(answer)
    except HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def test_a_process_that_knows_http_only_plays_all_and_is_scored_by_what_came_about(
    desk: tuple[Server, Path], tmp_path: Path
) -> None:
    server, out = desk
    script = tmp_path / "agent.py"
    script.write_text(AGENT, encoding="utf-8")
    subprocess.run([sys.executable, "-I", str(script), server.url, json.dumps(BODY)], check=True, timeout=240)
    log = read(out)
    assert Counter((one.arm, one.outcome) for one in log.episodes) == {
        ("verbose", "failure"): 2,
        ("reflective-patches", "success"): 2,
    }
    for one in log.episodes:
        assert (one.kind, one.agent, one.harm) == ("external", "somebody", ())
        if one.arm == "reflective-patches":
            assert (one.attempts, one.ending) == (2, "done: scripted in a test")
            assert one.turns[0].offered and one.turns[1].accepted
        else:
            assert (one.attempts, one.why) == (1, "no call was accepted")
    told = log.manifest.model_dump_json()
    assert "Convert the soup" in told


def test_whoever_plays_learns_neither_arm_nor_task_nor_score(desk: tuple[Server, Path]) -> None:
    server, _ = desk
    status, episode = ask("POST", f"{server.url}/episodes")
    assert status == 201 and set(episode) == {"id", "prompt", "about", "base_url", "attempts"}
    assert (episode["prompt"], episode["attempts"]) == ("Convert the soup to French cuisine.", 3)
    status, ended = ask("POST", f"{server.url}/episodes/{episode['id']}/finish", b'{"outcome": "impossible"}')
    said = json.dumps([episode, ended])
    assert status == 200 and not re.search('soup"|arm|verbose|reflective|success|failure', said)


def test_attempts_are_counted_the_last_answer_arrives_and_then_it_is_over(desk: tuple[Server, Path]) -> None:
    server, out = desk
    _, episode = ask("POST", f"{server.url}/episodes")
    url = episode["base_url"] + "/api/recipe/convert"
    body = json.dumps(BODY).encode()
    assert ask("POST", url, body)[1]["success"] is False
    status, said = ask("POST", url, b"{no json")
    assert status == 400 and "no JSON" in said["message"]
    assert ask("POST", url, body)[1]["success"] is False
    assert ask("POST", url, body)[0] == 410
    assert ask("POST", f"{server.url}/episodes/{episode['id']}/finish", b"{}")[0] == 200
    (one,) = read(out).episodes
    assert (one.outcome, one.attempts, one.ending, [turn.lost for turn in one.turns]) == ("failure", 3, "", [0, 1])


def test_an_episode_that_was_ended_twice_counts_once(desk: tuple[Server, Path]) -> None:
    server, out = desk
    _, episode = ask("POST", f"{server.url}/episodes")
    for outcome in ("gave_up", "done"):
        body = json.dumps({"outcome": outcome}).encode()
        assert ask("POST", f"{server.url}/episodes/{episode['id']}/finish", body)[0] == 200
    (one,) = read(out).episodes
    assert one.ending == "gave up"
    assert ask("GET", f"{server.url}/status")[1] == {"episodes": 4, "left": 3, "running": 0, "ended": 1}


WRONG = {
    "no such episode": ("POST", "/episodes/none/finish", b"{}", 404, "no episode none"),
    "a call without an episode": ("GET", "/at/none/x", None, 404, "no episode none"),
    "another path": ("GET", "/", None, 404, "POST /episodes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_is_told_how_it_would(name: str, desk: tuple[Server, Path]) -> None:
    method, path, body, status, said = WRONG[name]
    got = ask(method, desk[0].url + path, body)
    assert got[0] == status and said in got[1]["message"]


def test_an_outcome_that_is_no_word_is_refused_and_the_words_are_named(desk: tuple[Server, Path]) -> None:
    server, _ = desk
    _, episode = ask("POST", f"{server.url}/episodes")
    got = ask("POST", f"{server.url}/episodes/{episode['id']}/finish", b'{"outcome": "won"}')
    assert got == (400, {"message": "outcome won: one of done, impossible, needs input, gave up"})


BODIES = {
    "JSON": (b'{"a": 1}', "application/json", False, False, {"a": 1}),
    "a form": (b"a[b]=1&a[c]=2", "application/x-www-form-urlencoded", False, True, {"a": {"b": "1", "c": "2"}}),
    "a message, whatever it is called": (b'{"a": 1}', "application/x-www-form-urlencoded", True, False, {"a": 1}),
    "none": (b"", "application/json", False, False, None),
    "a form where JSON is due": (
        b'{"a": 1}',
        "application/x-www-form-urlencoded",
        False,
        False,
        "application/json here",
    ),
    "JSON where a form is due": (b'{"a": 1}', "application/json", False, True, "form-urlencoded here"),
    "no JSON": (b"{", "application/json", False, False, "no JSON"),
    "bytes": (b"\xff", "application/x-www-form-urlencoded", False, True, "no"),
}


@rows("name", BODIES)
def test_a_body_is_read_as_the_api_would_and_refused_where_it_could_not(name: str) -> None:
    body, kind, grpc, form, expected = BODIES[name]
    headers = [("Content-Type", kind), ("Authorization", "Bearer mine"), ("Prefer", "x"), ("X-Own", "1")]
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            read_call("POST", "/a.B/C", headers, body, grpc=grpc, form=form)
        return
    found = read_call("POST", "/a.B/C?q=1", headers, body, grpc=grpc, form=form)
    assert found.body == expected
    assert not {"authorization", "prefer"} & set(found.headers) and found.headers["x-own"] == "1"
    assert (found.method, found.path) == (("/a.B/C", "") if grpc else ("POST", "/a.B/C"))


# allocation


def jobs(tasks: int, arms: int, seeds: int = 1) -> list[Job]:
    plan = made({"domains": ["recipe"], "arms": list(Arm)[:arms], "seeds": list(range(seeds)), "agents": ["x"]}, "test")
    found = resolve_plan(plan, agents=(ExternalAgent("x"),))
    first = [task.id for task in found.files["recipe"].tasks][:tasks]
    return [job for job in found.jobs if job.task.id in first]


def test_arms_are_allocated_at_random_and_balanced_in_every_round() -> None:
    given = jobs(8, 4, seeds=2)
    order = allocation(given, 3)
    assert sorted(job.key for job in order) == sorted(job.key for job in given)
    for start in range(0, len(order), 16):
        part = order[start : start + 16]
        assert set(Counter(job.arm for job in part).values()) == {4}
        assert len({(job.task.id, job.seed) for job in part}) == 16
    assert [job.key for job in allocation(given, 3)] == [job.key for job in order]
    assert [job.key for job in allocation(given, 4)] != [job.key for job in order]


# visits, without servers


def playing(visit: ExternalEpisode, request: Request) -> tuple[list[Send | Stop], threading.Thread]:
    moves: list[Send | Stop] = []

    def played() -> None:
        generator = visit.play(Briefing("about", "prompt", request), 0)
        seen: Response | None = None
        try:
            while True:
                move = generator.send(seen) if seen is not None else next(generator)
                moves.append(move)
                if isinstance(move, Stop):
                    break
                seen = Response(200, None, succeeded=True)
        except (StopIteration, NoCalls):
            pass
        finally:
            visit.ended()

    thread = threading.Thread(target=played, daemon=True)
    thread.start()
    assert visit.wait_for_briefing() is not None
    return moves, thread


def test_look_ups_are_no_attempts_unless_reading_is_the_task() -> None:
    writes = ExternalEpisode(ExternalAgent("x"), attempts=1, timeout=30)
    moves, thread = playing(writes, Request("POST", "/x"))
    for _ in range(4):
        assert writes.call(Request("GET", "/x")) is not None
    assert writes.used == 0
    assert writes.call(Request("POST", "/x")) is not None
    thread.join(60)
    assert writes.call(Request("POST", "/x")) is None
    assert [one.ends_episode for one in moves if isinstance(one, Send)] == [False] * 4 + [True]
    reads = ExternalEpisode(ExternalAgent("x"), attempts=1, timeout=30)
    _, thread = playing(reads, Request("GET", "/x"))
    assert reads.call(Request("GET", "/x")) is not None
    thread.join(60)
    assert reads.call(Request("GET", "/x")) is None


def test_who_calls_and_then_says_nothing_is_scored_when_time_is_out_and_who_never_calls_is_not() -> None:
    slow = ExternalEpisode(ExternalAgent("x"), attempts=5, timeout=1)
    moves, thread = playing(slow, Request("POST", "/x"))
    assert slow.call(Request("POST", "/x")) is not None
    thread.join(60)
    assert moves[-1] == Stop("gave up", "its time was out")
    absent = ExternalEpisode(ExternalAgent("x"), attempts=5, timeout=0)
    with pytest.raises(NoCalls, match="nothing was called"):
        next(absent.play(Briefing("about", "prompt", Request("POST", "/x")), 0))


def test_every_code_of_grpc_has_a_status_of_http() -> None:
    assert sorted(HTTP_OF_GRPC) == list(range(17))
    assert {code: HTTP_OF_GRPC[code] for code in (0, 3, 5, 7, 9, 14)} == {
        0: 200,
        3: 400,
        5: 404,
        7: 403,
        9: 400,
        14: 503,
    }


# the walk-through


def test_the_walk_through_with_curl_works_as_it_is_printed(desk: tuple[Server, Path], tmp_path: Path) -> None:
    server, out = desk
    text = Path(lift.__file__).with_name("SERVE.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env={**os.environ, "DESK": server.url},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Convert the soup" in ran.stdout and '"recorded": true' in ran.stdout
    (one,) = read(out).episodes
    assert [turn.accepted for turn in one.turns] == [False, True]
    assert one.ending == "done: converted"


@pytest.mark.skipif(sys.platform != "linux", reason="finds the servers in /proc")
def test_the_command_audits_what_it_serves_and_ends_with_its_servers(tmp_path: Path) -> None:
    folder, out = tmp_path / "tasks", tmp_path / "out"
    folder.mkdir()
    (folder / "recipe.yaml").write_text(json.dumps(TASK), encoding="utf-8")
    words = ["conformance", "lift", "serve", "--domain", "recipe", "--task-files", str(folder), "--out", str(out)]
    with started(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            found = re.match(r"listening on (\S+): 4 of 4 episodes", serving.stdout.readline())
            assert found is not None
            status, episode = ask("POST", found[1] + "/episodes")
            assert status == 201 and ask("POST", episode["base_url"] + "/api/recipe/convert", SENT)[0] == 200
            servers = children(serving.pid)
            assert servers
        finally:
            serving.terminate()
            serving.communicate(timeout=240)
    assert not [pid for pid in servers if Path(f"/proc/{pid}").exists()]
    log = read(out)
    assert len(log.manifest.audit) == 64 and log.episodes == ()


def children(pid: int) -> list[str]:
    """Return the processes that any thread of a process has started."""
    return [child for one in Path(f"/proc/{pid}/task").glob("*/children") for child in one.read_text().split()]


def test_nobody_computes_the_id_of_an_episode(desk: tuple[Server, Path]) -> None:
    server, _ = desk
    ids = {ask("POST", f"{server.url}/episodes")[1]["id"] for _ in range(2)}
    assert len(ids) == 2 and all(len(one) == 22 for one in ids)


@rows("name", ["Recovery-Feedback", "recovery-feedback-caller", "Prefer", "PREFER"])
@rows("grpc", [True, False])
def test_how_answers_look_is_the_arms_business(name: str, grpc: bool) -> None:
    call = read_call("POST", "/pkg.Service/Method", [(name, "reflective"), ("X-A", "1")], b"", grpc=grpc, form=False)
    assert call.headers == {"x-a": "1"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80", "Origin": "http://evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
def test_pages_of_a_browser_play_no_episodes(desk: tuple[Server, Path], headers: dict[str, str]) -> None:
    server, _ = desk
    with pytest.raises(HTTPError) as refused:
        urlopen(Ask(f"{server.url}/episodes", b"{}", headers), timeout=60)
    with refused.value:
        assert refused.value.code == 403
    with urlopen(Ask(f"{server.url}/status", headers={"Origin": server.url}), timeout=60) as answer:
        assert json.load(answer)["left"] == 4
