"""What the worst bodies cost: each shape at n, 2n and 4n, as ratios. Times, never a test.

Run by `make bench`. A shape is sound where its ratio is about 2 and 4 (linear) or less; where a body is over what is
done on the event loop it goes to a worker, and the figure says for how long that one is held. Seconds are of computing,
so that what else the machine does is left out.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from corrigible.proxy.build import build_corrector
from corrigible.proxy.http.corrector import HttpCorrector, HttpOutcome
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.dispatcher import LARGE
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer

ROUNDS = 5
BOUND_MS = 20.0
"""Nobody waits longer for somebody else's refusal on the loop."""
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
PLAIN = {"message": "no"}
WHOLE: dict[str, Any] = {f"required_{n}": "x" for n in range(30)}


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def description(folder: Path) -> Path:
    """Write a description with what is hard to judge: many names, a filter of filters, formats, patterns, lists."""
    filters = {"type": "array", "items": reference("Filter")}
    one_of = {
        name: {"type": "object", "required": [name], "additionalProperties": False, "properties": {name: filters}}
        for name in ("and", "or")
    }
    leaf = {"field": {"type": "string"}, "value": {"type": "string"}}
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": [*WHOLE],
        "properties": {
            **{name: {"type": "string"} for name in WHOLE},
            **{f"optional_{n}": {"type": "integer"} for n in range(30)},
            "tags": {"type": "array", "uniqueItems": True, "items": {"type": "string", "format": "email"}},
            "mode": {"type": "string", "enum": ["fast", "slow", "medium"]},
            "slug": {"type": "string", "pattern": "^([a-z]+-?)+$"},
            "when": {"type": "string", "format": "date-time"},
            "free": {"type": "object"},
            "filter": reference("Filter"),
        },
    }
    operation = {
        "operationId": "make",
        "parameters": [{"name": f"filter_{n}", "in": "query", "schema": {"type": "string"}} for n in range(20)],
        "requestBody": {"content": {JSON: {"schema": schema}}},
        "responses": {"400": {"description": "no"}},
    }
    document = {
        "openapi": "3.0.3",
        "info": {"title": "worst", "version": "1"},
        "paths": {"/things": {"post": operation}},
        "components": {
            "schemas": {
                **one_of,
                "Leaf": {"type": "object", "required": [*leaf], "additionalProperties": False, "properties": leaf},
                "Filter": {"oneOf": [reference("and"), reference("or"), reference("Leaf")]},
            }
        },
    }
    file = folder / "openapi.json"
    file.write_text(json.dumps(document))
    return file


class Refused(NamedTuple):
    """One refused call and its answer."""

    body: bytes
    answer: Any = PLAIN
    target: str = "/things"
    media: str = JSON
    status: int = 400


def sent(body: Any, answer: Any = PLAIN) -> Refused:
    return Refused(json.dumps(body).encode(), answer)


def nested(levels: int) -> Any:
    body: Any = {"field": "a", "value": 1}
    for _ in range(levels):
        body = {"and": [body]}
    return body


def by_stripe(text: str) -> Refused:
    error = {"type": "invalid_request_error", "message": "Received unknown parameter: unknown1", "param": "unknown1"}
    return Refused(text.encode(), {"error": error}, "/v1/charges", FORM)


def by_kubernetes(body: bytes, message: str, media: str = JSON) -> Refused:
    causes = [{"reason": "FieldValueRequired", "field": "spec.containers", "message": "Required value"}]
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 422, "reason": "Invalid"}
    answer = {**status, "message": message, "details": {"causes": causes}}
    return Refused(body, answer, "/api/v1/namespaces/default/pods", media, 422)


