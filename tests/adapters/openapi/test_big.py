"""Large descriptions: those of GitHub and Stripe as the adapters ship them, and one that is made here."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.apis.github.adapter import description as github_description
from corrigible.adapters.apis.stripe.adapter import description as stripe_description
from corrigible.adapters.openapi import generate
from corrigible.adapters.openapi.description import Description, read
from corrigible.adapters.openapi.load import load
from corrigible.schema.exchange import Request
from tests._support.counted import counted
from tests._support.rows import rows

OPERATIONS = 400
MEASURE = """
import json, resource, sys
from pathlib import Path
import corrigible.adapters.openapi.load
def memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
before = memory()
description = corrigible.adapters.openapi.load.load(Path(sys.argv[1]), cache=Path(sys.argv[2]))
print(json.dumps({"operations": len(description.operations.templates), "bytes": memory() - before}))
"""


@pytest.fixture(scope="module")
def github() -> Description:
    return github_description()


@pytest.fixture(scope="module")
def stripe() -> Description:
    return stripe_description()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a description of four megabytes, most of them prose."""
    prose = "What this is for and when it is given. " * 5
    members = {f"member_{n}": {"type": "string", "description": prose, "maxLength": n + 1} for n in range(40)}
    paths: dict[str, Any] = {}
    for number in range(OPERATIONS):
        schema = {"type": "object", "required": ["member_1"], "properties": members}
        body = {"content": {"application/json": {"schema": schema}}}
        paths[f"/things/{number}"] = {"post": {"operationId": f"thing{number}", "requestBody": body}}
    path = tmp_path_factory.mktemp("large") / "openapi.json"
    path.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "large", "version": "1"}, "paths": paths}))
    assert path.stat().st_size > 4_000_000
    return path


@pytest.mark.slow
def test_a_large_one_is_compiled_apart_once_and_takes_little_memory(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start() -> dict[str, int]:
        command = [sys.executable, "-c", MEASURE, str(large), str(tmp_path)]
        started: dict[str, int] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        return started

    for started in (start(), start()):
        assert started["operations"] == OPERATIONS
        assert started["bytes"] < 15_000_000  # its parsed form alone takes more
    monkeypatch.setattr("corrigible.adapters.openapi.load._compile_to", None)
    again = load(large, cache=tmp_path)
    (violation,) = again.schema_violations(Request("POST", "/things/7", body={}), "thing7")
    assert (violation.pointer, violation.keyword) == ("/body/member_1", "required")


def test_a_shipped_one_is_small(large: Path, tmp_path: Path) -> None:
    out = tmp_path / "large.bin"
    assert generate.main([str(large), str(out)]) == 0
    assert out.stat().st_size < 200_000
    assert len(read(out.read_bytes()).operations.templates) == OPERATIONS
    shipped = files("corrigible.adapters.apis")
    assert len(shipped.joinpath("github/description.bin").read_bytes()) < 150_000
    assert len(shipped.joinpath("stripe/description.bin").read_bytes()) < 150_000


def test_a_failed_request_costs_few_steps(github: Description) -> None:
    request = Request("POST", "/repos/o/r/issues", body={"titel": "x", "labels": "bug", "milestone": []})
    violations, steps = counted(lambda: github.schema_violations(request, "issues/create"))
    assert len(violations) > 0
    assert steps < 2000


@pytest.mark.slow
@pytest.mark.parametrize("bodies", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_every_operation_can_be_judged(github: Description, stripe: Description, bodies: int) -> None:
    """With one of three bodies in turn, and every night with each."""
    for description, form in ((github, False), (stripe, True)):
        for number, (key, name) in enumerate(description.operations.templates.items()):
            method, _, path = key.partition(" ")
            for body in [{}, None, {"a": "x"}, {}, None][number % 3 :][:bodies]:
                description.schema_violations(Request(method, path, {"a": "x"}, {}, body, form=form), name)
            description.facts(name)
            description.refusals(name)
    assert len(github.operations.templates) > 1000
    assert len(stripe.operations.templates) > 400


@rows(
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
    match = github.operations.find(method, path)
    assert match is not None
    violations = github.schema_violations(Request(method, path, body=body), match[0])
    assert [(one.pointer, one.keyword) for one in violations] == expected


def test_stripe(stripe: Description) -> None:
    request = Request("POST", "/v1/refunds", body={"charge": "ch_1", "amount": "ten", "metadata": "foo"}, form=True)
    violations = {(one.pointer, one.keyword) for one in stripe.schema_violations(request, "PostRefunds")}
    assert violations == {("/body/amount", "type"), ("/body/metadata", "type")}
    fine = Request("POST", "/v1/charges", body={"amount": "5", "currency": "usd", "source": "tok"}, form=True)
    assert stripe.schema_violations(fine, "PostCharges") == ()


def test_near_paths(github: Description, stripe: Description) -> None:
    for description, path, meant in (
        (github, "/repos/o/r/pull", "/repos/o/r/pulls"),
        (github, "/repo/o/r/issue/5/comments", "/repos/o/r/issues/5/comments"),
        (stripe, "/charges", "/v1/charges"),
        (stripe, "/v2/refund", "/v1/refunds"),
    ):
        violation = description.nearest_operation(Request("GET", path))
        assert violation is not None
        assert violation.schema == {"enum": [meant]}
