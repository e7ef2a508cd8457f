"""What a 10 MB OpenAPI description costs: compiling it, opening it again, memory, and each refusal. Never a test.

Run by `make bench`. The description is made up here, in the proportions of GitHub's (some 1,000 operations, most of its
bytes in the schemas of answers), so that nothing has to be downloaded.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

OPERATIONS = 1_000
MEGABYTES = 10
CALLS = 200
ROUNDS = 15

_MEASURE = """
import json, resource, sys, time
from pathlib import Path
from corrigible.adapters.openapi.load import load
from corrigible.schema.exchange import Request

def memory():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) / 1024

before, begin = memory(), time.perf_counter()
description = load(Path(sys.argv[1]), cache=Path(sys.argv[2]))
assert description.operations.find("POST", "/things7/x/items")
opened = time.perf_counter() - begin
for number in range(0, 1000, 10):
    request = Request("POST", f"/things{number}/x/items", body={"title": "t", "state": "opened", "labels": "bug"})
    assert description.schema_violations(request, f"things{number}/create")
print(json.dumps({"seconds": opened, "grown": memory() - before}))
"""


def description() -> dict[str, Any]:
    filler = "What this member means, when it is there, and what it was called in earlier versions of the API. "
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    size = MEGABYTES * 1_000_000 // OPERATIONS
    for number in range(OPERATIONS):
        members = {f"member{n}": {"type": "string", "description": filler} for n in range(size // 175)}
        schemas[f"thing{number}"] = {"type": "object", "properties": members}
        body = {
            "type": "object",
            "required": ["title"],
            "properties": {
                "title": {"type": "string"},
                "state": {"type": "string", "enum": ["open", "closed"]},
                "labels": {"type": "array", "items": {"type": "string"}},
                "per_page": {"type": "integer", "maximum": 100},
            },
        }
        paths[f"/things{number}/{{owner}}/items"] = {
            "post": {
                "operationId": f"things{number}/create",
                "parameters": [{"name": "owner", "in": "path", "required": True, "schema": {"type": "string"}}],
                "requestBody": {"content": {"application/json": {"schema": body}}},
                "responses": {
                    "201": {
                        "description": "made",
                        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/thing{number}"}}},
                    }
                },
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def opened(spec: Path, cache: Path) -> dict[str, float]:
    """Open the description in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(spec), str(cache)], check=True, capture_output=True, env={**os.environ}
    )
    said: dict[str, float] = json.loads(done.stdout)
    return said


def refusal(spec: Path, cache: Path) -> list[float]:
    """Return microseconds per refusal that the description answers, one figure a round."""
    os.environ["CORRIGIBLE_CACHE"] = str(cache)
    from corrigible.proxy.build import build_engine
    from corrigible.proxy.core.decision import Annotate
    from corrigible.schema.exchange import Exchange, Request

    engine = build_engine([], spec)
    request = Request("POST", "/things7/x/items", body={"title": "t", "state": "opened", "labels": "bug"})
    exchange = Exchange(request, 422, {}, b'{"message":"Validation Failed"}', "bench", 0.0)

    def once() -> None:
        try:
            next(engine.decide(exchange))
        except StopIteration as done:
            assert isinstance(done.value, Annotate), done.value

    once()
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            once()
        rounds.append((time.perf_counter() - begin) / CALLS * 1e6)
    return rounds


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        spec, cache = Path(folder) / "things.json", Path(folder) / "cache"
        spec.write_text(json.dumps(description()))
        print(f"an OpenAPI description of {spec.stat().st_size / 1e6:.1f} MB, {OPERATIONS} operations")
        first, again = opened(spec, cache), opened(spec, cache)
        compiling = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"  first opening  {first['seconds']:6.2f} s   + {first['grown']:5.1f} MB (largest process {compiling:.0f})"
        )
        print(f"  later          {again['seconds']:6.2f} s   + {again['grown']:5.1f} MB   with 100 operations checked")
        rounds = refusal(spec, cache)
        median = statistics.median(rounds)
        print(f"  each refusal   median {median:.0f} us, best {min(rounds):.0f} us (two breaches, two edits)")


if __name__ == "__main__":
    main()
