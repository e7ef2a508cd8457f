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

from corrigible.adapters.catalogue import adapter_for
from corrigible.proxy.corrector import Corrector, RequestHead, ResponseHead, spliced
from corrigible.proxy.document import read_request
from corrigible.proxy.mode import Mode
from corrigible.proxy.translate import Annotate, Known, Translator
from corrigible.rules.compile import compile_text
from corrigible.rules.index import RuleIndex
from corrigible.rules.pack import load_pack
from corrigible.rules.rule import Rule
from corrigible.schema.exchange import Exchange
from corrigible.schema.vocabulary import Vocabulary

SIZES = (500, 5_000)
COUNTS = (10, 1_000, 10_000)
ROUNDS = 15
CALLS = 300


def rule(number: int, operation: str) -> Rule:
    """One rule as authors write them: a typed capture, a condition, a written patch with a guard."""
    text = {
        "id": f"stripe.bench-{number}",
        "title": "Unknown parameter",
        "status": "stable",
        "references": ["https://docs.stripe.com/error-codes/parameter-unknown"],
        "on": {
            "operation": operation,
            "status": 400,
            "type": "invalid_request_error",
            "message": rf"^Received unknown parameter: (?P<name>[a-z_]+{number or ''})\b",
        },
        "when": "captures.name in request.body",
        "suggest": [
            {
                "action": "MODIFY_PARAMS",
                "message": "Leave out the parameter that the API does not know.",
                "patch": [
                    {"op": "test", "path": "'/body/' + captures.name", "value": "request.body[captures.name]"},
                    {"op": "remove", "path": "'/body/' + captures.name"},
                ],
                "changes_intent": True,
            }
        ],
        "diagnosis": "The request has a parameter that the API does not know.",
    }
    return compile_text(text, pack="stripe", major="1", vocabulary=Vocabulary.base())


def known(count: int) -> Known:
    """`count` rules, spread over Stripe's operations; the first is the one that will speak."""
    adapter, pack = adapter_for("stripe"), load_pack("stripe")
    operations = [name for name in adapter.operations.names if name != "PostCharges"]
    rules = [rule(0, "PostCharges")]
    rules += [rule(n, operations[n % len(operations)]) for n in range(1, count)]
    return Known(adapter, pack, RuleIndex(rules))


def refusal(size: int) -> bytes:
    body = {
        "error": {
            "message": "Received unknown parameter: colour",
            "param": "colour",
            "type": "invalid_request_error",
            "doc_url": "https://docs.stripe.com/error-codes/parameter-unknown",
            "request_log_url": "https://dashboard.stripe.com/test/logs/req_00000000000000",
        }
    }
    padding = size - len(json.dumps(body, indent=2)) - 24
    members = {f"member_{n:03}": "x" * 40 for n in range(max(0, padding // 66))}
    body["error"] |= {"charge": {"id": "ch_1", **members}} if size > 1000 else {"padding": "x" * padding}
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


def cell(corrector: Corrector, size: int) -> dict[str, tuple[float, float]]:
    request = RequestHead(
        "POST",
        "/v1/charges",
        [
            ("Authorization", "Bearer sk_test_bench"),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("User-Agent", "bench"),
            ("Stripe-Version", "2025-01-27.acacia"),
        ],
    )
    sent = b"amount=1000&currency=usd&source=tok_visa&colour=red"
    body = refusal(size)
    response = ResponseHead(400, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    document = read_request(request.method, request.target, request.headers, sent)
    exchange = Exchange(document, 400, {"content-type": "application/json"}, body, "bench", 0.0)

    def translate() -> bytes:
        try:
            next(corrector.translator.translate(exchange))
        except StopIteration as done:
            decision = done.value
        assert isinstance(decision, Annotate), decision
        text = spliced(body.decode(), decision, Mode.REFLECTIVE)
        assert text is not None
        return text.encode()

    def correct() -> object:
        try:
            next(corrector.correct(request, sent, response, body, id="bench", started=0.0))
        except StopIteration as done:
            return done.value
        raise AssertionError("no look-up expected")

    return {"translate": microseconds(translate), "correct": microseconds(correct)}


def main() -> None:
    print("translation of one refusal, microseconds (median of rounds / best round)")
    print(f"{'rules':>8} {'bytes':>6} {'translate':>16} {'correct':>16}   translate against 10 rules")
    base: dict[int, float] = {}
    correctors = {count: Corrector(Translator([known(count)])) for count in COUNTS}
    for size in SIZES:
        for count in COUNTS:
            found = cell(correctors[count], size)
            (middle, best), (whole, whole_best) = found["translate"], found["correct"]
            base.setdefault(size, best)
            print(
                f"{count:>8,} {len(refusal(size)):>6} {middle:>8.1f} / {best:<5.1f} {whole:>8.1f} / {whole_best:<5.1f}"
                f"   x {best / base[size]:.2f}"
            )


if __name__ == "__main__":
    main()
