"""Corrects refusals, whatever protocol they came by: decode -> decide -> embed.

Owns the mode, the caller, the loops, the limits and the guard against errors of ours. Knows: the engine, a codec.
Does not know: sockets, clocks, headers, trailers, what any rule says.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import orjson

from corrigible.proxy.core.loop.detector import Loops, place_of
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request, record

from .api_profile import Explanation, match_operation
from .decision import Annotate, Decision, PassThrough
from .engine import Engine
from .limits import Limits
from .mode import Mode, ModeChoice

_OF_FEEDBACK: Final = ("type", "message", "recovery", "retry")
_OF_SUGGESTION: Final = ("action", "base_action", "patch", "steps", "applicability", "placeholders", "group")
_WARNINGS: Final = ("changes_intent", "requires_confirmation", "loses")
"""What a caller must know before it sends a request."""


def compact(decision: Annotate) -> Annotate:
    """Return the decision with short feedback, without diagnoses: they repeat the native error."""
    feedback = orjson.loads(decision.encoded)
    short = {name: feedback[name] for name in _OF_FEEDBACK if name in feedback}
    short["suggestions"] = [_suggestion(suggestion) for suggestion in feedback["suggestions"]]
    return decision._replace(feedback=short, encoded=orjson.dumps(short), diagnoses=())


def _suggestion(whole: Mapping[str, Json]) -> dict[str, Json]:
    short = {name: whole[name] for name in _OF_SUGGESTION if whole.get(name)}
    # A patch holds what the parameters hold. The contract (SPEC.md 1.2) wants the object all the same.
    short["parameters"] = {} if "patch" in short else whole["parameters"]
    safety = {name: value for name, value in whole.get("safety", {}).items() if name in _WARNINGS and value}
    if safety:
        short["safety"] = safety
    if "message" in whole and (safety or "patch" not in short):  # what a person is asked, or the only help
        short["message"] = whole["message"]
    if short.get("applicability") == "MACHINE_APPLICABLE":  # a claim that needs its proof
        short |= {name: whole[name] for name in ("verification", "confidence") if name in whole}
    return short


Native = TypeVar("Native")
"""What a front end hands over: the messages of one exchange, as they came."""
NativeT = TypeVar("NativeT", contravariant=True)
Embedded = TypeVar("Embedded")
"""What it gets back: the answer with the feedback in it."""

OUR_ERROR = "a mistake of ours"


class NotCorrected(Exception):
    """An exchange that is none of ours to correct, and why: no mistake of anybody's."""


class Unplaced(NamedTuple):
    """The answer has no place for what was decided."""

    reason: str = ""


class Codec(Protocol[NativeT, Embedded]):
    """Turns the messages of a protocol into an exchange, and a decision into an answer. Judges nothing."""

    @property
    def modes(self) -> frozenset[Mode]:
        """The modes in which the protocol's answers can be corrected."""

    def choose_mode(self, native: NativeT, default: Mode) -> ModeChoice:
        """Return the mode that the caller asks for, or the default."""

    def caller(self, native: NativeT, loops: Loops) -> str:
        """Return who calls, as the loops' own digest; empty where nothing tells."""

    def target(self, native: NativeT) -> Request:
        """Return the method and path alone: what is called, for a success that nobody reads."""

    def decode(self, native: NativeT, id: str, started: float, elapsed: float, caller: str) -> Exchange:
        """Return the exchange. Raises NotCorrected, and ValueError where it cannot be read."""

    def embed(self, native: NativeT, exchange: Exchange, decision: Decision, choice: ModeChoice) -> Embedded | Unplaced:
        """Return the answer with what was decided, or why it stays as it is."""

    def store_document(self, embedded: Embedded) -> None:
        """Keep what an answer points to for fetching."""


@record
class Outcome(Generic[Embedded]):
    """What became of one answer. Without a rewrite every byte stays."""

    rewrite: Embedded | None
    reason: str
    mode: Mode
    operation: str = ""
    feedback: Json = None
    rules: tuple[str, ...] = ()
    error: str | None = None
    """A mistake of ours, for the log. The same as the reason where a limit was exceeded."""
    seal: tuple[str, float] | None = None
    """By which the feedback was believed, and when."""

    def unchanged(self, error: str) -> Outcome[Embedded]:
        """Return the outcome that leaves every byte, for a mistake of ours."""
        return replace(self, rewrite=None, reason=OUR_ERROR, feedback=None, rules=(), error=error)

    def over_limit(self, reason: str) -> Outcome[Embedded]:
        """Return the outcome that leaves every byte, for a limit that an operator can raise."""
        return replace(self.unchanged(reason), reason=reason)


