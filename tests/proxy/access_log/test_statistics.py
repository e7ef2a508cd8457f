"""The numbers of what became of exchanges: whose they are, and how many there may be."""

from __future__ import annotations

from dataclasses import replace

from corrigible.proxy.access_log.entry import Entry, Verdict
from corrigible.proxy.access_log.statistics import OTHER, REQUEST_BUCKETS, Group, Statistics
from tests._support.rows import rows

REFUSED = Entry(1.0, "x", "GET", "/x", 404, "untouched", 12.0, "Op", reason="no rule", correction=0.01, api="billing")


def test_whoever_calls_names_operations_and_does_not_fill_the_memory() -> None:
    counts = Statistics()
    for number in range(5000):
        counts.write(replace(REFUSED, operation=f"{number:05}" * 100, status=400 + number % 100, rules=(f"r{number}",)))
        counts.count_success("billing", f"Read{number}", 200, 0.1)
    for numbers in (counts.groups, counts.refused, counts.rules, counts.unchanged):
        assert len(numbers) < 1000
    assert max(len(group.operation) for group in counts.groups) <= 120
    assert counts.requests == 10_000 and counts.refused.total() == counts.unchanged.total() == 5000
    assert counts.groups[Group("billing", OTHER, "2xx", Verdict.SUCCESS)].count > 4000


@rows(
    ("changed", "group"),
    [
        ({}, ("billing", "Op", "4xx", Verdict.UNCHANGED)),
        ({"status": 200, "operation": None}, ("billing", "", "2xx", Verdict.SUCCESS)),
        ({"status": 101}, ("billing", "Op", "1xx", Verdict.SUCCESS)),
        ({"status": 503, "code": "UNAVAILABLE"}, ("billing", "Op", "5xx", Verdict.UNCHANGED)),
        ({"status": None, "outcome": "failed", "failure": "gone"}, ("billing", "Op", "5xx", Verdict.FAILED)),
        ({"status": None, "outcome": "failed"}, ("billing", "Op", "none", Verdict.GONE)),
        ({"status": 999}, ("billing", "Op", "other", Verdict.UNCHANGED)),
        ({"status": 1000, "api": ""}, ("", "Op", "other", Verdict.UNCHANGED)),
    ],
)
def test_the_class_is_that_of_what_the_caller_got(changed: dict[str, object], group: Group) -> None:
    counts = Statistics()
    counts.write(replace(REFUSED, **changed))  # type: ignore[arg-type]  # of several types
    assert [*counts.groups] == [group]


def test_each_duration_is_in_one_class_and_a_copy_stays_as_it_is() -> None:
    counts = Statistics()
    for seconds in (0.0, 0.001, 0.0011, 7.0, 61.0, 1e9):
        counts.count_success("", "", 200, seconds)
    [times] = counts.groups.values()
    assert times.count == sum(times.classes) == 6
    assert [times.classes[0], times.classes[1], times.classes[-1]] == [2, 1, 2]
    assert len(times.classes) == len(REQUEST_BUCKETS) + 1
    before = counts.copy()
    counts.count_success("", "", 200, 1.0)
    counts.write(REFUSED)
    assert (before.requests, before.refusals, before.corrections) == (6, 0, {})
    assert sum(next(iter(before.groups.values())).classes) == 6
