"""Each scripted agent in made-up conversations: exactly these moves and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from corrigible.conformance.lift.agents.protocol import Briefing, Response, Send, Stop
from corrigible.conformance.lift.agents.registry import SCRIPTED
from corrigible.schema import Request
from corrigible.schema.exchange import Json
from tests._support.rows import rows

from .talk import (
    CHOICES,
    CURRENCY,
    DONE,
    ESCALATED,
    ESCALATED_CORE,
    ISSUES,
    NOTHING,
    ORDER,
    QUICHE,
    REDUCE,
    REFUND,
    REPLACE,
    STEPS,
    changed,
    cooked,
    moves,
    seen,
    suggested,
    with_idempotency_suffix,
)


@dataclass(frozen=True)
class Talk:
    """A conversation: what an agent is told, and the moves it must make."""

    about: str
    agent: str
    request: Request
    answers: Sequence[Response]
    moves: Sequence[Request | Stop]
    """After the first, which is always the request itself."""
    facts: Mapping[str, Json] = field(default_factory=dict)
    seed: int = 0


IMPOSSIBLE, OVER, SILENT = Stop("impossible", "NO_RECOVERY_AVAILABLE"), Stop("done", "ALREADY_DONE"), "no feedback"
STOPPED_BY_LOOP_BREAKER = Stop("stopped by loop breaker", "the loop breaker escalated")

TALKS = (
    Talk("parameters are merged", "literal-merge", REFUND, [seen(REDUCE)], [changed(REFUND, amount=300)]),
    Talk(
        "into the query where there is no body",
        "literal-merge",
        ISSUES,
        [seen(suggested({"parameters": {"sort": "updated", "page": None}}))],
        [replace(ISSUES, query={"sort": "updated"})],
    ),
    Talk(
        "and literally, which helps nobody in a list",
        "literal-merge",
        QUICHE,
        [seen(REPLACE)],
        [changed(QUICHE, replace_ingredient="coconut milk", with_ingredient="cream")],
    ),
    Talk(
        "only those of the first suggestion",
        "literal-merge",
        ORDER,
        [seen(suggested({"parameters": {"size": "huge"}}, {"parameters": {"count": 9}}))],
        [changed(ORDER, size="huge")],
    ),
    Talk("a list is no object", "literal-merge", replace(ORDER, body=[1]), [seen(REDUCE)], [Stop("needs input")]),
    Talk("the end is the end", "literal-merge", QUICHE, [seen(NOTHING)], [IMPOSSIBLE]),
    Talk("nothing to read", "literal-merge", QUICHE, [seen(error="no")], [Stop("gave up", SILENT)]),
    Talk("a patch is applied", "patch-executor", QUICHE, [seen(REPLACE)], [cooked(1, name="cream")]),
    Talk(
        "under a key of its own",
        "patch-executor",
        REFUND,
        [seen(REDUCE)],
        [with_idempotency_suffix(changed(REFUND, amount=300), "k-2")],
    ),
    Talk("a placeholder is not filled", "patch-executor", REFUND, [seen(CURRENCY)], [Stop("needs input")]),
    Talk("a choice is not made", "patch-executor", ISSUES, [seen(CHOICES)], [Stop("needs input")]),
    Talk("it is done already", "patch-executor", REFUND, [seen(DONE)], [OVER]),
    Talk("a person must look", "patch-executor", REFUND, [seen(ESCALATED)], [STOPPED_BY_LOOP_BREAKER]),
    Talk("the core says so in parameters", "patch-executor", REFUND, [seen(ESCALATED_CORE)], [STOPPED_BY_LOOP_BREAKER]),
    Talk("unreadable", "patch-executor", REFUND, [seen({"suggestions": 7})], [Stop("gave up")]),
    Talk("prose alone", "patch-executor", REFUND, [Response(500, "oops")], [Stop("gave up", SILENT)]),
    Talk(
        "a placeholder is filled by name",
        "informed",
        REFUND,
        [seen(CURRENCY)],
        [changed(REFUND, currency="eur")],
        {"currency": "eur"},
    ),
    Talk(
        "or by the only shape that fits",
        "informed",
        REFUND,
        [seen(CURRENCY)],
        [changed(REFUND, currency="usd")],
        {"money": "usd", "name": "Lee"},
    ),
    Talk(
        "but not by a value that the schema refuses",
        "informed",
        REFUND,
        [seen(CURRENCY)],
        [Stop("needs input")],
        {"currency": "chf"},
    ),
    Talk("no fact, no value", "informed", REFUND, [seen(CURRENCY)], [Stop("needs input")], {"name": "Lee"}),
    Talk(
        "two that fit are none",
        "informed",
        REFUND,
        [seen(CURRENCY)],
        [Stop("needs input")],
        {"old": "usd", "new": "eur"},
    ),
    Talk(
        "what is filled in leaves what another suggestion removes",
        "informed",
        REFUND,
        [seen(suggested({"patch": [{"op": "remove", "path": "/body/amount"}]}, *CURRENCY["suggestions"]))],
        [replace(REFUND, body={"charge": "ch_1", "currency": "eur"})],
        {"currency": "eur"},
    ),
    Talk(
        "and every parameter beside it",
        "informed",
        REFUND,
        [seen(suggested({**CURRENCY["suggestions"][0], "parameters": {"to": {"name": "Lee", "city": "Bonn"}}}))],
        [changed(REFUND, to={"name": "Lee", "city": "Bonn"}, currency="eur")],
        {"currency": "eur"},
    ),
    Talk(
        "the choice that agrees is picked",
        "informed",
        ISSUES,
        [seen(CHOICES)],
        [replace(ISSUES, query={"sort": "created", "page": "2"})],
        {"order": "created"},
    ),
    Talk("none agrees", "informed", ISSUES, [seen(CHOICES)], [Stop("needs input")], {"order": "size"}),
    Talk(
        "among alternatives the one that agrees comes first",
        "informed",
        ISSUES,
        [seen({**CHOICES, "type": "recovery_guidance"})],
        [replace(ISSUES, query={"sort": "created", "page": "2"})],
        {"order": "created"},
    ),
    Talk(
        "where nothing is asked it does as told",
        "informed",
        QUICHE,
        [seen(REPLACE)],
        [cooked(1, name="cream")],
        {"x": 1},
    ),
    Talk(
        "again and again",
        "stubborn",
        REFUND,
        [seen(REDUCE), seen(error="no"), seen(ESCALATED)],
        [REFUND, REFUND, STOPPED_BY_LOOP_BREAKER],
    ),
    Talk("what ends by itself is no loop", "stubborn", REFUND, [seen(NOTHING)], [REFUND]),
    Talk("it does as told", "gullible", QUICHE, [seen(REPLACE)], [cooked(1, name="cream")]),
    Talk("nobody tells it anything", "gullible", QUICHE, [seen(error="no")], [Stop("gave up", SILENT)]),
)


@rows("talk", TALKS, ids=lambda talk: f"{talk.agent}: {talk.about}")
def test_an_agent_makes_exactly_these_moves(talk: Talk) -> None:
    briefing = Briefing("An API.", "Do it.", talk.request, talk.facts)
    first, *made = moves(SCRIPTED[talk.agent], briefing, talk.answers, talk.seed)
    assert isinstance(first, Send) and first.request == talk.request and not first.steps
    assert len(made) == len(talk.moves)
    for move, expected in zip(made, talk.moves, strict=True):
        if isinstance(expected, Stop):
            assert isinstance(move, Stop) and move.ending == expected.ending, move
            assert expected.reason in move.reason
        else:
            assert isinstance(move, Send), move
            assert move.request.document() == expected.document()


def test_every_agent_is_in_a_talk() -> None:
    assert {talk.agent for talk in TALKS} == set(SCRIPTED)


def test_waits_steps_and_what_was_applied_are_told() -> None:
    waiting = moves(SCRIPTED["patch-executor"], Briefing("", "", REFUND), [seen(REDUCE)])[1]
    assert isinstance(waiting, Send) and (waiting.wait, waiting.applied) == (2, (0,))
    for name in ("patch-executor", "informed", "gullible"):
        stepping = moves(SCRIPTED[name], Briefing("", "", REFUND), [seen(STEPS)])[1]
        assert isinstance(stepping, Send) and [step.path for step in stepping.steps] == ["/charges/ch_1/capture"]
    merging = moves(SCRIPTED["literal-merge"], Briefing("", "", REFUND), [seen(STEPS)])[1]
    assert isinstance(merging, Send) and not merging.steps


def test_the_informed_one_says_which_of_the_suggestions_as_shown_it_applied() -> None:
    move = moves(SCRIPTED["informed"], Briefing("", "", ISSUES, {"order": "created"}), [seen(CHOICES)])[1]
    assert isinstance(move, Send) and move.applied == (1,)