STRANGE: dict[str, int] = {f"strange_{n}": n for n in range(50)}
WORST: dict[str, tuple[str, int, Callable[[int], Refused]]] = {
    "undeclared members": ("spec", 8000, lambda n: sent({f"strange_{i}": 1 for i in range(n)})),
    "nearly declared members": ("spec", 8000, lambda n: sent({f"requird_{i}": 1 for i in range(n)})),
    "unknown query parameters": (
        "spec",
        450,
        lambda n: sent(WHOLE)._replace(target="/things?" + "&".join(f"filtr_{i}=1" for i in range(n))),
    ),
    "a filter of filters": ("spec", 10, lambda n: sent({**WHOLE, "filter": nested(n)})),
    "a filter of many": (
        "spec",
        3000,
        lambda n: sent({**WHOLE, "filter": {"and": [{"field": "a", "value": 1} for _ in range(n)]}}),
    ),
    "deep nesting": ("spec", 250, lambda n: Refused(b'{"free":{"a":' + b"[" * n + b"]" * n + b"}}")),
    "a long array": ("spec", 11_000, lambda n: sent({**WHOLE, "free": {"a": [1] * n}, "mode": "x"})),
    "more than is looked at": ("spec", 110_000, lambda n: sent({**WHOLE, "free": {"a": [1] * n}})),
    "wrong elements": ("spec", 11_000, lambda n: sent({**WHOLE, "tags": [f"a{i}" for i in range(n)]})),
    "many duplicates": ("spec", 5000, lambda n: sent({**WHOLE, "tags": [f"a{i}@b.c" for i in range(n)] * 2})),
    "a long text for a pattern": ("spec", 250_000, lambda n: sent({**WHOLE, "slug": "a" * n + "!"})),
    "a long text for a format": ("spec", 250_000, lambda n: sent({**WHOLE, "when": "1" * n})),
    "a long text for a list": ("spec", 120_000, lambda n: sent({**WHOLE, "mode": "f_" * n})),
    "many complaints": (
        "spec",
        3000,
        lambda n: sent(STRANGE, {"errors": [{"message": "is required", "field": f"required_{i}"} for i in range(n)]}),
    ),
    "complaints by member": (
        "spec",
        5000,
        lambda n: sent(STRANGE, {"errors": {f"Required_{i}": ["is wrong"] for i in range(n)}}),
    ),
    "a long message": ("spec", 60_000, lambda n: sent(WHOLE, {"message": "'a' is " * n})),
    "form parameters (stripe)": ("stripe", 480, lambda n: by_stripe("&".join(f"unknown{i}=1" for i in range(n)))),
    "form members (stripe)": ("stripe", 480, lambda n: by_stripe("&".join(f"metadata[a{i}][b]=1" for i in range(n)))),
    "members (kubernetes)": (
        "kubernetes",
        5000,
        lambda n: by_kubernetes(
            json.dumps({"kind": "Pod", "apiVersion": "v1", "spec": {f"zz{i}": 1 for i in range(n)}}).encode(), "invalid"
        ),
    ),
    "yaml (kubernetes)": (
        "kubernetes",
        2500,
        lambda n: by_kubernetes(
            ("kind: Pod\nspec:\n" + "".join(f"  zz{i}: 1\n" for i in range(n))).encode(), "invalid", "application/yaml"
        ),
    ),
    "brackets in YAML (kubernetes)": (
        "kubernetes",
        100_000,
        lambda n: by_kubernetes(b"[" * n, "invalid", "application/yaml"),
    ),
    "a hostile message (kubernetes)": (
        "kubernetes",
        2500,
        lambda n: by_kubernetes(b'{"kind": "Pod"}', "failed quota: q: must specify " + ".a[b]" * n),
    ),
    "unknown fields (kubernetes)": (
        "kubernetes",
        3000,
        lambda n: by_kubernetes(
            json.dumps({"kind": "Pod", "spec": STRANGE}).encode(),
            "strict decoding error: " + ", ".join(f'unknown field "spec.strange_{i}"' for i in range(n)),
        ),
    ),
}


def spent(corrector: HttpCorrector, refused: Refused) -> tuple[float, HttpOutcome]:
    """Return the best of some rounds in milliseconds of computing, and what came of it."""
    answer = json.dumps(refused.answer).encode()
    head = RequestHead("POST", refused.target, [("Content-Type", refused.media)])
    response = ResponseHead(refused.status, [("Content-Type", JSON)])
    best = 1e9
    for _ in range(ROUNDS):
        begin = time.thread_time()
        going = corrector.correct(HttpExchange(head, refused.body, response, answer), id="bench", started=1.0)
        outcome = run_with_lookups_sync(going, lambda _: LookupAnswer(0), corrector.limits)
        best = min(best, (time.thread_time() - begin) * 1e3)
    return best, outcome


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="corrigible-bench-") as folder:
        correctors = {
            "spec": build_corrector([], spec=description(Path(folder))),
            "stripe": build_corrector(["stripe"]),
            "kubernetes": build_corrector(["kubernetes"]),
        }
    for corrector in correctors.values():
        corrector.engine.warm_up()
    print(f"the worst bodies, milliseconds of computing; up to {LARGE >> 10} KiB on the loop, beyond in a worker")
    print(f"{'shape':<28} {'KiB at 4n':>9} {'n':>8} {'2n':>14} {'4n':>14}   on the loop")
    over = []
    for shape, (api, most, made) in WORST.items():
        corrector = correctors[api]
        cells = [spent(corrector, made(n)) for n in (most, 2 * most, 4 * most)]
        size = sum(len(part) for part in (made(4 * most).body, json.dumps(made(4 * most).answer).encode()))
        small = most
        while small > 1 and len((one := made(small)).body) + len(json.dumps(one.answer)) + len(one.target) > LARGE:
            small = small * 3 // 4
        here, outcome = spent(corrector, made(small))
        if here > BOUND_MS:
            over.append(shape)
        first = cells[0][0]
        ratios = "".join(f" {time_:>7.1f} x {time_ / first:>4.1f}" for time_, _ in cells[1:])
        print(f"{shape:<28} {size / 1024:>9.0f} {first:>8.1f}{ratios}   {here:5.1f}  {outcome.reason[:40]}")
    if over:
        print(f"over {BOUND_MS:.0f} ms on the loop: {', '.join(over)}")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
