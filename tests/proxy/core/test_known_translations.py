"""What is known of a refusal is sent again, and never in the place of what it does not fit."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.decision import Annotate, Decision
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.known_translations import KnownTranslations, WatchedExchange, key_of
from corrigible.proxy.core.loop.detector import Loops
from corrigible.proxy.pack_tools.lint import answer_lookup
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.pack.cases import Case, load_cases
from corrigible.rules.pack.load import built_in, rule_files
from corrigible.schema.exchange import Exchange, Request
from tests._support.built_in_packs import profile_of
from tests._support.rows import rows

WritePack = Callable[..., Path]
REFUSED = orjson.dumps({"error": {"code": "too_much", "message": "too much"}})
ASKED = Exchange(Request("POST", "/v1/x", body={"amount": 500}), 400, {}, REFUSED, "e1", 1000.0, caller="ann")
AGAIN = replace(ASKED, id="e2", started=2000.0, elapsed=0.5, caller="bob")
RULE = "match: {code: too_much}\nsuggest: [{action: MODIFY_PARAMS, message: Take less., parameters: {amount: %s}}]\n"


class Counting(Engine):
    """An engine that counts how often it translates."""

    translated = 0

    def _translate(self, *arguments: Any) -> Any:
        self.translated += 1
        return super()._translate(*arguments)


def engine_of(pack: Path) -> Counting:
    return Counting(load_profiles([pack]))


def decided(engine: Engine, exchange: Exchange, loops: Loops | None = None, answer: bytes = b"{}") -> Decision:
    def ask(_: Lookup) -> LookupAnswer:
        return LookupAnswer(200, answer)

    return run_with_lookups_sync(engine.decide(exchange, None, loops), ask)


def amount(decision: Decision) -> Any:
    assert isinstance(decision, Annotate)
    return decision.feedback["suggestions"][0]["patch"][-1]["value"]


def test_the_same_refusal_is_translated_once(write_pack: WritePack) -> None:
    engine = engine_of(write_pack(x=RULE % "300"))
    first, again = decided(engine, ASKED), decided(engine, AGAIN)
    assert (amount(first), amount(again), engine.translated) == (300, 300, 1)
    assert isinstance(again, Annotate)
    assert again.case.exchange == AGAIN


@rows(
    "other",
    [
        replace(ASKED, status=422),
        replace(ASKED, headers={"retry-after": "3"}),
        replace(ASKED, body=REFUSED + b" "),
        *(
            replace(ASKED, request=request)
            for request in (
                Request("PUT", "/v1/x", body={"amount": 500}),
                Request("POST", "/v1/y", body={"amount": 500}),
                Request("POST", "/v1/x", {"amount": "500"}, body={"amount": 500}),
                Request("POST", "/v1/x", headers={"accept": "text/html"}, body={"amount": 500}),
                Request("POST", "/v1/x", body={"amount": 500.0}),
                Request("POST", "/v1/x", body={"amount": "500"}),
                Request("POST", "/v1/x", body={"amount": 500}, form=True),
                Request("POST", "/v1/x", body={"amount": 500}, files=frozenset({"amount"})),
                Request("POST", "/v1/x", body={"amount": 500}, is_json_text=True),
                Request("POST", "/v1/x", body={"amount": 500}, has_other_numbers=True),
            )
        ),
    ],
)
def test_whatever_differs_is_another_refusal(write_pack: WritePack, other: Exchange) -> None:
    engine = engine_of(write_pack(x=RULE % "300"))
    decided(engine, ASKED)
    decided(engine, other)
    assert engine.translated == 2


@pytest.mark.parametrize("expression", ["exchange.id", "int(exchange.started)", "exchange.elapsed", "now"])
def test_what_looks_at_the_moment_is_computed_each_time(write_pack: WritePack, expression: str) -> None:
    let = "let: {now: int(exchange.started)}\n" if expression == "now" else ""
    engine = engine_of(write_pack(x=let + RULE % expression))
    assert amount(decided(engine, ASKED)) != amount(decided(engine, AGAIN))
    assert engine.translated == 2


def test_a_wait_until_a_date_is_counted_from_each_request(write_pack: WritePack) -> None:
    engine = engine_of(write_pack(x=RULE % "300"))
    when = {"retry-after": "Thu, 01 Jan 1970 00:40:00 GMT"}
    waits = []
    for exchange in (ASKED, AGAIN):
        decision = decided(engine, replace(exchange, headers=when))
        assert isinstance(decision, Annotate)
        waits.append(decision.feedback["retry"]["after_seconds"])
    assert waits == [1400, 400]


def test_no_wait_is_for_ever(write_pack: WritePack) -> None:
    for when in ("Thu, 31 Dec 9999 00:40:00 GMT", "9" * 12):
        decision = decided(engine_of(write_pack(x=RULE % "300")), replace(ASKED, headers={"retry-after": when}))
        assert isinstance(decision, Annotate)
        assert "retry" not in decision.feedback


def test_live_state_is_looked_at_each_time(write_pack: WritePack) -> None:
    looking = "lookup: {left: {get: \"'/v1/left'\"}}\n" + RULE % "left.amount"
    engine = engine_of(write_pack(manifest="lookups: [/v1/left]\n", x=looking))
    for left in (300, 200):
        assert amount(decided(engine, ASKED, answer=orjson.dumps({"amount": left}))) == left


def test_a_refusal_that_comes_back_is_still_told_so(write_pack: WritePack) -> None:
    engine, loops = engine_of(write_pack(x=RULE % "300")), Loops(b"key")
    messages = []
    for number in range(3):
        decision = decided(engine, replace(ASKED, id=str(number), started=1000.0 + number), loops)
        assert isinstance(decision, Annotate)
        messages.append(decision.feedback.get("loop", decision.feedback["message"]))
    first = decided(engine, replace(AGAIN, started=1005.0), loops)
    assert isinstance(first, Annotate)
    assert messages[0] == first.feedback["message"]
    assert len({str(message) for message in messages}) > 1
    assert engine.translated == 1


def test_who_changes_feedback_changes_it_for_one_refusal(write_pack: WritePack) -> None:
    engine = engine_of(write_pack(x=RULE % "300"))
    for _ in range(3):
        decision = decided(engine, ASKED)
        assert isinstance(decision, Annotate)
        assert amount(decision) == 300
        decision.feedback["suggestions"].clear()


def test_what_is_large_is_not_kept() -> None:
    assert key_of(ASKED, is_wrapped=False) is not None
    for large in (
        replace(ASKED, body=b"x" * 9000),
        replace(ASKED, request=Request("POST", "/v1/x", body="x" * 9000)),
        replace(ASKED, request=Request("POST", "/" + "x" * 9000)),
        replace(ASKED, request=Request("POST", "/v1/x", body={"amount": 1 << 70})),
        replace(ASKED, request=Request("POST", "/v1/x", body="\ud800")),
    ):
        assert key_of(large, is_wrapped=False) is None


def test_the_oldest_make_room() -> None:
    keys = [key_of(replace(ASKED, body=b"%d" % number), is_wrapped=False) for number in range(9)]
    size = keys[0].size if keys[0] is not None else 0
    known: KnownTranslations[int] = KnownTranslations(3 * size)
    for number, key in enumerate(keys):
        assert key is not None
        known.keep(key, number)
        known.keep(key, number)
        assert known.get(keys[0]) == 0  # asked for again and again
    assert [known.get(key) for key in keys] == [0, *[None] * 6, 7, 8]


def test_short_refusals_count_for_what_is_made_of_them() -> None:
    """A caller who varies a short request has a page of feedback kept for each."""
    known: KnownTranslations[int] = KnownTranslations()
    for number in range(2000):
        key = key_of(Exchange(Request("GET", f"/{number}"), 400, {}, b"{}"), is_wrapped=False)
        assert key is not None
        known.keep(key, number)
    assert len(known) <= 700


@pytest.mark.slow
@pytest.mark.parametrize("filling", ["[]", '{"a":[{}]}', '"' + "x" * 7000 + '"', '{"é":1e5}'])
def test_all_that_is_kept_has_a_bound_in_bytes(write_pack: WritePack, filling: str) -> None:
    engine = engine_of(write_pack(x=RULE % "300"))
    most = 1 << 20
    fillings = ",".join([filling] * (7500 // (len(filling.encode()) + 1)))

    def ask(number: int) -> None:
        body = f'{{"error": {{"code": "too_much", "message": "no {number}"}}, "rest": [{fillings}]}}'.encode()
        assert isinstance(decided(engine, replace(ASKED, body=body)), Annotate)

    ask(-1)  # what is read for the first time stays in memory, whoever reads it
    engine._known = KnownTranslations(most)
    tracemalloc.start()
    try:
        for number in range(60):
            ask(number)
            if len(engine._known) < number - 5:  # several have made room
                break
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(engine._known) > 0
    assert held < most * 1.2


def test_a_watched_exchange_is_the_same_to_who_reads_it() -> None:
    watched = WatchedExchange.of(ASKED)
    assert (watched.request, watched.status, watched.headers, watched.body) == (ASKED.request, 400, {}, REFUSED)
    assert not watched.was_looked_at
    assert (watched.id, watched.started, watched.elapsed, watched.caller) == ("e1", 1000.0, 0.0, "ann")
    assert watched.was_looked_at
    copied = WatchedExchange.of(ASKED)
    assert replace(copied, status=500).status == 500
    assert copied.was_looked_at


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(built_in()))
def test_what_is_known_is_what_would_be_computed(name: str) -> None:
    """A case of each rule, asked for again at another time by another caller, beside an engine that knows nothing.

    It is the rule that says what is looked at: its other cases say the same again.
    """
    profiles = [profile_of(name)]
    knowing = Engine(profiles)
    for file in rule_files(profiles[0].pack.path):
        for case in load_cases(file)[:1]:
            later = replace(case.exchange, id="another", started=case.exchange.started + 77, caller="bob")
            of_case(knowing, case.exchange, case, Loops(b"key"))
            assert of_case(knowing, later, case) == of_case(Engine(profiles), later, case), f"{name}: {case.rule}"


def of_case(engine: Engine, exchange: Exchange, case: Case, loops: Loops | None = None) -> Any:
    def ask(lookup: Lookup) -> LookupAnswer:
        return answer_lookup(case.text.lookups, lookup)

    decision = run_with_lookups_sync(engine.decide(exchange, None, loops), ask)
    if not isinstance(decision, Annotate):
        return decision.reason, decision.operation, decision.fault
    said = (decision.feedback, decision.encoded, decision.diagnoses, decision.rules, decision.live)
    return *said, decision.operation, decision.case.exchange, decision.errors
