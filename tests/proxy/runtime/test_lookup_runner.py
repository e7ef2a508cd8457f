"""Performing look-ups: cached, counted, boxed in time, and never the end of anything."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Generator, Sequence

import pytest

from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.corrector import HttpOutcome
from corrigible.proxy.http.messages import Rewrite
from corrigible.proxy.runtime.lookup_runner import Fetch, LookupBudget, T, run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from tests._support.rows import rows

Asking = Generator[Lookup, LookupAnswer, list[int]]


async def run_with_lookups(
    generator: Generator[Lookup, LookupAnswer, T], fetch: Fetch, limits: Limits | None = None
) -> T:
    """Run a correction to its end with the budget, as the engines do."""
    budget = LookupBudget(fetch, limits or Limits())
    try:
        lookup = next(generator)
        while True:
            lookup = generator.send(await budget.answer(lookup))
    except StopIteration as stop:
        result: T = stop.value
        return budget.in_time(result)


def asks(paths: Sequence[str]) -> Asking:
    """Ask for some paths; return the status of each answer."""
    said = []
    for path in paths:
        answer = yield Lookup(path)
        said.append(answer.status)
    return said


class Server:
    """Answers 200, but for the paths it is told about."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def fetch(self, lookup: Lookup) -> LookupAnswer:
        path = lookup.path
        self.asked.append(path)
        if path == "/broken":
            raise ConnectionError("refused")
        return LookupAnswer(404 if path == "/gone" else 200, b"x" * (2000 if path == "/large" else 1))

    async def fetch_async(self, lookup: Lookup) -> LookupAnswer:
        if lookup.path == "/slow":
            self.asked.append(lookup.path)
            await asyncio.Event().wait()
        return self.fetch(lookup)


TABLE: list[tuple[list[str], list[int], list[str]]] = [
    ([], [], []),
    (["/a", "/b"], [200, 200], ["/a", "/b"]),
    (["/a", "/a", "/b", "/a"], [200, 200, 200, 200], ["/a", "/b"]),
    (["/gone", "/gone"], [404, 404], ["/gone"]),
    (["/broken", "/a", "/broken"], [0, 200, 0], ["/broken", "/a"]),
    (["/large"], [0], ["/large"]),
    (["/a", "/b", "/c", "/d", "/a"], [200, 200, 200, 0, 200], ["/a", "/b", "/c"]),
]
LIMITS = Limits(lookups=3, body=1000, seconds_with_lookups=30)


@rows(("paths", "answers", "asked"), TABLE)
def test_answers(paths: list[str], answers: list[int], asked: list[str]) -> None:
    one, other = Server(), Server()
    assert run_with_lookups_sync(asks(paths), one.fetch, LIMITS) == answers
    assert asyncio.run(run_with_lookups(asks(paths), other.fetch_async, LIMITS)) == answers
    assert one.asked == other.asked == asked


def test_an_answer_that_never_comes_is_given_up_and_no_more_are_asked() -> None:
    server = Server()
    limits = Limits(seconds_with_lookups=0.05)
    assert asyncio.run(run_with_lookups(asks(["/a", "/slow", "/b", "/a"]), server.fetch_async, limits)) == [
        200,
        0,
        0,
        200,
    ]
    assert server.asked == ["/a", "/slow"]


def test_a_look_up_that_hangs_leaves_time_for_what_needs_none() -> None:
    outcome = asyncio.run(
        run_with_lookups(corrects(0, ask=True, path="/slow"), Server().fetch_async, Limits(seconds_with_lookups=0.5))
    )
    assert outcome.rewrite == Rewrite([], b"corrected")


def test_past_the_deadline_nothing_is_asked() -> None:
    server = Server()
    assert run_with_lookups_sync(asks(["/a"]), server.fetch, Limits(seconds_with_lookups=0)) == [0]
    assert asyncio.run(run_with_lookups(asks(["/a"]), server.fetch_async, Limits(seconds_with_lookups=0))) == [0]
    assert server.asked == []


def test_a_caller_who_goes_away_ends_it() -> None:
    async def gone() -> None:
        task = asyncio.create_task(run_with_lookups(asks(["/slow"]), Server().fetch_async, LIMITS))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(gone())


def test_a_mistake_of_the_translation_is_not_hidden() -> None:
    def wrong() -> Asking:
        yield Lookup("/a")
        raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        run_with_lookups_sync(wrong(), Server().fetch)
    with pytest.raises(KeyError, match="ours"):
        asyncio.run(run_with_lookups(wrong(), Server().fetch_async))


def corrects(spend: float, *, ask: bool, path: str = "/a") -> Generator[Lookup, LookupAnswer, HttpOutcome]:
    """Take some time for a correction, look-ups apart."""
    if ask:
        yield Lookup(path)
    time.sleep(spend)
    return HttpOutcome(Rewrite([], b"corrected"), "annotated", Mode.REFLECTIVE, feedback={"x": 1}, rules=("a.b",))


@pytest.mark.parametrize("ask", [False, True])
def test_a_correction_that_comes_too_late_is_withheld(ask: bool) -> None:
    limits = Limits(seconds=0.001, seconds_with_lookups=0.003)
    outcome = asyncio.run(run_with_lookups(corrects(0.05, ask=ask), Server().fetch_async, limits))
    assert (outcome.rewrite, outcome.feedback, outcome.rules) == (None, None, ())
    assert outcome.error == outcome.reason
    assert re.fullmatch(r"over the time limit of 0\.003 s \(--time-limit\): took \d+ ms", outcome.reason)


@pytest.mark.parametrize("ask", [False, True])
def test_a_correction_in_time_is_given(ask: bool) -> None:
    limits = Limits(seconds=30, seconds_with_lookups=30)
    outcome = asyncio.run(run_with_lookups(corrects(0, ask=ask), Server().fetch_async, limits))
    assert outcome.rewrite == Rewrite([], b"corrected")


def test_what_is_wanted_next_is_asked_at_the_same_time() -> None:
    together = asyncio.Event()
    asked: list[str] = []

    async def fetch(lookup: Lookup) -> LookupAnswer:
        asked.append(lookup.path)
        if len(asked) == 2:
            together.set()
        await together.wait()  # neither is answered before both were asked
        return LookupAnswer(200, lookup.path.encode())

    def wants() -> Generator[Lookup, LookupAnswer, list[bytes]]:
        first = yield Lookup("/a", prefetch=(Lookup("/b"), Lookup("/b"), Lookup("/a")))
        second = yield Lookup("/b")
        return [first.body, second.body]

    assert asyncio.run(run_with_lookups(wants(), fetch, LIMITS)) == [b"/a", b"/b"]
    assert asked == ["/a", "/b"]


def test_asking_ahead_keeps_to_the_cap() -> None:
    server = Server()
    ahead = tuple(Lookup(path) for path in ("/b", "/c", "/d", "/e"))

    def wants() -> Asking:
        first = yield Lookup("/a", prefetch=ahead)
        said = [first.status]
        for lookup in ahead:
            answer = yield lookup
            said.append(answer.status)
        return said

    assert asyncio.run(run_with_lookups(wants(), server.fetch_async, LIMITS)) == [200, 200, 200, 0, 0]
    assert server.asked == ["/a", "/b", "/c"]
