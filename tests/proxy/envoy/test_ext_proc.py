"""A real Envoy that asks a corrector by `ext_proc`, both as their commands start and configure them."""

from __future__ import annotations

import io
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
import yaml

from corrigible.proxy.cli import main
from tests._support.command import start
from tests._support.envoy_proxy import EnvoyBench as Bench
from tests._support.envoy_proxy import configured_envoy

JSON = b"Content-Type: application/json\r\n"
RULE = """
id: apex.%s
title: A rule
status: stable
references: [https://a.test]
diagnosis: It is wrong.
match: {%s}
suggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}}]
author: A
date: 2026-01-01
"""
RULES = {
    "pack.yaml": "name: apex\ntitle: Apex\nversion: 2.1.0\napi: {name: Apex API}\nlicense: Apache-2.0\n",
    "bad.yaml": RULE % ("bad", "code: bad"),
    "any.yaml": RULE % ("any", "status: 409"),
}
BODY = b'{"error":{"code":"bad","message":"m"}}'
LONG = b'{"error":{"code":"bad","message":"' + b"m" * (6 << 20) + b'"}}'


REFUSED = Bench.message(b"400 Bad Request", JSON, BODY)
ANSWERS: dict[str, Any] = {
    "/ok": Bench.message(b"200 OK", JSON, b"{}"),
    "/bad": REFUSED,
    "/chunked": Bench.chunks(b"400 Bad Request", JSON, BODY),
    "/long": Bench.chunks(b"400 Bad Request", JSON, LONG),
    "/xml": Bench.message(b"409 Conflict", b"Content-Type: application/xml\r\n", b"<e><code>bad</code></e>"),
    "/empty": Bench.message(b"409 Conflict", b"", b""),
}


class Placed:
    """A gateway, its corrector, and the API behind them."""

    def __init__(self, port: int, corrector: subprocess.Popen[str], upstream: Any) -> None:
        self.port, self.corrector, self.upstream = port, corrector, upstream
        self.own = b""

    def post(self, path: str, body: bytes = b'{"a":2}', headers: bytes = b"") -> bytes:
        return Bench.ask(self.port, path, "POST", body, JSON + headers + self.own)

    def for_one(self) -> Placed:
        """Return the same, with the answers of the beginning and for another caller than before."""
        self.upstream.answers.clear()
        self.upstream.answers.update(ANSWERS)
        self.upstream.requests.clear()
        self.own = b"Authorization: Bearer %s\r\n" % token_hex(4).encode()
        return self


@contextmanager
def placed(upstream: Any, folder: Path) -> Iterator[Placed]:
    for name, text in RULES.items():
        (folder / name).write_text(text, "utf-8")
    address = f"unix:{folder / 'corrector.sock'}"
    words = ["--upstream", f"http://127.0.0.1:{upstream.port}", "--pack", str(folder), "--time-limit", "20"]
    command = ["corrigible", "corrector", "--ext-proc", "--listen", address, *words]
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as corrector:
        try:
            assert corrector.stdout is not None
            line = corrector.stdout.readline()
            assert line.startswith(f"corrigible corrector: {address} "), line + corrector.stderr.read()  # type: ignore[union-attr]
            printed = ["envoy", "config", "--ext-proc", "--corrector", address, "--listen", "127.0.0.1:0", *words]
            with redirect_stdout(io.StringIO()) as config:
                assert main(printed) == 0
            with configured_envoy(yaml.safe_load(config.getvalue())) as port:
                yield Placed(port, corrector, upstream)
        finally:
            corrector.kill()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Placed]:
    with (
        Bench.upstream(dict(ANSWERS)) as upstream,
        placed(upstream, tmp_path_factory.mktemp("p")) as running,
    ):
        yield running


@pytest.fixture
def here(shared: Placed) -> Placed:
    return shared.for_one()


def document(answer: bytes) -> Any:
    return json.loads(Bench.dechunked(answer).partition(b"\r\n\r\n")[2])


