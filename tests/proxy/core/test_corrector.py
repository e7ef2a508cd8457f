"""What holds for the refusals of every protocol: decode, decide, embed, and no mistake of ours reaches anybody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.corrector import Corrector, NotCorrected, Outcome, Unplaced
from corrigible.proxy.core.decision import Annotate, Decision
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.loop.detector import Loops
from corrigible.proxy.core.mode import Mode, ModeChoice
from corrigible.proxy.core.relayed_feedback import Relay
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Request

FIX = "match: {code: too_much}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {amount: 300}}]\n"
REFUSED = b'{"error": {"code": "too_much", "message": "too much"}}'
UNKNOWN = b'{"error": {"code": "other", "message": "else"}}'
MANIFEST = """\
operations: {POST /x: Create}
error: {code: /error/code, message: /error/message, refused: {operations: Create, pointer: /error, exists: true}}
"""
MISTAKE = RuntimeError("a bug")


@dataclass
class Line:
    """A call of the plainest of protocols: a status and a body, both ways."""

    status: int = 400
    body: bytes = REFUSED
    mode: Mode | None = None
    path: str = "/x"


@dataclass
class LineCodec:
    """Its codec, in which each step can be made to fail."""

    failing: dict[str, BaseException] = field(default_factory=dict)
    unplaced: bool = False
    kept: list[bytes] = field(default_factory=list)

    modes = frozenset({Mode.REFLECTIVE, Mode.VERBOSE})

    def _step(self, name: str) -> None:
        if name in self.failing:
            raise self.failing[name]

    def choose_mode(self, native: Line, default: Mode) -> ModeChoice:
        return ModeChoice(native.mode or default)

    def caller(self, native: Line, loops: Loops) -> str:
        self._step("caller")
        return loops.caller([("authorization", "me")])

    def target(self, native: Line) -> Request:
        self._step("target")
        return Request("POST", native.path)

    def decode(self, native: Line, id: str, started: float, elapsed: float, caller: str) -> Exchange:
        self._step("decode")
        request = Request("POST", native.path, body={"amount": 500})
        return Exchange(request, native.status, {}, native.body, id, started, elapsed, caller)

    def embed(self, native: Line, exchange: Exchange, decision: Decision, choice: ModeChoice) -> bytes | Unplaced:
        self._step("embed")
        if self.unplaced:
            return Unplaced("no room")
        if not isinstance(decision, Annotate):
            return Unplaced() if choice.mode is Mode.REFLECTIVE else b"blank"
        return decision.encoded

    def store_document(self, embedded: bytes) -> None:
        self._step("keep")
        self.kept.append(embedded)


Make = Callable[..., tuple[Corrector[Line, bytes], LineCodec]]


@pytest.fixture
def make(write_pack: Callable[..., Path]) -> Make:
    engine = build_engine([write_pack(manifest=MANIFEST, x=FIX)])

    def made(
        *, loops: bool = True, relay: Relay | None = None, **members: Any
    ) -> tuple[Corrector[Line, bytes], LineCodec]:
        codec = LineCodec(**members)
        engine_of = Engine(engine.profiles, engine.limits, None, relay)
        return Corrector(engine_of, codec, loops=Loops(b"k") if loops else None), codec

    return made


def correct(corrector: Corrector[Line, bytes], native: Line | None = None, **more: Any) -> Outcome[bytes]:
    going = corrector.correct(native or Line(), id="e", started=1000.0, **more)
    return run_with_lookups_sync(going, lambda lookup: LookupAnswer(0))


def attempt(outcome: Outcome[bytes]) -> int:
    return int(outcome.feedback.get("loop", {"attempt": 1})["attempt"])


def test_a_refusal_is_corrected_and_kept(make: Make) -> None:
    corrector, codec = make()
    outcome = correct(corrector)
    assert outcome.rewrite is not None
    assert orjson.loads(outcome.rewrite) == outcome.feedback
    assert (outcome.reason, outcome.rules, outcome.error, outcome.seal) == ("annotated", ("apex.x",), None, None)
    assert codec.kept == [outcome.rewrite]


def test_other_modes_show_no_feedback_and_count_nothing(make: Make) -> None:
    corrector, _ = make()
    for _ in range(3):
        outcome = correct(corrector, Line(mode=Mode.VERBOSE))
        assert (outcome.mode, outcome.feedback, outcome.rules) == (Mode.VERBOSE, None, ("apex.x",))
        assert outcome.rewrite is not None
    assert attempt(correct(corrector)) == 1
    none = correct(corrector, Line(mode=Mode.NONE))
    assert none == Outcome(None, "mode is none", Mode.NONE)
    assert correct(corrector, choice=ModeChoice(Mode.NONE)) == none


def test_what_passes_may_still_be_rewritten(make: Make) -> None:
    corrector, codec = make()
    passed = correct(corrector, Line(body=b"{}"))
    assert (passed.rewrite, passed.reason, passed.error) == (None, "no known error format", None)
    blank = correct(corrector, Line(body=b"{}", mode=Mode.VERBOSE))
    assert (blank.rewrite, blank.reason) == (b"blank", "no known error format")
    assert codec.kept == [b"blank"]


def test_without_loops_every_refusal_is_the_first(make: Make) -> None:
    corrector, _ = make(loops=False)
    assert [attempt(correct(corrector)) for _ in range(3)] == [1, 1, 1]


def test_refusals_count_until_something_goes_well(make: Make) -> None:
    corrector, _ = make()
    assert [attempt(correct(corrector)) for _ in range(2)] == [1, 2]
    corrector.succeeded(Line(path="/other"))
    assert attempt(correct(corrector)) == 3
    corrector.succeeded(Line())
    assert [attempt(correct(corrector)) for _ in range(2)] == [1, 2]
    correct(corrector, Line(status=200, body=b"{}"))
    assert attempt(correct(corrector)) == 1
    correct(corrector, Line(status=400, body=b"{}"))
    assert attempt(correct(corrector)) == 2, "an answer that is not read is no success"
    correct(corrector, Line(status=200, body=UNKNOWN))
    assert attempt(correct(corrector)) > 2, "nor is a refusal with status 200 that no rule knows"


COMPACT = ModeChoice(Mode.REFLECTIVE, is_compact=True)


@pytest.mark.parametrize(
    ("members", "native", "choice", "reason"),
    [
        ({}, Line(status=200), None, "annotated"),
        ({}, Line(body=UNKNOWN), COMPACT, "no rule matches"),
        ({"loops": False, "unplaced": True}, Line(), None, "no room"),
    ],
)
def test_what_becomes_of_an_answer_is_no_mistake(
    make: Make, members: dict[str, Any], native: Line, choice: ModeChoice | None, reason: str
) -> None:
    corrector, _ = make(**members)
    outcome = correct(corrector, native, choice=choice)
    assert (outcome.reason, outcome.error) == (reason, None)


def test_what_finds_no_place_is_not_counted(make: Make) -> None:
    corrector, codec = make(unplaced=True)
    for _ in range(2):
        outcome = correct(corrector)
        assert (outcome.rewrite, outcome.reason, outcome.rules) == (None, "no room", ("apex.x",))
    codec.unplaced = False
    assert attempt(correct(corrector)) == 1


@pytest.mark.parametrize("step", ["decode", "embed", "keep"])
def test_a_mistake_of_ours_leaves_the_answer_and_is_told(make: Make, step: str) -> None:
    corrector, codec = make(failing={step: MISTAKE})
    for _ in range(2):
        outcome = correct(corrector)
        assert outcome == Outcome(None, "a mistake of ours", Mode.REFLECTIVE, error="RuntimeError: a bug")
    codec.failing.clear()
    assert attempt(correct(corrector)) == 1


def test_what_is_none_of_ours_is_no_mistake(make: Make) -> None:
    corrector, _ = make(failing={"decode": NotCorrected("it is a stream")})
    assert correct(corrector) == Outcome(None, "it is a stream", Mode.REFLECTIVE)


def test_whose_caller_cannot_be_told_gets_feedback_all_the_same(make: Make) -> None:
    corrector, _ = make(failing={"caller": MISTAKE})
    assert [attempt(correct(corrector)) for _ in range(2)] == [1, 1]
    corrector.succeeded(Line())


def test_a_success_that_cannot_be_read_ends_nothing_and_raises_nothing(make: Make) -> None:
    corrector, codec = make()
    assert attempt(correct(corrector)) == 1
    codec.failing["target"] = MISTAKE
    corrector.succeeded(Line())
    assert attempt(correct(corrector)) == 2


def test_what_another_process_made_is_kept_here(make: Make) -> None:
    corrector, codec = make()
    outcome = Outcome(b"corrected", "annotated", Mode.REFLECTIVE)
    assert corrector.accepted(outcome) is outcome
    passed: Outcome[bytes] = Outcome(None, "no rule matches", Mode.REFLECTIVE)
    assert corrector.accepted(passed) is passed
    assert codec.kept == [b"corrected"]


def test_a_seal_that_another_process_believed_is_used_up_here(make: Make) -> None:
    sealed = Outcome(b"corrected", "annotated", Mode.REFLECTIVE, "Op", {"a": 1}, ("r",), seal=("v1 s", 1000.0))
    withheld = Outcome[bytes](
        None,
        "a mistake of ours",
        Mode.REFLECTIVE,
        "Op",
        error="feedback of another front was taken already",
        seal=sealed.seal,
    )
    corrector, codec = make(relay=Relay(b"k"))
    assert corrector.accepted(sealed) is sealed
    assert corrector.accepted(sealed) == withheld
    assert codec.kept == [b"corrected"]
    without, _ = make()
    assert without.accepted(sealed) == withheld