class Corrector(Generic[Native, Embedded]):
    """Corrects the refusals of one upstream, one at a time."""

    def __init__(
        self,
        engine: Engine,
        codec: Codec[Native, Embedded],
        *,
        mode: Mode = Mode.REFLECTIVE,
        loops: Loops | None = None,
    ) -> None:
        """Without `loops` every refusal is answered as if it were the first."""
        self.engine, self.mode, self.loops = engine, mode, loops
        self._codec = codec

    @property
    def limits(self) -> Limits:
        return self.engine.limits

    def correct(
        self,
        native: Native,
        *,
        id: str,
        started: float,
        elapsed: float = 0.0,
        choice: ModeChoice | None = None,
        caller: str | None = None,
        explanation: Explanation | None = None,
    ) -> Generator[Lookup, LookupAnswer, Outcome[Embedded]]:
        """Decide about one answer that is at hand, as it came over the wire. Never raises.

        `choice` and `caller` are read here where the front end has not done so.
        """
        choice = choice or self._codec.choose_mode(native, self.mode)
        mode = choice.mode
        if mode not in self._codec.modes:
            return Outcome(None, f"mode is {mode.value}", mode)
        # The answers of other modes show no suggestions that a caller could repeat.
        loops = self.loops if mode is Mode.REFLECTIVE else None
        try:
            caller = self._caller(native) if caller is None else caller
            exchange = self._codec.decode(native, id, started, elapsed, caller)
            decision = yield from self.engine.decide(exchange, explanation, loops)
            if isinstance(decision, PassThrough) and decision.case is None and exchange.status < 400:
                self.succeeded(native)
            if choice.is_compact and isinstance(decision, Annotate):
                decision = compact(decision)
            embedded = self._codec.embed(native, exchange, decision, choice)
            if isinstance(embedded, Unplaced):
                if loops is not None and isinstance(decision, Annotate):
                    loops.uncount_refusal(id)
                return _untouched(decision, embedded, mode)
            self._codec.store_document(embedded)
            return _rewritten(decision, embedded, mode, exchange)
        except NotCorrected as why:
            return Outcome(None, str(why), mode)
        except Exception as problem:  # the law: an error of ours means that the native answer passes
            if loops is not None:
                loops.uncount_refusal(id)
            return Outcome(None, OUR_ERROR, mode, error=f"{type(problem).__name__}: {problem}")

    def succeeded(self, native: Native) -> str:
        """End the loops of a caller at what was called: a success. Return its operation, if it was looked for.

        Never raises.
        """
        if not self.loops:
            return ""
        try:
            caller = self._caller(native)
            if self.loops.has_loop(caller):
                request = self._codec.target(native)
                match = match_operation(self.engine.profiles, request)
                operation = match.operation if match is not None else ""
                for place in {place_of(name, request) for name in ("", operation)}:
                    self.loops.succeeded(caller, place)
                return operation
        except Exception:  # a loop that does not end here ends by itself
            pass
        return ""

    def accepted(self, outcome: Outcome[Embedded]) -> Outcome[Embedded]:
        """Take over what another process made of an answer: what is to be remembered is remembered here."""
        relay = self.engine.relay
        if outcome.seal is not None and (relay is None or not relay.is_first_use(*outcome.seal)):
            return outcome.unchanged("feedback of another front was taken already")
        if outcome.rewrite is not None:
            self._codec.store_document(outcome.rewrite)
        return outcome

    def _caller(self, native: Native) -> str:
        try:
            return self._codec.caller(native, self.loops) if self.loops is not None else ""
        except Exception:  # whose refusals cannot be counted still gets feedback
            return ""


def _untouched(decision: Decision, unplaced: Unplaced, mode: Mode) -> Outcome[Any]:
    match decision:
        case Annotate():
            return Outcome(None, unplaced.reason, mode, decision.operation, rules=decision.rules, error=decision.error)
        case PassThrough():
            error = decision.reason if decision.fault else None
            return Outcome(None, decision.reason, mode, decision.operation, error=error)


def _rewritten(decision: Decision, embedded: Embedded, mode: Mode, exchange: Exchange) -> Outcome[Embedded]:
    match decision:
        case Annotate():
            feedback = decision.feedback if mode is Mode.REFLECTIVE else None
            seal = (decision.seal, exchange.started + exchange.elapsed) if decision.seal else None
            return Outcome(
                embedded, "annotated", mode, decision.operation, feedback, decision.rules, decision.error, seal
            )
        case PassThrough():
            return Outcome(embedded, decision.reason, mode, decision.operation)