def test_refusals_are_corrected_and_the_rest_passes(here: Placed) -> None:
    for path in ("/bad", "/chunked"):
        answer = here.post(path)
        assert answer.startswith(b"HTTP/1.1 400 ")
        got = document(answer)
        assert got["error"] == json.loads(BODY)["error"]
        assert got["recovery_feedback"]["suggestions"][0]["patch"][0] == {"op": "test", "path": "/body/a", "value": 2}
        assert b"content-length" not in answer.lower() or b"transfer-encoding" not in answer.lower()
    answer = here.post("/ok")
    assert Bench.seen(answer) == Bench.seen(ANSWERS["/ok"])
    for prefer in (b"none", b"verbose"):
        answer = here.post("/bad", headers=b"Prefer: recovery-feedback=" + prefer + b"\r\n")
        assert (b"recovery_feedback" in answer, b"validation_errors" in answer) == (False, prefer == b"verbose")
    assert here.upstream.requests[0].endswith(b'{"a":2}')
    assert not [line for line in here.upstream.requests[0].lower().split(b"\r\n") if line.startswith(b"x-")]


def test_a_refusal_beyond_every_limit_passes_whole(here: Placed) -> None:
    answer = here.post("/long")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert Bench.dechunked(answer).partition(b"\r\n\r\n")[2] == LONG


def test_a_request_over_the_limit_and_one_without_an_end_flow_on(here: Placed) -> None:
    big = b'{"a":"' + b"x" * (2 << 20) + b'"}'
    answer = here.post("/bad", big)
    assert Bench.seen(answer) == Bench.seen(REFUSED)
    assert here.upstream.requests[-1].endswith(big)
    wire = Bench.Wire(here.port)
    wire.send(b"POST /bad HTTP/1.1\r\nHost: x\r\n" + JSON + b"Transfer-Encoding: chunked\r\n\r\n")
    wire.send(b'3\r\n{"a\r\n')
    wire.send(b'4\r\n":2}\r\n0\r\n\r\n')
    assert b"recovery_feedback" in wire.until(lambda got: b"0\r\n\r\n" in got)
    wire.close()


def test_an_empty_refusal_gets_a_body_where_problems_are_preferred_and_a_link_elsewhere(here: Placed) -> None:
    answer = here.post("/empty", headers=b"Accept: application/problem+json\r\n")
    assert answer.startswith(b"HTTP/1.1 409 ")
    assert document(answer)["recovery_feedback"]["suggestions"]
    own = here.own
    head = here.post("/xml").partition(b"\r\n\r\n")[0]
    link = re.search(rb"(?i)^link: <([^>]+)>", head, re.MULTILINE)
    assert link is not None, head
    target = link[1].decode()
    answer = Bench.ask(here.port, target, headers=own)
    assert answer.startswith(b"HTTP/1.1 200 ") and document(answer)["suggestions"]
    here.upstream.answers[target] = Bench.message(b"404 Not Found", b"", b"")
    assert Bench.ask(here.port, target, headers=b"Authorization: Bearer thief\r\n").startswith(b"HTTP/1.1 404 ")


def test_a_loop_is_seen_and_ends_with_a_success(here: Placed) -> None:
    assert "loop" not in document(here.post("/bad"))["recovery_feedback"]
    assert document(here.post("/bad"))["recovery_feedback"]["loop"]["attempt"] == 2
    here.upstream.answers["/bad"] = ANSWERS["/ok"]
    here.post("/bad")
    here.upstream.answers["/bad"] = REFUSED
    assert "loop" not in document(here.post("/bad"))["recovery_feedback"]


def test_a_corrector_that_is_gone_or_hangs_means_native_bytes(tmp_path: Path) -> None:
    with Bench.upstream(dict(ANSWERS)) as upstream, placed(upstream, tmp_path) as here:
        assert b"recovery_feedback" in here.post("/bad")
        here.corrector.kill()
        here.corrector.wait(60)
        for path in ("/bad", "/chunked", "/long", "/ok"):
            answer = here.post(path)
            assert Bench.seen(answer) == Bench.seen(ANSWERS[path])
