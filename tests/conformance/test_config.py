"""A config file that is wrong says where, and what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from corrigible.conformance.command.run_target import OWN
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.suite.config import load, load_known_failing
from tests._support.rows import rows

GOOD = """\
subject: Acme
level: L2
subjects:
  http-json:
    start: acme --port {port} --to {upstream}
    wait: 5
    env: {A: b}
    settings: {anything: [1]}
  grpc: {grpc: "127.0.0.1:1", role: producer}
known_failing:
  - {check: "grpc:*", reason: not yet built, issue: "#1"}
"""

WRONG = {
    "a key": ("subjets: {}", ':1: unknown key "subjets"; did you mean "subjects"?'),
    "a key of a subject": (
        "subjects:\n  grpc:\n    strat: x",
        ':3: unknown key "strat"; did you mean "start"?',
    ),
    "a profile": (
        "subject: x\nsubjects:\n  htpp-json: {}",
        ':3: no profile is called "htpp-json"; did you mean "http-json"?',
    ),
    "a profile like no other": ("subjects:\n  zzz: {}", ':2: no profile is called "zzz": there are http-json, '),
    "a level": ("level: L7", ':1: no level is called "L7": there are L0, L1, L2, L3'),
    "a role": ("subjects:\n  grpc:\n    role: proxi", ":3: role: there are producer, proxy, consumer, pack"),
    "a number": ("subjects:\n  grpc:\n    wait: soon", ":3: subjects.grpc.wait: input should be a valid number"),
    "no mapping": ("- a", ":1: the file: input should be a valid dictionary"),
    "no reason": ("known_failing:\n  - check: a/x", ':2: "reason" is missing'),
    "no YAML": ("subjects: {", ":1: no YAML: "),
    "a control character": ("a: \x00", ": no YAML: "),
    "a key twice": ("subjects:\n  grpc: {}\n  grpc: {}", ':3: "grpc" is given twice'),
}


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "conformance.yaml"
    path.write_text(text)
    return path


def test_a_good_one_is_read(tmp_path: Path) -> None:
    config = load(written(tmp_path, GOOD))
    assert (config.level, list(config.subjects)) == ("L2", ["http-json", "grpc"])
    assert config.subjects["http-json"].settings == {"anything": [1]}
    assert config.known_failing[0].issue == "#1"


def test_an_empty_one_says_nothing(tmp_path: Path) -> None:
    assert load(written(tmp_path, "")).subjects == {}


@rows("name", WRONG)
def test_a_wrong_one_says_where_and_what_was_meant(name: str, tmp_path: Path) -> None:
    text, said = WRONG[name]
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as told:
        load(path)
    assert str(told.value).startswith(f"{path}{said}")


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as told:
        load(written(tmp_path, "levle: L1\nsubjects:\n  grpc: {strat: x}\n"))
    assert len(str(told.value).splitlines()) == 2


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file or directory"):
        load(tmp_path / "none.yaml")


def test_a_list_of_known_failures_needs_reasons(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as told:
        load_known_failing(written(tmp_path, "- check: a/x\n  reason: because\n- {check: b, resaon: x}\n"))
    text = str(told.value)
    assert ':3: "reason" is missing' in text
    assert ':3: unknown key "resaon"; did you mean "reason"?' in text


def test_our_own_ones_are_good_and_differ_in_the_engine_alone() -> None:
    plain, envoy = (load(OWN[name]).subjects for name in ("corrigible", "corrigible-envoy"))
    assert {"http-json", "grpc", "kubernetes-api", "kubernetes-webhook", "recipe"} <= set(plain) == set(envoy)
    for profile, subject in plain.items():
        for mine, theirs in ((subject.start, envoy[profile].start), (subject.http2, envoy[profile].http2)):
            assert theirs == (mine and mine.replace("--engine mitmproxy ", "--engine envoy "))
