"""Feedback on answers that have no place for a member: a Link to a document that the front end serves."""

from __future__ import annotations

import asyncio
import json
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.asgi import Message, Receive, ReflectiveMiddleware, Scope, Send
from corrigible.proxy.build import build_corrector
from corrigible.proxy.http.corrector import HttpCorrector, HttpOutcome
from corrigible.proxy.http.messages import OF_ALL, DocumentResponse, Documents, HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer

RULE = "match: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {amount: 300}}]\n"
LISTED = b'[{"code": "bad",  "message": "m"}]'
JSON = ("Content-Type", "application/json")


@pytest.fixture
def corrector(write_pack: Callable[..., Path]) -> HttpCorrector:
    return build_corrector([write_pack(x=RULE)])


KEY = ("Authorization", "Bearer sk_1")
PLACE = "/.well-known/recovery-feedback/"


def refuse(
    corrector: HttpCorrector, id: str = "abc", *more: tuple[str, str], peer: str = "", at: float = 0.0
) -> HttpOutcome:
    request = RequestHead("POST", "/x", [JSON, *more], peer)
    return run_with_lookups_sync(
        corrector.correct(
            HttpExchange(request, b'{"amount": 5}', ResponseHead(400, [JSON]), LISTED), id=id, started=at
        ),
        lambda path: LookupAnswer(0),
    )


def link(outcome: HttpOutcome) -> str:
    assert outcome.rewrite is not None
    (found,) = [value for name, value in outcome.rewrite.headers if name == "Link"]
    return found[1:].partition(">")[0]


def token(outcome: HttpOutcome) -> str:
    assert outcome.rewrite is not None
    (found,) = [value for name, value in outcome.rewrite.headers if name == "Link"]
    return found.partition('token="')[2].removesuffix('"')


def fetched(
    corrector: HttpCorrector,
    target: str,
    *headers: tuple[str, str],
    method: str = "GET",
    peer: str = "",
    at: float = 1.0,
) -> DocumentResponse | None:
    return corrector.document(RequestHead(method, target, headers, peer), at)


def test_an_array_stays_as_it_is_and_gets_a_link(corrector: HttpCorrector) -> None:
    outcome = refuse(corrector)
    assert outcome.rewrite is not None
    assert outcome.rewrite.body == LISTED
    assert outcome.rewrite.headers == [
        JSON,
        ("Link", f'<{link(outcome)}>; rel="recovery-feedback"; type="application/json"; token="{token(outcome)}"'),
        ("Vary", "Prefer"),
    ]


def test_the_link_leads_to_the_feedback(corrector: HttpCorrector) -> None:
    target = link(refuse(corrector, "abc", KEY))
    kept = fetched(corrector, target, KEY)
    assert kept is not None
    assert json.loads(kept.body)["suggestions"][0]["parameters"] == {"amount": 300}
    assert dict(kept.headers)["Cache-Control"] == "no-store"
    head = fetched(corrector, target, KEY, method="HEAD")
    assert head == DocumentResponse(kept.headers, b"")
    assert dict(kept.headers)["Content-Length"] == str(len(kept.body))


@pytest.mark.parametrize("method", ["POST", "DELETE", "OPTIONS", "PUT", "get"])
def test_it_is_only_read(corrector: HttpCorrector, method: str) -> None:
    assert fetched(corrector, link(refuse(corrector, "abc", KEY)), KEY, method=method) is None


def test_nobody_guesses_its_name(corrector: HttpCorrector) -> None:
    targets = {link(refuse(corrector, "abc", KEY, at=at)) for at in (0.0, 1.0)}
    targets |= {link(refuse(build_corrector([corrector.engine.profiles[0].pack.path]), "abc", KEY))}
    assert len(targets) == 3
    for target in targets:
        assert "abc" not in target
        assert len(target) == len(PLACE) + 32
    assert fetched(corrector, f"{PLACE}abc", KEY) is None
    assert fetched(corrector, "/v1/abc", KEY) is None


@pytest.mark.parametrize(
    "other",
    [(), (("Authorization", "Bearer sk_2"),), (("X-Api-Key", "sk_1"),), (KEY, ("Stripe-Account", "acct_2")),
     (("Cookie", "s=1"),)],
)  # fmt: skip
def test_who_knows_the_name_needs_the_credentials_as_well(
    corrector: HttpCorrector, other: tuple[tuple[str, str], ...]
) -> None:
    target = link(refuse(corrector, "abc", KEY, peer="127.0.0.1"))
    assert fetched(corrector, target, *other, peer="127.0.0.1") is None
    assert fetched(corrector, target, ("authorization", KEY[1]), peer="127.0.0.2") is not None


