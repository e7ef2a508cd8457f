"""The run from end to end, against the recipe service: what is there is not played again, and two runs agree."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from corrigible.conformance.cli import main
from corrigible.conformance.command.lift_options import CERTIFICATE
from corrigible.conformance.lift.agents.protocol import Briefing, Move, Response, Send
from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.episode import play
from corrigible.conformance.lift.log import LOG, Episode, opened, read
from corrigible.conformance.lift.plan import digest_of, made
from corrigible.conformance.lift.resolved_plan import ResolvedPlan, code_files, resolve_plan
from corrigible.conformance.lift.run import EnvironmentPool, RunProgress, feedback_caused_harm, run
from corrigible.conformance.lift.task import TASKS
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.model.yaml_file import load_yaml
from corrigible.model.conversation import Usage
from corrigible.schema.exchange import Json
from tests._support.command import start
from tests._support.rows import rows

FIX = "1.625"
"""What the task adv_scale_001 is about: 6.5 servings instead of 4."""
FEW = ["--domain", "recipe", "--task", "*scale*", "--agents", "patch-executor,stubborn"]

PlayPlan = Callable[[ResolvedPlan, Path], RunProgress]


def lift(out: Path, *arguments: str) -> int:
    return main(["lift", "run", "--out", str(out), *arguments])


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("lift") / "first"
    assert lift(out, *FEW) == 0
    return out


@pytest.fixture
def play_plan(recipe_pool: EnvironmentPool) -> PlayPlan:
    """Run a plan as the command does, on servers that all tests share."""

    def play_into(plan: ResolvedPlan, out: Path) -> RunProgress:
        with opened(out) as store:
            return run(plan, store, pools={"recipe": recipe_pool})

    return play_into


def test_every_episode_of_a_plan_is_played_once(ran: Path) -> None:
    log = read(ran)
    assert len(log.episodes) == len({one.key for one in log.episodes}) == 3 * (len(Arm) - 1) * 2
    assert len(log.manifests) == 1 and log.manifest.digests["plan"] and log.manifest.digests["pack/recipe"]
    assert set(log.manifest.agents) == {"patch-executor", "stubborn"}


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="Envoy is for Linux")
def test_both_engines_agree_case_by_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--domain", "acme", "--agents", "informed", "--arm", "reflective", "--skip-audit", "--quiet"]
    for engine in ("mitmproxy", "envoy"):
        assert lift(tmp_path / engine, *few, "--engine", engine) == 0
    first, second = (read(tmp_path / engine) for engine in ("mitmproxy", "envoy"))
    assert len(first.episodes) > 20 and {one.outcome for one in first.episodes} == {"success", "failure"}
    assert not {one.key for one in first.episodes} & {one.key for one in second.episodes}
    capsys.readouterr()
    assert main(["lift", "compare", str(tmp_path / "mitmproxy"), str(tmp_path / "envoy")]) == 1
    differences = capsys.readouterr().out.splitlines()
    assert sorted(line.split(": ", 2)[1] for line in differences) == ["/digests/plan", "/plan/engine"]


def test_feedback_is_enough_for_the_script_that_does_what_it_says(ran: Path) -> None:
    outcomes = {(one.agent, one.arm): set[str]() for one in read(ran).episodes}
    for one in read(ran).episodes:
        outcomes[one.agent, one.arm].add(one.outcome)
    assert outcomes["patch-executor", "reflective-patches"] == {"success"}
    assert outcomes["patch-executor", "verbose"] == {"failure"} and ("stubborn", "length-matched") not in outcomes
    assert all(found == {"failure"} for (agent, _), found in outcomes.items() if agent == "stubborn")
    assert not any(one.harm for one in read(ran).episodes)


@pytest.mark.nightly
def test_a_second_run_with_the_same_seed_agrees_in_everything_but_times(
    ran: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = planned(arms=None, agents=["patch-executor", "stubborn"], concurrency=1)
    with opened(tmp_path / "second") as store:  # on servers of its own: the shared ones may have seen these callers
        run(replace(few, audit=read(ran).manifest.audit), store)
    again = read(tmp_path / "second")
    assert again.manifest.plan["concurrency"] == 1
    capsys.readouterr()
    assert main(["lift", "compare", str(ran), str(tmp_path / "second")]) == 1
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2, said
    assert "/plan/concurrency: 2, and 1" in said[0] and "/digests/plan" in said[1]


def test_a_log_agrees_with_itself(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lift", "compare", str(ran), str(ran)]) == 0
    assert "42 episodes agree in everything but times" in capsys.readouterr().out


def test_what_is_there_is_not_played_again(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (ran / LOG).read_bytes()
    assert lift(ran, *FEW) == 0
    assert "42 were in the log, 0 played" in capsys.readouterr().out
    assert (ran / LOG).read_bytes() == before


def test_a_larger_plan_adds_what_is_missing_and_says_what_ran(ran: Path, tmp_path: Path, play_plan: PlayPlan) -> None:
    (tmp_path / LOG).write_bytes((ran / LOG).read_bytes())
    play_plan(planned(arms=["reflective"], agents=["patch-executor", "stubborn", "literal-merge"]), tmp_path)
    log = read(tmp_path)
    assert len(log.manifests) == 2 and len(log.episodes) == 42 + 9 - 6


def test_what_is_played_was_audited_and_the_certificate_stands_beside_the_log(ran: Path) -> None:
    certificate = json.loads((ran / CERTIFICATE).read_text("utf-8"))
    assert certificate["leaks"] == [] and certificate["comparisons"] > 0
    assert [one["name"].split()[0] for one in certificate["audited"] if one["kind"] == "pack"] == ["recipe"]
    assert "tasks/recipe.yaml" in [one["name"] for one in certificate["audited"] if one["kind"] == "tasks"]
    del certificate["date"]
    assert read(ran).manifest.audit == digest_of(certificate)


def leaking(folder: Path) -> Path:
    """Write the recipe tasks with one prompt that holds the fix."""
    folder.mkdir()
    file = load_yaml((TASKS / "recipe.yaml").read_text("utf-8"))
    task = next(one for one in file["tasks"] if one["id"] == "adv_scale_001")
    task["prompt"] += f" It must be {FIX}."
    (folder / "recipe.yaml").write_text(json.dumps(file), "utf-8")  # JSON is YAML too
    return folder


def test_a_prompt_that_gives_the_fix_away_is_not_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*FEW, "--task-files", str(leaking(tmp_path / "tasks"))]
    assert lift(tmp_path / "lift", *words) == 2
    said = capsys.readouterr().err
    assert f"LEAK  {FIX!r} in prompt" in said and "adv_scale_001" in said and "--skip-audit" in said
    assert not (tmp_path / "lift" / CERTIFICATE).exists()


def test_errors_are_tried_again(ran: Path, tmp_path: Path, play_plan: PlayPlan) -> None:
    lines = (ran / LOG).read_text().splitlines()
    broken = {**json.loads(lines[1]), "outcome": "error", "why": "a crash"}
    (tmp_path / LOG).write_text("\n".join([lines[0], json.dumps(broken), *lines[2:]]) + "\n")
    again = play_plan(planned(arms=None, agents=["patch-executor", "stubborn"]), tmp_path)
    assert (again.before, again.done) == (len(lines) - 2, 1)
    assert not [one for one in read(tmp_path).episodes if one.outcome == "error"]


def test_a_run_that_was_killed_goes_on_where_it_was(ran: Path, tmp_path: Path) -> None:
    command = ["conformance", "lift", "run", "--out", str(tmp_path), *FEW]
    killed = start(command, start_new_session=True, stdout=subprocess.DEVNULL)
    children: set[int] = set()
    log = tmp_path / LOG
    until = time.monotonic() + 60
    while time.monotonic() < until and (not log.exists() or log.read_bytes().count(b"\n") < 6):
        children |= descendants(killed.pid)
        time.sleep(0.05)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    there = {one.key for one in read(tmp_path).episodes}
    assert len(there) >= 5
    few = planned(arms=None, agents=["patch-executor", "stubborn"])
    with opened(tmp_path) as store:  # on servers of its own: the shared ones may have seen these callers before
        run(replace(few, audit=read(ran).manifest.audit), store)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    keys = [line["key"] for line in lines if "key" in line]
    assert len(keys) == len(set(keys)) == 42 and there <= set(keys)
    assert main(["lift", "compare", str(ran), str(tmp_path)]) == 0
    until = time.monotonic() + 60
    while (left := [pid for pid in children if is_alive(pid)]) and time.monotonic() < until:
        time.sleep(0.1)
    assert len(children) >= 2 and not left, "servers of a run that was killed live on"


def descendants(pid: int) -> set[int]:
    """Return the programs that a process has started so far. None where the system does not say."""
    listing = Path(f"/proc/{pid}/task")
    found: set[int] = set()
    for file in listing.glob("*/children"):
        with contextlib.suppress(OSError):
            found |= {int(word) for word in file.read_text().split()}
    return found


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_ctrl_c_stops_in_order_even_a_run_that_skips_the_audit(tmp_path: Path) -> None:
    # Whoever runs the tests may ignore SIGINT, as `nohup` does; a child would ignore it as well.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = ["conformance", "lift", "run", "--out", str(tmp_path), *FEW, "--task", "*", "--skip-audit"]
    command += ["--task-files", str(leaking(tmp_path / "tasks"))]
    log = tmp_path / LOG
    with start(command, heeding, stdout=subprocess.PIPE, text=True) as process:
        try:
            until = time.monotonic() + 60
            while time.monotonic() < until and (not log.exists() or log.read_bytes().count(b"\n") < 3):
                time.sleep(0.03)
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=240)
        finally:
            process.kill()  # nothing that goes wrong may leave it running: the test would wait for it
    assert process.returncode == 2
    assert "stopped by Ctrl-C" in said and "run it again" in said
    assert log.read_bytes().endswith(b"\n")
    assert read(tmp_path).manifest.audit == "" and not (tmp_path / CERTIFICATE).exists()


@rows(
    ("arguments", "said"),
    [
        (["--domain", "recip"], "no domain 'recip'; did you mean \"recipe\""),
        (["--task", "no-such"], "no task is called no-such"),
        (["--agent", "nobody"], "no agent is called 'nobody'"),
        (["--arm", "verbos"], 'did you mean "verbose"'),
        (["--model", "nobody:m"], "nobody"),
        (["no-such-plan.yaml"], "no-such-plan.yaml"),
    ],
)
def test_mistakes_end_with_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert lift(tmp_path, *arguments) == 2
    assert said in capsys.readouterr().err


class Dear:
    """An agent that is billed a million tokens for every call."""

    name = "dear"
    kind: Literal["model"] = "model"
    identity: Mapping[str, Json] = {"model": "m"}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        while True:
            yield Send(briefing.request, usage=Usage(input=1_000_000))


def planned(**more: object) -> ResolvedPlan:
    members = {"domains": ["recipe"], "tasks": ["*scale*"], "arms": ["none"], **more}
    return resolve_plan(made({name: value for name, value in members.items() if value is not None}, "here"))


def test_a_run_stops_at_its_cost_cap_and_goes_on_under_a_higher_one(tmp_path: Path, play_plan: PlayPlan) -> None:
    prices = {"date": "2026-11-01", "models": {"m": {"input": 3, "output": 15}}}
    tallies = []
    for cap in (20, 100):
        plan = planned(agents=["stubborn"], prices=prices, cost_cap=cap, concurrency=1)
        dear = replace(plan, agents=(Dear(),), jobs=[replace(job, agent=Dear()) for job in plan.jobs])
        tallies.append(play_plan(dear, tmp_path))
    first, second = tallies
    assert first.stopped == "the cost cap is reached: 30.00 of 20.00" and first.done == 2
    assert (second.stopped, second.before, second.done, second.cost) == ("", 2, 1, 45.0)


class Away:
    """An agent whose provider is not there until somebody says so."""

    name = "away"
    kind: Literal["model"] = "model"
    identity: Mapping[str, Json] = {"model": "m"}
    there = False

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        if not self.there:
            raise RuntimeError("no provider")
        yield Send(briefing.request)


def test_an_agent_that_only_breaks_is_given_up_and_asked_again_by_the_next_run(
    tmp_path: Path, play_plan: PlayPlan
) -> None:
    plan, away = planned(agents=["stubborn"], arms=["none", "verbose", "reflective"], concurrency=1), Away()
    jobs = [*plan.jobs, *(replace(job, key=f"away {job.key}", agent=away) for job in plan.jobs)]
    both = replace(plan, agents=(*plan.agents, away), jobs=jobs)
    first = play_plan(both, tmp_path)
    assert first.stopped == "gave up on away, 5 episodes in a row broke"
    assert first.outcomes == {"failure": 9, "error": 5}
    away.there = True
    second = play_plan(both, tmp_path)
    assert (second.stopped, second.before, second.outcomes) == ("", 9, {"failure": 18})


def test_tasks_that_touch_what_all_share_have_servers_of_their_own_and_slow_ones_wait_for_nobody() -> None:
    plan = planned(agents=["patch-executor"], arms=["reflective-patches"])
    one, two, other = (job.task.id for job in plan.jobs)
    environment = plan.environments["recipe"].model_copy(update={"fresh": (one,), "in_turn": (two,)})
    pool = EnvironmentPool(environment, "recipe", slow=True)
    try:
        with (
            pool.environment_for(one) as first,
            pool.environment_for(two) as second,
            pool.environment_for(other) as third,
        ):
            assert len({first.address, second.address, third.address}) == 3
            assert [play(job, first).outcome for job in plan.jobs[:1]] == ["success"]
    finally:
        pool.close()


def test_tasks_in_turn_wait_for_each_other_and_for_nobody_else(recipe_pool: EnvironmentPool) -> None:
    plan = planned(agents=["patch-executor"], arms=["reflective-patches"])
    one, two, other = (job.task.id for job in plan.jobs)
    environment = plan.environments["recipe"].model_copy(update={"in_turn": (one, two)})
    pool, got = EnvironmentPool(environment, "recipe"), threading.Event()

    def second() -> None:
        with pool.environment_for(two):
            got.set()

    waiting = threading.Thread(target=second)
    try:
        with pool.environment_for(one) as running, pool.environment_for(other) as same:
            assert same is running
            waiting.start()
            assert not got.wait(0.3)
        assert got.wait(10)
    finally:
        waiting.join(10)
        pool.close()


def test_a_server_that_dies_makes_errors_and_is_started_again(tmp_path: Path) -> None:
    plan = planned(agents=["patch-executor"], arms=["reflective-patches"], concurrency=1)
    shared = EnvironmentPool(plan.environments["recipe"], "recipe")
    try:
        running = shared.shared()
        running.proxy.stop()
        broken = play(plan.jobs[0], running)
        assert broken.outcome == "error" and "the proxy" in broken.why
        mended = play(plan.jobs[0], shared.shared())
        assert (mended.outcome, mended.why) == ("success", "")
    finally:
        shared.close()


def test_a_domain_that_cannot_start_is_skipped_unless_it_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    planned = resolve_plan(made({"agents": ["stubborn"]}, "here"))
    assert "KUBEBUILDER_ASSETS" in planned.skipped["kubernetes"]
    assert "kubernetes" not in {job.domain for job in planned.jobs}
    with pytest.raises(UsageError, match="kubernetes cannot be started here"):
        resolve_plan(made({"domains": ["kubernetes"]}, "here"))


def test_code_for_another_domain_alone_does_not_make_an_episode_new() -> None:
    def parts(domain: str) -> set[str]:
        return {part for path in code_files(domain) if "adapters" in path.parts for part in path.parts}

    assert {"stripe", "github", "acme"} <= parts("")
    assert "stripe" in parts("stripe") and not {"github", "acme", "etcd"} & parts("stripe")


def test_keys_depend_on_all_that_determines_an_episode() -> None:
    base: dict[str, object] = {"domains": ["recipe"], "agents": ["stubborn"], "arms": ["none"], "tasks": ["*scale_001"]}
    changed: list[dict[str, object]] = [
        {},
        {"seeds": [1]},
        {"arms": ["verbose"]},
        {"agents": ["informed"]},
        {"tasks": ["*scale_002"]},
        {"attempts": 4},
    ]
    keys = [[job.key for job in resolve_plan(made({**base, **one}, "here")).jobs] for one in changed]
    assert all(len(found) == 1 for found in keys)
    assert len({found[0] for found in keys}) == len(changed)
    same = resolve_plan(made({**base, "concurrency": 7, "timeout": 9}, "here")).jobs
    assert same[0].key == keys[0][0]


@pytest.mark.parametrize(
    ("agent", "arm", "harm", "broken"),
    [
        ("patch-executor", "reflective-patches", "changed: x", True),
        ("informed", "reflective", "changed: x", True),
        ("patch-executor", "reflective-patches", "", False),
        ("patch-executor", "noise", "changed: x", False),
        ("stubborn", "reflective-patches", "changed: x", False),
    ],
)
def test_the_law_is_broken_by_harm_that_feedback_did(agent: str, arm: str, harm: str, broken: bool) -> None:
    members = {"key": "k", "task": "t", "domain": "d", "needs": "nothing", "kind": "scripted", "seed": 0}
    one = Episode.model_validate(
        {**members, "outcome": "failure", "arm": arm, "agent": agent, "harm": [harm] if harm else []}
    )
    assert feedback_caused_harm(one) is broken


def test_the_paper_the_power_and_the_tasks_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lift", "paper"]) == 0
    paper = capsys.readouterr().out
    for figure in ("19.3  match", "0.435  match", "35.7  match", "95.9  match", "worth 27", "p 0.0312", "0.059  match"):
        assert figure in paper
    assert main(["lift", "power", "--difference", "0.3", "--discordance", "0.4"]) == 0
    assert "+30% where 40% of tasks differ: 33 tasks" in capsys.readouterr().out
    assert main(["lift", "power", "--difference", "3"]) == 2
    assert main(["lift", "tasks", "recipe"]) == 0
    assert "recipe: 12 tasks" in capsys.readouterr().out
