"""How long the errors of frameworks take to be read, where only a description is at hand. Times, never a test.

Run by `make bench`. The answers are the recorded ones of `tests/adapters/formats`. `read` finds the errors, `place`
their places in the request, `judge` is what rules and the description make of them; `extra` is these three together,
`whole` is everything from answer to feedback. Each call has a request of its own: what is kept of the last one helps no
other.
Times are those of the thread: what others compute meanwhile does not count, though it makes caches colder.
"""

from __future__ import annotations

import gc
import json
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from corrigible.adapters.bodies.answer import read_answer
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.api_profile import RefusalCase, match_operation, parse_errors
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.error_matcher import suggest
from corrigible.proxy.core.limits import Limits
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request

T = TypeVar("T")

RECORDED = Path(__file__).parents[1] / "adapters" / "formats" / "recorded"
ROUNDS = 8
CALLS = 20
SLOW = 150.0
ORDER = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 3},
        "quantity": {"type": "integer", "maximum": 200},
        "status": {"type": "string", "enum": ["draft", "open", "closed"]},
        "address": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}},
    },
}
DESCRIPTION = {
    "openapi": "3.0.3",
    "info": {"title": "Orders", "version": "1"},
    "paths": {
        "/orders": {
            "post": {
                "operationId": "create",
                "requestBody": {"content": {"application/json": {"schema": ORDER}}},
                "responses": {"201": {"description": "made"}},
            }
        }
    },
}


def recorded() -> list[tuple[str, Exchange]]:
    mistakes = {one["name"]: one for one in json.loads((RECORDED / "mistakes.json").read_text("utf-8"))}
    out = []
    for name in ("python.json", "node.json", "published.json"):
        for one in json.loads((RECORDED / name).read_text("utf-8")):
            mistake = mistakes[one["mistake"]]
            request = Request(
                "POST", "/orders", mistake["query"], {"content-type": "application/json"}, mistake["body"]
            )
            body = json.dumps(one["answer"]).encode()
            headers = {"content-type": one["type"]}
            out.append((f"{one['framework']}: {one['mistake']}", Exchange(request, one["status"], headers, body)))
    return out


def finished(work: Generator[Lookup, LookupAnswer, Any]) -> Any:
    """Run to the end, every look-up without an answer."""
    try:
        next(work)
        while True:
            work.send(LookupAnswer(0))
    except StopIteration as done:
        return done.value


def microseconds(make: Callable[[], T], call: Callable[[T], object]) -> float:
    """Return the best of some rounds, per call; each call has an argument of its own."""
    call(make())
    best = float("inf")
    for _ in range(ROUNDS):
        arguments = [make() for _ in range(CALLS)]
        begin = time.thread_time()
        for argument in arguments:
            call(argument)
        best = min(best, (time.thread_time() - begin) / CALLS)
    return best * 1e6


class Row(NamedTuple):
    """Microseconds of one answer."""

    read: float
    place: float
    judge: float
    whole: float
    name: str

    @property
    def extra(self) -> float:
        return self.read + self.place + self.judge


def measured(engine: Engine, name: str, exchange: Exchange) -> Row:
    limits = Limits()
    match = match_operation(engine.profiles, exchange.request)
    assert match is not None
    formats = match.profile.adapter.formats

    def fresh() -> Exchange:
        return replace(exchange, request=replace(exchange.request))

    def answered() -> tuple[Exchange, Json]:
        return fresh(), read_answer(exchange.headers, exchange.body).content

    def case() -> RefusalCase:
        refused, content = answered()
        return RefusalCase(refused, match, content, content, parse_errors(match, refused, content))

    def read(answer: tuple[Exchange, Json]) -> object:
        return next(filter(None, (one.read(*answer) for one in formats)), ())

    reading = microseconds(answered, read)
    placed = microseconds(answered, lambda answer: parse_errors(match, *answer))
    judged = microseconds(case, lambda refused: finished(suggest(refused, limits)))
    whole = microseconds(fresh, lambda refused: finished(engine.decide(refused)))
    return Row(reading, max(0.0, placed - reading), judged, whole, name)


def spread(times: Sequence[float]) -> str:
    ordered = sorted(times)
    shares = (0.5, 0.9, 0.95)
    return " ".join(f"{ordered[int(len(ordered) * share)]:>8.0f}" for share in shares) + f" {ordered[-1]:>8.0f}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "openapi.json"
        file.write_text(json.dumps(DESCRIPTION), "utf-8")
        engine = build_engine([], file)
    engine.warm_up()
    answers = recorded()
    gc.collect()
    gc.freeze()  # as the proxy does once it has loaded
    rows = [measured(engine, name, exchange) for name, exchange in answers]
    print(f"the recorded errors of frameworks, {len(rows)} answers, microseconds")
    print(f"{'':>8} {'median':>8} {'p90':>8} {'p95':>8} {'most':>8}")
    for what in ("read", "place", "judge", "extra", "whole"):
        print(f"{what:>8} {spread([getattr(row, what) for row in rows])}")
    slow = [row for row in sorted(rows, key=lambda row: -row.extra) if row.extra > SLOW]
    print(f"more than {SLOW:.0f} extra: {len(slow)}{''.join(f', {row.name}' for row in slow[:8])}")


if __name__ == "__main__":
    main()