def test_without_credentials_the_address_tells(corrector: HttpCorrector) -> None:
    target = link(refuse(corrector, "abc", peer="127.0.0.1"))
    assert fetched(corrector, target, peer="127.0.0.2") is None
    assert fetched(corrector, target, peer="127.0.0.1") is not None


def test_the_token_of_the_link_is_enough_and_fits_no_other_document(corrector: HttpCorrector) -> None:
    one, other = (refuse(corrector, id, KEY, peer="127.0.0.1") for id in ("abc", "abd"))
    sent = ("Recovery-Feedback-Token", token(one))
    assert fetched(corrector, link(one), sent, peer="127.0.0.9") is not None
    assert token(one) not in link(one) and len(token(one)) == 32
    for wrong in (
        sent,
        ("Recovery-Feedback-Token", ""),
        ("Recovery-Feedback-Token", "\xe4"),
        ("X-Token", token(other)),
    ):
        assert fetched(corrector, link(other), wrong, peer="127.0.0.9") is None


def test_it_is_kept_for_ten_minutes(corrector: HttpCorrector) -> None:
    target = link(refuse(corrector, "abc", KEY, at=1000.0))
    assert fetched(corrector, target, KEY, at=1599.0) is not None
    assert fetched(corrector, target, KEY, at=1601.0) is None


def test_nobody_takes_the_place_of_another(corrector: HttpCorrector, monkeypatch: pytest.MonkeyPatch) -> None:
    first = refuse(corrector, "mine", KEY)
    assert first.rewrite is not None and first.rewrite.document is not None
    monkeypatch.setattr("corrigible.proxy.http.messages.OF_ALL", 20 * first.rewrite.document.size)
    mine = link(first)
    for number in range(40):
        refuse(corrector, f"a{number}", ("Authorization", "Bearer other"))
    theirs = [link(refuse(corrector, f"b{number}", ("Authorization", f"Bearer {number}"))) for number in range(40)]
    assert fetched(corrector, mine, KEY) is not None
    found = [
        fetched(corrector, target, ("Authorization", f"Bearer {number}")) is not None
        for number, target in enumerate(theirs)
    ]
    assert found == [True] * 3 + [False] * 37  # 1 of mine, 16 of one other, 3 more
    late = link(refuse(corrector, "late", KEY, at=700.0))
    assert fetched(corrector, late, KEY, at=700.0) is not None


@pytest.mark.slow
def test_all_documents_together_have_a_bound_in_bytes() -> None:
    documents = Documents()
    tracemalloc.start()
    try:
        for number in range(9000):
            headers = [("Cookie", f"a={number}{'x' * 5000}")]
            documents.store(
                documents.create(str(number), headers, "127.0.0.1", os.urandom(number % 4096), number / 100)
            )
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert OF_ALL / 2 < held < OF_ALL
    documents.store(documents.create("later", [KEY], "", b"{}", 10_000.0))
    assert len(documents) == 1


def test_a_caller_keeps_the_latest(corrector: HttpCorrector) -> None:
    targets = [link(refuse(corrector, str(number), KEY)) for number in range(17)]
    assert [fetched(corrector, target, KEY) is not None for target in targets] == [False] + [True] * 16


def test_the_middleware_serves_it_and_nothing_else_of_that_kind(corrector: HttpCorrector) -> None:
    target = link(refuse(corrector, "abc", KEY, at=time.time()))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"the app's own"})

    async def fetch(path: str, *headers: tuple[bytes, bytes]) -> tuple[int, bytes]:
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
        await ReflectiveMiddleware(app, corrector=corrector)(scope, receive, send)
        return sent[0]["status"], sent[1]["body"]

    status, body = asyncio.run(fetch(target, (b"authorization", b"Bearer sk_1")))
    assert (status, json.loads(body)["type"]) == (200, "recovery_guidance")
    assert asyncio.run(fetch(target)) == (404, b"the app's own")
    assert asyncio.run(fetch(f"{PLACE}none")) == (404, b"the app's own")


def test_the_proxy_serves_it_without_asking_upstream(bench: Any) -> None:
    missing = "/.well-known/recovery-feedback/2"
    answers = {missing: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"}
    with (
        bench.upstream(answers) as upstream,
        bench.proxy(bench.Silent(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        kept = bench.ask(proxy.port, "/.well-known/recovery-feedback/1")
        head = bench.ask(proxy.port, "/.well-known/recovery-feedback/1", "HEAD")
        other = bench.ask(proxy.port, missing)
    assert kept.startswith(b"HTTP/1.1 200") and kept.endswith(b'{"kept": true}')
    assert other.endswith(b"\r\n\r\nok")
    assert head.lower().endswith(b"\r\n\r\n") and b"content-length: 14\r\n" in head.lower()
