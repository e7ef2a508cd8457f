"""The `conformance` command: what it is told, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from corrigible.conformance.checks import CHECKS
from corrigible.conformance.cli import main, parser
from corrigible.conformance.command import listing, reference, run_target
from corrigible.conformance.command.check import check, replay
from corrigible.conformance.model.outcome import Outcome, UsageError
from corrigible.conformance.model.yaml_file import SUITE
from corrigible.conformance.reference.api import Shop
from corrigible.conformance.reference.upstream import Upstream
from corrigible.conformance.suite.record import lines, read
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import HttpClient, HttpRequest
from corrigible.conformance.validators.finding import Finding
from corrigible.schema.extra import needs
from tests._support.command import start as started
from tests._support.rows import rows

from .made import MUST, broken, finding, mixed
from .made import check as made
from .test_process import gone, start

HEALTHY = made("transparency/healthy")
ILL = made("transparency/ill", broken(finding(expected=1, got=2)))


def config(tmp_path: Path, **subject: object) -> str:
    """Write a config whose one subject behaves well, unless it says otherwise."""
    path = tmp_path / "config.yaml"
    held = {"start": start("answers") + " {upstream}"} | subject
    path.write_text(json.dumps({"subject": "Acme", "subjects": {"http-json": held}}))
    return str(path)


def judged(arguments: Sequence[str], *checks: Check) -> int:
    return check(parser().parse_args(["check", *arguments]), checks)


# check


@pytest.mark.parametrize(
    ("checks", "more", "status", "said"),
    [
        ([HEALTHY], [], 0, "conforms: SRF 0.1 L3 / http-json"),
        ([HEALTHY, ILL], [], 1, "does not conform: "),
        # Neither a part of the checks nor a list of what fails gives a level.
        ([HEALTHY, ILL], ["--only", "*/healthy"], 0, "passed what was selected: SRF 0.1 L3, 1 of 1 run"),
        ([HEALTHY, ILL], ["--known-failing", "*/ill=not built yet"], 0, "fails as listed: SRF 0.1 L3, 0 of 1 passed"),
        ([HEALTHY, ILL], ["--known-failing", "transparency/*=not built yet"], 1, "does not conform: "),
    ],
)
def test_the_exit_status_is_the_verdict(
    checks: list[Check], more: list[str], status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged(["--config", config(tmp_path), *more], *checks) == status
    assert capsys.readouterr().out.splitlines()[-1].startswith(said)


def test_checks_run_in_another_order_and_end_the_same(tmp_path: Path) -> None:
    checks = [made(f"a/{number}", broken() if number % 3 == 0 else lambda subject: ()) for number in range(9)]
    path, found = tmp_path / "run.jsonl", []
    for more in ([], ["--shuffle", "1"], ["--shuffle", "1", "--check-timeout", "200"], ["--shuffle", "2"]):
        assert judged(["--config", config(tmp_path), "--report", f"json={path}", *more], *checks) == 1
        found.append([(entry.check, entry.outcome) for entry in read(path).entries])
    assert found[1] == found[2] and found[0] != found[1] != found[3]
    assert len({frozenset(each) for each in found}) == 1


def test_a_header_is_named_in_the_command_that_runs_a_check_again_and_its_value_is_not() -> None:
    arguments = ["check", "--target", "http://127.0.0.1:1", "--header", "X-Key: sk-secret"]
    assert (
        run_target.read(parser().parse_args(arguments)).options == "--target http://127.0.0.1:1 --header 'X-Key: ...'"
    )


def test_a_subject_that_never_starts_is_told_once_and_ends_in_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged(["--config", config(tmp_path, start=start("dies") + " {upstream}")], HEALTHY, ILL) == 2
    text = capsys.readouterr().out
    assert text.count("ended with exit status 3 before it accepted connections") == 1
    assert "could not tell: " in text


def test_every_report_is_written(tmp_path: Path) -> None:
    kinds = ["json", "html", "junit", "sarif", "md"]
    reports = ",".join(f"{kind}={tmp_path / kind}" for kind in kinds)
    badge = tmp_path / "badge"
    status = judged(
        ["--config", config(tmp_path), "--report", reports, "--badge", str(badge), "--seed", "9"], HEALTHY, ILL
    )
    assert status == 1
    assert all((tmp_path / kind).stat().st_size > 100 for kind in kinds)
    assert json.loads(badge.read_text())["color"] == "red"
    record = read(tmp_path / "json")
    assert (record.head.seed, record.head.subject, record.head.judged[0].role) == (9, "Acme", "proxy")
    assert record.head.options == f"--config {tmp_path / 'config.yaml'} --seed 9"
    assert record.entries[1].flaws[0].message == "The status is another one."


WRONG = {
    "nothing": ([], "nothing to judge: give --target URL"),
    "level": (["--level", "L9"], '--level: no level is called "L9"'),
    "role": (["--role", "proxi"], 'no role is called "proxi"; did you mean "proxy"?'),
    "profile": (["--profile", "htpp-json"], 'no profile is called "htpp-json"; did you mean "http-json"?'),
    "report": (["--report", "junti=x"], 'no report is called "junti"; did you mean "junit"?'),
    "report without a file": (["--report", "junit"], "say where to: junit=FILE"),
    "report into nowhere": (["--report", "junit=/nowhere/x.xml"], "no file can be written there"),
    "no reason": (["--target", "http://127.0.0.1:1", "--known-failing", "a/x"], "say why it fails"),
    "no consumer": (["--role", "consumer"], 'give --consumer "COMMAND"'),
    "no pack": (["--role", "pack"], "give --pack NAME_OR_PATH"),
    "no grpc": (
        ["--target", "http://127.0.0.1:1", "--profile", "grpc"],
        "grpc: nothing says how to reach it: give --grpc",
    ),
    "no config": (["--config", "none.yaml"], "none.yaml: No such file or directory"),
}


@rows("name", WRONG)
def test_what_makes_no_sense_is_told_in_a_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, said = WRONG[name]
    assert main(["check", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            ["--only", "transparency/helthy"],
            'no check of this role, profile and level; did you mean "transparency/healthy"?',
        ),
        (["--known-failing", "grpc:*=because"], 'known-failing "grpc:*" matches no check of this run'),
        (["--profile", "recipe"], "recipe: nothing says how to reach it (it has http-json)"),
        (["--role", "producer", "--profile", "http-json"], ""),
    ],
)
def test_what_matches_nothing_is_refused(more: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as told:
        judged(["--config", config(tmp_path, role="proxy"), *more], HEALTHY)
    assert said in str(told.value)


def test_a_role_without_a_check_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the suite has no check for proxy http-json up to L3"):
        judged(["--config", config(tmp_path)])


ROLES = [
    (["--target", "http://127.0.0.1:1"], [("http-json", "producer")]),
    (["--target", "http://127.0.0.1:1", "--upstream-listen", "127.0.0.1:2"], [("http-json", "proxy")]),
    (["--target", "http://x:1", "--grpc", "x:2"], [("http-json", "producer"), ("grpc", "producer")]),
    (["--target", "http://x:1", "--profile", "mcp,graphql"], [("mcp", "producer"), ("graphql", "producer")]),
    (["--consumer", "x"], [("http-json", "consumer")]),
    (["--pack", "a", "--pack", "b"], [("http-json", "pack"), ("http-json", "pack")]),
    (["--config", "corrigible", "--profile", "recipe"], [("recipe", "proxy")]),
    (["--config", "corrigible", "--role", "consumer"], [("http-json", "consumer")]),
    (["--config", "corrigible", "--target", "http://x:1"], [("http-json", "producer")]),
]


@rows(("arguments", "specs"), ROLES)
def test_who_is_judged_follows_from_the_options(arguments: list[str], specs: list[tuple[str, str]]) -> None:
    target = run_target.read(parser().parse_args(["check", *arguments]))
    assert [(spec.profile, spec.role) for spec in target.specs] == specs


def test_our_own_proxy_is_judged_by_its_version_and_packs() -> None:
    target = run_target.read(parser().parse_args(["check", "--config", "corrigible"]))
    assert target.subject() == "Corrigible 0.1.0"
    assert target.packs["stripe"] == "by name"


def test_a_pack_in_a_folder_is_named_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "pack.yaml").write_text("name: x\n")
    arguments = parser().parse_args(["check", "--pack", str(tmp_path)])
    before = run_target.read(arguments).packs[str(tmp_path)]
    (tmp_path / "pack.yaml").write_text("name: y\n")
    assert before.startswith("sha256:")
    assert run_target.read(arguments).packs[str(tmp_path)] != before


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 2), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_run_that_is_ended_takes_its_subject_along(number: int, status: int, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    path = config(tmp_path, start=start("never-listens"), env={"PID_FILE": str(pid_file)})
    command = ["conformance", "check", "--config", path]
    running = started(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert soon(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
    subject = int(pid_file.read_text())
    assert not gone(subject)
    running.send_signal(number)
    assert running.wait(20) == status
    assert soon(lambda: gone(subject))


def soon(claim: Callable[[], bool]) -> bool:
    """Wait until something holds. False where it does not for long."""
    until = time.monotonic() + 60
    while not claim() and time.monotonic() < until:
        time.sleep(0.02)
    return claim()


# list and explain


def test_every_check_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    plain = capsys.readouterr().out
    assert all(one.id in plain for one in CHECKS)
    assert plain.endswith(f"{len(CHECKS)} checks\n")


def test_requirements_are_listed_with_their_checks(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list", "--traceability"])
    assert f"{MUST}  L0 MUST" in capsys.readouterr().out


def test_a_requirement_is_explained() -> None:
    text = listing.explanation("srf-trn-03", [HEALTHY])
    assert text.startswith(f"{MUST}  The status stays\nMUST, level L0; ")
    assert "\nWhy: " in text
    assert "  transparency/healthy  About transparency/healthy" in text
    assert "Read: SPEC.md#srf-trn-03" in text


def test_a_check_is_explained() -> None:
    def ask(subject: Subject) -> list[Finding]:
        """Refuse everything, and look."""
        return []

    text = listing.explanation("http-json:a/x", [made("a/x", ask)])
    assert "Refuse everything, and look." in text
    assert f"  {MUST}  MUST L0  The status stays" in text


@pytest.mark.parametrize(
    ("word", "near"), [("SRF-TRN-3", "SRF-TRN-03"), ("transparency/helthy", "transparency/healthy")]
)
def test_what_is_not_there_is_guessed(word: str, near: str) -> None:
    with pytest.raises(UsageError, match=f'; did you mean "{near}"'):
        listing.explanation(word, [HEALTHY])


# replay


def test_a_replay_shows_everything_that_was_sent_and_got(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def ask(subject: Subject) -> list[Finding]:
        subject.wire.send(HttpRequest("GET", "/v1/x", (("A", "b"),)))
        return []

    arguments = parser().parse_args(["replay", "http-json:a/x", "--config", config(tmp_path)])
    assert replay(arguments, [made("a/x", ask), ILL]) == 0
    text = capsys.readouterr().out
    assert "-- 1. to the subject\n> GET /v1/x\n> A: b\n\n< 200 OK\n< Content-Type: application/json" in text
    assert "1 passed, 0 failed" in text


def test_a_replay_takes_its_seed_from_a_record(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("".join(lines(mixed())))
    seeds = []

    def ask(subject: Subject) -> list[Finding]:
        seeds.append(subject.seed)
        return []

    more = ["--config", config(tmp_path), "--record", str(tmp_path / "run.json")]
    replay(parser().parse_args(["replay", "a/x", *more]), [made("a/x", ask)])
    assert seeds == [7]


def test_one_vector_of_a_reader_is_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--consumer", "{python} -m corrigible.schema.stdio"]
    assert main(["replay", "patch/atomic", *more]) == 0
    text = capsys.readouterr().out
    assert text.count("-- ") == 2
    assert '-- 1. asked of the reader\n{"id": "patch/atomic"' in text


def test_a_replay_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match='no check or vector is called "transparency/il"; did you mean "transparency/ill"'
    ):
        replay(parser().parse_args(["replay", "transparency/il", "--config", config(tmp_path)]), [ILL])


# diff and report


def test_two_runs_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = config(tmp_path)
    for name, checks in (("a", [HEALTHY]), ("b", [HEALTHY, ILL])):
        judged(["--config", path, "--report", f"json={tmp_path / name}"], *checks)
    capsys.readouterr()
    assert main(["diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert "newly failing: 1\n  http-json:transparency/ill  failed  SRF-TRN-03" in capsys.readouterr().out
    assert main(["diff", str(tmp_path / "b"), str(tmp_path / "a")]) == 0
    assert "removed: 1" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["diff", "RUN", "RUN"], ["report", "RUN"]])
def test_a_record_that_was_cut_short_is_refused(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.json"
    path.write_text("".join([*lines(mixed())][:-1]))
    assert main([str(path) if word == "RUN" else word for word in command]) == 2
    assert "the run was cut short" in capsys.readouterr().err


def test_reports_are_made_of_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.json"
    path.write_text("".join(lines(mixed())))
    assert main(["report", str(path), "--report", f"html={tmp_path / 'x.html'}"]) == 1
    assert (tmp_path / "x.html").read_text().startswith("<!doctype html>")
    assert main(["report", str(path)]) == 1
    assert "FAILED  http-json:transparency/status-kept" in capsys.readouterr().out


# serve-reference


def test_the_table_says_what_the_shop_answers() -> None:
    text = reference.table("http://127.0.0.1:9")
    assert "a success: 200" in text
    assert "a refund of more than is left: 422 amount_too_large" in text
    assert "curl -X POST http://127.0.0.1:9/v1/refunds" in text


def test_no_scenario_is_about_something_else() -> None:
    shop = Shop()
    answers = {about: shop.respond(request)[0] for about, request in reference.scenarios()}
    assert [about for about, status in answers.items() if (status < 400) != (about == "a success")] == []


def test_the_reference_serves_until_it_is_stopped() -> None:
    command = ["conformance", "serve-reference"]
    with started(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        got = HttpClient(first.split()[3].rstrip(",")).send(HttpRequest("GET", "/v1/items"))
        running.send_signal(signal.SIGINT)
        running.stdout.read()
    assert got.status == 200
    assert running.returncode == 0


def test_a_port_that_cannot_be_had_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve-reference", "--port", "70000"]) == 2
    assert "--port 70000: no port" in capsys.readouterr().err


def test_output_that_nobody_reads_is_no_crash() -> None:
    line = f"{shlex.quote(sys.executable)} -m corrigible.conformance.cli list | head -n 1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=os.environ, check=False)
    assert (done.stderr, done.stdout.count("\n")) == ("", 1)


def test_what_is_not_installed_is_told_in_a_line() -> None:
    code = "import sys; sys.modules['jinja2'] = None; from corrigible.conformance.cli import main; main([])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, needs("conformance", "conformance") + "\n")


# a failure, and its command

READER = """\
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "next": {}}), flush=True)
"""
SPOILT = {"reader.py": READER, "pack.yaml": "name: a b\ntitle: A\nversion: 1.0.0\napi: {name: A}\nlicense: MIT\n"}
SHOP = str(SUITE / "reference" / "openapi.yaml")
FAILING: dict[str, Callable[[str, Path], list[str]]] = {
    "an api": lambda url, folder: ["--target", url, "--spec", SHOP, "--requests", "9", "--only", "generated/*"],
    "a proxy": lambda url, folder: ["--config", config(folder), "--only", "transparency/success/status-line"],
    "a level": lambda url, folder: ["--config", config(folder), "--level", "L1", "--only", "core/present"],
    "a reader": lambda url, folder: ["--consumer", f"'{sys.executable}' '{folder}/reader.py'", "--only", "*/patch"],
    "a pack": lambda url, folder: ["--pack", str(folder), "--only", "SRF-PCK-01"],
}


@pytest.mark.parametrize("name", FAILING)
def test_each_failure_is_told_with_what_it_takes_to_see_it_again(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file, text in SPOILT.items():
        (tmp_path / file).write_text(text)
    path = tmp_path / "run.jsonl"
    with Upstream(Shop()) as shop:
        arguments = FAILING[name](shop.url, tmp_path)
        assert main(["check", *arguments, "--report", f"json={path},md={tmp_path / 'run.md'}"]) == 1
        failed = [entry for entry in read(path).entries if entry.outcome is Outcome.FAILED]
        assert failed and all(flaw.place and flaw.requirement for entry in failed for flaw in entry.flaws)
        assert all("expected" in flaw.model_fields_set for entry in failed for flaw in entry.flaws)
        printed = capsys.readouterr().out
        for entry in failed[:2]:
            assert entry.again is not None
            command = shlex.split(entry.again)
            assert command[0] == "conformance"
            assert main(command[1:]) == 1
            again = capsys.readouterr().out
            assert f"FAILED  {entry.name}" in again
        assert f"trace: {failed[0].again}" in printed and "      at: " in printed
        assert str(failed[0].again) in (tmp_path / "run.md").read_text("utf-8")
