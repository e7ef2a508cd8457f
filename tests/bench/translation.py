"""How long one refusal takes to translate, look-ups apart, with 10, 1,000 and 10,000 rules. Times, never a test.

Run by `make bench`. Two figures a cell: `translate` is the pipeline alone (parse the answer, identify, match, evaluate,
check, dump, splice), `correct` also reads the request's headers and form and writes the answer's headers.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from corrigible.adapters.registry import adapter_for
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.embed.member import embed_feedback
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.http.request_reader import read_request
from corrigible.rules.engine.evaluate import RuleIndex
from corrigible.rules.language.compile import compile_rule
from corrigible.rules.language.rule import Rule
from corrigible.rules.language.yaml_source import Source
from corrigible.rules.pack.load import load_pack
from corrigible.schema.exchange import Exchange
from corrigible.schema.vocabulary import Vocabulary

SIZES = (500, 5_000)
COUNTS = (10, 1_000, 10_000)
ROUNDS = 15
CALLS = 300


def rule(number: int, operation: str) -> Rule:
    """One rule as authors write them: a typed capture, two conditions, parameters whose patch is derived."""
    text = {
        "id": f"stripe.bench-{number}",
        "title": "Refund is larger than what is left",
        "status": "stable",
        "references": ["https://docs.stripe.com/refunds"],
        "match": {
            "operation": operation,
            "status": 400,
            "type": "invalid_request_error",
            "message": rf"^Refund amount{number or ''} \(\$[\d.]+\) is greater than .* \((?P<left>\d+) cents\)$",
        },
        "when": "has(request.body.amount)",
        "suggest": [
            {
                "if": "captures.left != '0'",
                "action": "MODIFY_PARAMS",
                "message": "Refund what is left on the charge.",
                "parameters": {"amount": "captures.left"},
                "changes_intent": True,
            },
            {
                "action": "NO_RECOVERY_AVAILABLE",
                "actor": "nobody",
                "message": "Nothing is left to refund on this charge.",
            },
        ],
        "diagnosis": "The refund is larger than what is left on the charge.",
    }
    source = Source(Path(f"{str(text.get('id', '')).rpartition('.')[2]}.yaml"), text, {})
    return compile_rule(source, pack="stripe", major="1", vocabulary=Vocabulary.base())


def known(count: int, *, described: bool = False) -> ApiProfile:
    """`count` rules, spread over Stripe's operations; the first is the one that will speak."""
    adapter, pack = adapter_for("stripe"), load_pack("stripe")
    if not described:
        adapter = replace(adapter, description=None)
    operations = [name for name in adapter.operations.names if name != "PostRefunds"]
    rules = [rule(0, "PostRefunds")]
    rules += [rule(n, operations[n % len(operations)]) for n in range(1, count)]
    return ApiProfile(adapter, pack, RuleIndex(rules))


def refusal(size: int) -> bytes:
    error: dict[str, Any] = {
        "message": "Refund amount ($5) is greater than unrefunded amount on charge (300 cents)",
        "param": "amount",
        "type": "invalid_request_error",
        "doc_url": "https://docs.stripe.com/refunds",
        "request_log_url": "https://dashboard.stripe.com/test/logs/req_00000000000000",
    }
    body = {"error": error}
    padding = size - len(json.dumps(body, indent=2)) - 24
    members = {f"member_{n:03}": "x" * 40 for n in range(max(0, padding // 66))}
    if size > 1000:
        error["charge"] = {"id": "ch_1", **members}
    else:
        error["request_log_url"] += "0" * (padding + 20)
    return json.dumps(body, indent=2).encode()


def microseconds(call: Callable[[], object]) -> tuple[float, float]:
    """Return the median and the best of some rounds, per call."""
    for _ in range(50):
        call()
    gc.collect()
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        rounds.append((time.perf_counter() - begin) / CALLS * 1e6)
    return statistics.median(rounds), min(rounds)


def cell(corrector: HttpCorrector, size: int) -> dict[str, tuple[float, float]]:
    request = RequestHead(
        "POST",
        "/v1/refunds",
        [
            ("Authorization", "Bearer sk_test_bench"),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("User-Agent", "bench"),
            ("Stripe-Version", "2025-01-27.acacia"),
        ],
    )
    sent = b"charge=ch_1&amount=500&reason=requested_by_customer"
    body = refusal(size)
    response = ResponseHead(400, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    document = read_request(request.method, request.target, request.headers, sent)
    exchange = Exchange(document, 400, {"content-type": "application/json"}, body, "bench", 0.0)

    def translate() -> bytes:
        try:
            next(corrector.engine.decide(exchange))
        except StopIteration as done:
            decision = done.value
        assert isinstance(decision, Annotate), decision
        embedded = embed_feedback(body, decision, Mode.REFLECTIVE)
        assert embedded is not None
        return embedded.body

    def correct() -> object:
        try:
            next(corrector.correct(HttpExchange(request, sent, response, body), id="bench", started=0.0))
        except StopIteration as done:
            return done.value
        raise AssertionError("no look-up expected")

    return {"translate": microseconds(translate), "correct": microseconds(correct)}


def main() -> None:
    print("translation of one refusal, microseconds (median of rounds / best round)")
    print(f"{'rules':>8} {'bytes':>6} {'translate':>16} {'correct':>16}   translate against 10 rules")
    base: dict[int, float] = {}
    correctors = {count: HttpCorrector(Engine([known(count)])) for count in COUNTS}
    gc.collect()
    gc.freeze()  # as the proxy does once it has loaded
    for size in SIZES:
        for count in COUNTS:
            found = cell(correctors[count], size)
            (middle, best), (whole, whole_best) = found["translate"], found["correct"]
            base.setdefault(size, best)
            print(
                f"{count:>8,} {len(refusal(size)):>6} {middle:>8.1f} / {best:<5.1f} {whole:>8.1f} / {whole_best:<5.1f}"
                f"   x {best / base[size]:.2f}"
            )
        (middle, best), (whole, whole_best) = cell(HttpCorrector(Engine([known(10, described=True)])), size).values()
        print(
            f"{10:>8,} {len(refusal(size)):>6} {middle:>8.1f} / {best:<5.1f} {whole:>8.1f} / {whole_best:<5.1f}"
            f"   x {best / base[size]:.2f}  and held against the API's description"
        )


if __name__ == "__main__":
    main()
