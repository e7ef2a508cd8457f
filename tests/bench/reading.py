"""How long the errors of frameworks take to be read, where only a description is at hand. Times, never a test.

Run by `make bench`. The answers are the recorded ones of `tests/adapters/formats`. `read` finds the errors and their
places, `judge` is what rules and the description make of them, `whole` is everything from answer to feedback.
Times are those of the thread: what others compute meanwhile does not count, though it makes caches colder.
"""

from __future__ import annotations

import gc
import json
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from corrigible.adapters.bodies.answer import read_answer
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.api_profile import RefusalCase, match_operation, parse_errors
from corrigible.proxy.core.error_matcher import suggest
from corrigible.proxy.core.limits import Limits
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request

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


def microseconds(call: Callable[[], object]) -> float:
    """Return the best of some rounds, per call."""
    call()
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.thread_time()
        for _ in range(CALLS):
            call()
        best = min(best, (time.thread_time() - begin) / CALLS)
    return best * 1e6


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
    limits = Limits()
    rows: list[tuple[float, float, float, str]] = []
    answers = recorded()
    gc.collect()
    gc.freeze()  # as the proxy does once it has loaded
    for name, exchange in answers:
        match = match_operation(engine.profiles, exchange.request)
        assert match is not None
        content: Json = read_answer(exchange.headers, exchange.body).content
        case = RefusalCase(exchange, match, content, content, parse_errors(match, exchange, content))
        rows.append(
            (
                microseconds(lambda: parse_errors(match, exchange, content)),  # noqa: B023
                microseconds(lambda: finished(suggest(case, limits))),  # noqa: B023
                microseconds(lambda: finished(engine.decide(exchange))),  # noqa: B023
                name,
            )
        )
    print(f"the recorded errors of frameworks, {len(rows)} answers, microseconds")
    print(f"{'':>8} {'median':>8} {'p90':>8} {'p95':>8} {'most':>8}")
    for index, what in enumerate(("read", "judge", "whole")):
        print(f"{what:>8} {spread([float(row[index]) for row in rows])}")
    slow = [row for row in sorted(rows, reverse=True) if row[0] > SLOW]
    print(f"read in more than {SLOW:.0f}: {len(slow)}{''.join(f', {row[3]}' for row in slow[:8])}")


if __name__ == "__main__":
    main()
