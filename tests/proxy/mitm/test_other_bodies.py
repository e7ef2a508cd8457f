"""Refusals whose body takes no member, through both HTTP front ends: the bytes stay, a Link leads to the feedback."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.asgi import ReflectiveMiddleware
from corrigible.proxy.build import build_corrector, build_loops
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.corrector import HttpCorrector
from tests._support.raw_proxy import PATIENT
from tests._support.rows import rows

DESCRIPTION = {
    "openapi": "3.0.3",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/orders": {
            "get": {"operationId": "list", "responses": {"200": {"description": "ok"}}},
            "post": {
                "operationId": "create",
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {"201": {"description": "ok"}},
            },
        },
        "/orders/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "patch": {"operationId": "change", "responses": {"200": {"description": "ok"}}},
        },
    },
}
HTML = b"Content-Type: text/html\r\n"
TEXT = b"Content-Type: text/plain; charset=utf-8\r\n"
XML = b"Content-Type: application/xml\r\n"
AMZ = b"Content-Type: application/x-amz-json-1.0\r\n"
NOT_FOUND = b"<!doctype html><title>404 Not Found</title><h1>Not Found</h1><p>The requested URL was not found.</p>"
ANSWERS: dict[str, tuple[bytes, bytes, bytes, str, str]] = {
    "an empty 404": (b"404 Not Found", b"", b"", "POST /order", "/path"),
    "an HTML 404": (b"404 Not Found", HTML, NOT_FOUND, "POST /order", "/path"),
    "a text 404": (b"404 Not Found", TEXT, b"404 page not found\n", "GET /order", "/path"),
    "an XML 404": (b"404 Not Found", XML, b"<Error><Code>NotFound</Code></Error>", "GET /ordrs", "/path"),
    "a 404 of one JSON text": (
        b"404 Not Found",
        b"Content-Type: application/json\r\n",
        b'"gone"',
        "GET /order",
        "/path",
    ),
    "an empty 405": (b"405 Method Not Allowed", b"Allow: PATCH\r\n", b"", "PUT /orders/7", "/method"),
    "a text 405": (b"405 Method Not Allowed", TEXT, b"Method Not Allowed", "PUT /orders/7", "/method"),
}


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("description") / "openapi.json"
    path.write_text(json.dumps(DESCRIPTION))
    return path


def corrector_of(description: Path, **more: Any) -> HttpCorrector:
    return build_corrector([], spec=description, loops=build_loops(), limits=PATIENT, **more)


def link_of(head: bytes) -> str | None:
    lines = [line for line in head.split(b"\r\n") if line.lower().startswith(b"link: <")]
    return lines[0].partition(b"<")[2].partition(b">")[0].decode() if lines else None


def fetched(each_engine: Any, port: int, target: str) -> Any:
    head, _, body = each_engine.ask(port, target).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    return json.loads(body)


@rows("name", ANSWERS)
def test_the_answer_stays_and_points_to_its_feedback(
    each_engine: Any, description: Path, tmp_path: Path, name: str
) -> None:
    status, headers, body, request, place = ANSWERS[name]
    method, _, path = request.partition(" ")
    native = each_engine.message(status, headers, body)
    with (
        each_engine.upstream({path: native}) as upstream,
        each_engine.proxy(
            corrector_of(description), upstream=f"http://127.0.0.1:{upstream.port}", log=tmp_path / "log.jsonl"
        ) as proxy,
    ):
        head, _, came = each_engine.ask(proxy.port, path, method).partition(b"\r\n\r\n")
        target = link_of(head)
        assert target is not None
        feedback = fetched(each_engine, proxy.port, target)
    assert came == body
    native_head = native.partition(b"\r\n\r\n")[0]
    assert head.split(b"\r\n")[: len(native_head.split(b"\r\n"))] == native_head.split(b"\r\n")
    assert feedback["suggestions"][0]["patch"][-1]["path"] == place
    assert [entry["outcome"] for entry in each_engine.journal(tmp_path)][:1] == ["annotated"]


@rows("name", ANSWERS)
def test_the_middleware_says_the_same(description: Path, name: str) -> None:
    status, headers, body, request, place = ANSWERS[name]
    method, _, path = request.partition(" ")
    fields = [tuple(line.split(b": ", 1)) for line in headers.split(b"\r\n") if line]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        start = {"type": "http.response.start", "status": int(status[:3]), "headers": fields}
        await send(start)
        await send({"type": "http.response.body", "body": body})

    middleware = ReflectiveMiddleware(app, corrector=corrector_of(description))

    async def ask(method: str, path: str) -> tuple[dict[bytes, bytes], bytes]:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b"", "client": ("c", 1)}
        await middleware(scope, receive, send)
        return dict(sent[0]["headers"]), b"".join(message.get("body", b"") for message in sent[1:])

    async def both() -> tuple[bytes, bytes]:
        fields, body = await ask(method, path)
        target = fields[b"link"].partition(b"<")[2].partition(b">")[0].decode()
        return body, (await ask("GET", target))[1]

    came, document = asyncio.run(both())
    assert came == body
    assert json.loads(document)["suggestions"][0]["patch"][-1]["path"] == place


@rows("mode", [Mode.NONE, Mode.TRADITIONAL, Mode.VERBOSE])
@rows("name", ANSWERS)
def test_the_other_modes_leave_every_byte(each_engine: Any, description: Path, mode: Mode, name: str) -> None:
    status, headers, body, request, _ = ANSWERS[name]
    method, _, path = request.partition(" ")
    native = each_engine.message(status, headers, body)
    with (
        each_engine.upstream({path: native}) as upstream,
        each_engine.proxy(corrector_of(description, mode=mode), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        assert each_engine.seen(each_engine.ask(proxy.port, path, method)) == each_engine.seen(native)


def test_json_of_a_vendor_takes_the_member(each_engine: Any, description: Path) -> None:
    body = b'{"__type":"com.acme#ResourceNotFoundException","message":"no such path"}'
    with (
        each_engine.upstream({"/order": each_engine.message(b"404 Not Found", AMZ, body)}) as upstream,
        each_engine.proxy(corrector_of(description), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        head, _, came = each_engine.ask(proxy.port, "/order", "POST").partition(b"\r\n\r\n")
    assert b"Content-Type: application/x-amz-json-1.0" in head
    assert came.startswith(body[:-1])
    assert json.loads(came)["recovery_feedback"]["suggestions"][0]["patch"][-1]["value"] == "/orders"


def test_a_wait_is_told_in_plain_text(each_engine: Any, description: Path) -> None:
    native = each_engine.message(
        b"429 Too Many Requests", TEXT + b"Retry-After: 7\r\n", b"Too many requests, slow down.\n"
    )
    with (
        each_engine.upstream({"/orders": native}) as upstream,
        each_engine.proxy(corrector_of(description), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        target = link_of(each_engine.ask(proxy.port, "/orders").partition(b"\r\n\r\n")[0])
        assert target is not None
        feedback = fetched(each_engine, proxy.port, target)
    assert (feedback["suggestions"][0]["action"], feedback["retry"]["after_seconds"]) == ("WAIT_AND_RETRY", 7)


def test_repeated_refusals_without_a_body_are_counted(each_engine: Any, description: Path) -> None:
    with (
        each_engine.upstream({"/order": each_engine.message(b"404 Not Found", b"", b"")}) as upstream,
        each_engine.proxy(corrector_of(description), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        actions = []
        for _ in range(4):
            answer = each_engine.ask(proxy.port, "/order", "POST", b"", b"Prefer: recovery-feedback; caller=one\r\n")
            target = link_of(answer.partition(b"\r\n\r\n")[0])
            assert target is not None
            actions.append(fetched(each_engine, proxy.port, target)["suggestions"][0]["action"])
    assert actions[-1] == "ESCALATE"


@rows(
    ("status", "headers", "body"),
    [
        (b"200 OK", HTML, NOT_FOUND),
        (b"200 OK", XML, b"<Error><Code>NotFound</Code></Error>"),
        (b"302 Found", HTML + b"Location: /x\r\n", NOT_FOUND),
        (b"502 Bad Gateway", HTML, b"<html><h1>502 Bad Gateway</h1></html>"),
        (b"404 Not Found", b"Content-Type: image/png\r\n", b"\x89PNG"),
    ],
)
def test_everything_else_stays(each_engine: Any, description: Path, status: bytes, headers: bytes, body: bytes) -> None:
    native = each_engine.message(status, headers, body)
    with (
        each_engine.upstream({"/order": native}) as upstream,
        each_engine.proxy(corrector_of(description), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        assert each_engine.seen(each_engine.ask(proxy.port, "/order", "POST")) == each_engine.seen(native)
