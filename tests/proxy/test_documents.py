"""Feedback on answers that have no place for a member: a Link to a document that the front end serves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.asgi import Message, Receive, ReflectiveMiddleware, Scope, Send
from corrigible.proxy.build import build_corrector
from corrigible.proxy.corrector import Corrector, Outcome, RequestHead, ResponseHead
from corrigible.proxy.lookup import drive_sync
from corrigible.rules.lookup import LookupAnswer

RULE = "on: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {amount: 300}}]\n"
LISTED = b'[{"code": "bad",  "message": "m"}]'
JSON = ("Content-Type", "application/json")


@pytest.fixture
def corrector(write_pack: Callable[..., Path]) -> Corrector:
    return build_corrector([write_pack(x=RULE)])


def refuse(corrector: Corrector, id: str = "abc") -> Outcome:
    return drive_sync(
        corrector.correct(
            RequestHead("POST", "/x", [JSON]), b'{"amount": 5}', ResponseHead(400, [JSON]), LISTED, id=id, started=0.0
        ),
        lambda path: LookupAnswer(0),
    )


def test_an_array_stays_as_it_is_and_gets_a_link(corrector: Corrector) -> None:
    outcome = refuse(corrector)
    assert outcome.rewrite is not None
    assert outcome.rewrite.body == LISTED
    assert outcome.rewrite.headers == [
        JSON,
        ("Link", '</.well-known/recovery-feedback/abc>; rel="recovery-feedback"; type="application/json"'),
        ("Vary", "Prefer"),
    ]


def test_the_link_leads_to_the_feedback(corrector: Corrector) -> None:
    refuse(corrector)
    kept = corrector.document("/.well-known/recovery-feedback/abc")
    assert kept is not None
    assert json.loads(kept)["suggestions"][0]["parameters"] == {"amount": 300}
    assert corrector.document("/.well-known/recovery-feedback/other") is None
    assert corrector.document("/v1/abc") is None


def test_old_documents_make_way(corrector: Corrector) -> None:
    for number in range(257):
        refuse(corrector, str(number))
    assert corrector.document("/.well-known/recovery-feedback/0") is None
    assert corrector.document("/.well-known/recovery-feedback/1") is not None


def test_the_middleware_serves_it_and_nothing_else_of_that_kind(corrector: Corrector) -> None:
    refuse(corrector)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"the app's own"})

    async def fetch(path: str) -> tuple[int, bytes]:
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []}
        await ReflectiveMiddleware(app, corrector=corrector)(scope, receive, send)
        return sent[0]["status"], sent[1]["body"]

    status, body = asyncio.run(fetch("/.well-known/recovery-feedback/abc"))
    assert (status, json.loads(body)["type"]) == (200, "recovery_guidance")
    assert asyncio.run(fetch("/.well-known/recovery-feedback/none")) == (404, b"the app's own")


def test_the_proxy_serves_it_without_asking_upstream(bench: Any) -> None:
    missing = "/.well-known/recovery-feedback/2"
    answers = {missing: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"}
    with (
        bench.upstream(answers) as upstream,
        bench.proxy(bench.Silent(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        kept = bench.ask(proxy.port, "/.well-known/recovery-feedback/1")
        other = bench.ask(proxy.port, missing)
    assert kept.startswith(b"HTTP/1.1 200") and kept.endswith(b'{"kept": true}')
    assert other.endswith(b"\r\n\r\nok")
