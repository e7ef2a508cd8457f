"""What a judge says of feedback made by hand: each bad one breaks exactly one requirement, and good ones none."""

from __future__ import annotations

import random
from typing import Any

import pytest

from corrigible.conformance.checks.support.exchange import feedback_findings
from corrigible.conformance.validators.edit import wilson
from corrigible.conformance.validators.finding import AnnotatedError, Finding, at
from corrigible.conformance.validators.trust import hidden, named_wait
from corrigible.schema.document import MISSING
from tests._support.rows import rows

from .bad_feedback import BAD
from .good_feedback import CURRENCY, GOOD, KEYED, LINE, ORDER, READ, feedback, told


def broken(one: AnnotatedError) -> set[str]:
    return {finding.requirement for finding in feedback_findings(one)}


@rows("one", GOOD.values(), ids=GOOD.keys())
def test_good_feedback_breaks_nothing(one: AnnotatedError) -> None:
    assert not [(finding.requirement, finding.message) for finding in feedback_findings(one)]


@rows(("requirement", "one"), BAD.values(), ids=BAD.keys())
def test_bad_feedback_breaks_its_requirement_and_no_other(requirement: str, one: AnnotatedError) -> None:
    assert broken(one) == {requirement}


def test_every_requirement_that_is_judged_has_a_bad_example() -> None:
    wanted = {f"SRF-COR-{n:02}" for n in (2, 3, 4, 5, 6, 12, 13, 16, 18)}
    wanted |= {f"SRF-OPS-{n:02}" for n in (1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)}
    wanted |= {f"SRF-RTY-{n:02}" for n in range(1, 6)} | {f"SRF-SEC-{n:02}" for n in (2, 3, 5, 10)}
    assert {requirement for requirement, _ in BAD.values()} == wanted


def test_sentences_say_where_and_end_with_a_full_stop() -> None:
    for _, one in BAD.values():
        sentences = [finding.message for finding in feedback_findings(one)]
        assert sentences
        for sentence in sentences:
            assert sentence[0].isupper() and len(sentence) > 20
            assert "Traceback" not in sentence and "None" not in sentence


JUNK: tuple[Any, ...] = (None, True, 0, -1.5, "", "x", "/body/lines/1", [], [None], {}, {"a": None}, [{"op": "test"}])


def _spoiled(value: Any, rng: random.Random) -> Any:
    """Put junk into one place of a value."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        name = rng.choice(sorted(value))
        return {**value, name: _spoiled(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        index = rng.randrange(len(value))
        return [*value[:index], _spoiled(value[index], rng), *value[index + 1 :]]
    return rng.choice(JUNK)


def test_no_junk_makes_a_judge_stumble() -> None:
    rng = random.Random(5)
    whole = feedback(
        {
            **LINE,
            "group": {"id": "1", "relation": "all"},
            "steps": [{"method": "GET", "path": "/v1/items", "headers": {}}],
        },
        {
            **CURRENCY,
            "confidence": {"basis": "observed", "successes": 1, "trials": 2},
            "verification": {"status": "verified"},
        },
        {**CURRENCY, "applicability": "HAS_PLACEHOLDERS", "placeholders": [{"pointer": "/body/note"}]},
        retry={"same_request": True, "after_seconds": 1, "max_attempts": 2},
    )
    sentences = []
    for _ in range(600):
        spoiled = whole
        for _ in range(rng.randint(1, 3)):
            spoiled = _spoiled(spoiled, rng)
        findings = feedback_findings(told(spoiled, rng.choice((ORDER, KEYED, READ)), headers={"retry-after": "1"}))
        sentences += [finding.message for finding in findings]
    assert len(sentences) > 600 and all(sentences)


WAITS: tuple[tuple[dict[str, str], float | None], ...] = (
    ({"retry-after": "7"}, 7),
    ({"retry-after": " 120 "}, 120),
    ({"retry-after": "-5"}, None),
    ({"retry-after": "soon"}, None),
    ({}, None),
    ({"date": "Sun, 01 Mar 2026 12:00:00 GMT", "retry-after": "Sun, 01 Mar 2026 12:01:00 GMT"}, 60),
    ({"date": "Sun, 01 Mar 2026 12:00:00 GMT", "retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0),
    ({"retry-after": "Sun, 01 Mar 2026 12:01:00 GMT"}, None),
)


@rows(("headers", "seconds"), WAITS)
def test_a_wait_is_read_in_both_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert named_wait(headers) == seconds


def test_the_lower_bound_is_wilsons() -> None:
    assert wilson(20, 20) == pytest.approx(0.8389, abs=1e-4)
    assert wilson(35, 35) == pytest.approx(0.9011, abs=1e-4)
    assert wilson(95, 100) == pytest.approx(0.8882, abs=1e-4)


def test_hidden_characters_are_named() -> None:
    assert hidden("plain text\n\twith ä, 字 and 🙂") == []
    assert hidden("a\u200bb") == ["U+200B ZERO WIDTH SPACE"]
    assert len(hidden("\u202e\u0000\U000e0041\ufe0f")) == 4


@rows(("requirement", "one"), BAD.values(), ids=BAD.keys())
def test_each_finding_points_into_the_feedback(requirement: str, one: AnnotatedError) -> None:
    """At what is wrong, or at a member that is missing from what is there."""
    document = {"recovery_feedback": one.feedback}
    for finding in feedback_findings(one):
        place = finding.whole_place
        while place and at(document, place) is MISSING:
            place = place.rpartition("/")[0]
        assert place.startswith("/recovery_feedback"), finding
        assert finding.whole_place.count("/") - place.count("/") <= 2, finding


PLACES: list[tuple[dict[str, object], str]] = [
    ({"expected": {"a": {"b/c": 1}}, "got": {"a": {"b/c": 2}}}, "/a/b~1c"),
    ({"expected": {"a": [1, 2]}, "got": {"a": [1, 3, 4]}}, "/a/1"),
    ({"expected": {"a": 1}, "got": {}}, "/a"),
    ({"expected": [], "got": [1]}, "/0"),
    ({"expected": "käse", "got": "käsx"}, "byte 4"),
    ({"expected": {"a": "xy"}, "got": {"a": "xz"}}, "/a, byte 1"),
    ({"expected": 402, "got": 400, "place": "/status"}, "/status"),
    ({"expected": 402, "got": 400}, ""),
    ({"expected": "x"}, ""),
]


@rows(("sides", "place"), PLACES)
def test_a_finding_says_where_two_values_differ_first(sides: dict[str, Any], place: str) -> None:
    assert Finding("SRF-TRN-03", "x", **sides).whole_place == place
