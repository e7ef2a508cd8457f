"""The middleware around small apps, driven message by message."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.proxy.asgi import App, Message, Receive, ReflectiveMiddleware, Scope, Send
from corrigible.proxy.build import build_corrector
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.http.corrector import HttpCorrector
from tests._support.rows import rows

JSON = (b"content-type", b"application/json")
REFUSAL = b'{"error":{"code":"bad","message":"m"}}'
RULE = "match: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {amount: 300}}]\n"
LIVE = """\
match: {code: bad}
lookup: {thing: {get: "'/v1/things/' + request.body.id + '?full=1'"}}
suggest: [{action: MODIFY_PARAMS, message: m, parameters: {amount: thing.left}}]
"""
Event = tuple[str, Any]


@pytest.fixture
def folder(write_pack: Callable[..., Path]) -> Path:
    return write_pack(manifest="lookups: ['/v1/things/{id}']\n", x=RULE)


def http(
    path: str = "/v1/x", method: str = "POST", headers: Sequence[tuple[bytes, bytes]] = (JSON,), **more: Any
) -> Scope:
    return {"type": "http", "method": method, "path": path, "query_string": b"", "headers": list(headers), **more}


def start(status: int = 400, *headers: tuple[bytes, bytes]) -> Message:
    return {"type": "http.response.start", "status": status, "headers": [JSON, *headers]}


def part(body: bytes, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


def sends(*messages: Message, reads: bool = True) -> App:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while reads and (await receive()).get("more_body"):
            pass
        for message in messages:
            await send(message)

    return app


def run(app: App, scope: Scope | None = None, body: Sequence[bytes] = (b'{"amount":500}',)) -> list[Message]:
    """Send one request through an app; return the messages it sent."""

    async def main() -> list[Message]:
        waiting = [
            {"type": "http.request", "body": one, "more_body": number < len(body) - 1}
            for number, one in enumerate(body)
        ]
        sent: list[Message] = []

        async def receive() -> Message:
            if waiting:
                return waiting.pop(0)
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(dict(message))

        await asyncio.wait_for(app(scope or http(), receive, send), 60)
        return sent

    return asyncio.run(main())


def corrected(
    folder: Path, *messages: Message, limits: Limits | None = None, reads: bool = True, **more: Any
) -> list[Message]:
    corrector = build_corrector([folder], limits=limits)
    return run(ReflectiveMiddleware(sends(*messages, reads=reads), corrector=corrector), **more)


def test_a_refusal_is_annotated(folder: Path) -> None:
    first, second = corrected(folder, start(400, (b"X-Up", b"1")), part(REFUSAL[:9], True), part(REFUSAL[9:]))
    assert (first["type"], first["status"]) == ("http.response.start", 400)
    assert first["headers"] == [
        JSON,
        (b"x-up", b"1"),
        (b"content-length", str(len(second["body"])).encode()),
        (b"vary", b"Prefer"),
    ]
    assert second["more_body"] is False
    said = orjson.loads(second["body"])
    assert said["error"] == {"code": "bad", "message": "m"}
    assert said["recovery_feedback"]["suggestions"][0]["patch"][-1]["value"] == 300


@rows(
    "messages",
    [
        [start(200), part(b"{", True), part(b"}", True), part(b"")],
        [start(204), part(b"")],
        [{**start(400), "headers": [(b"content-type", b"text/event-stream")]}, part(b"data: 1\n\n", True), part(b"")],
        [start(400, (b"content-length", b"9999999")), part(REFUSAL)],
        [{"type": "http.response.debug", "info": {}}, start(200), part(b"{}")],
        [{"type": "http.response.start", "status": 200}, part(REFUSAL)],
    ],
)
def test_everything_else_passes_message_by_message(folder: Path, messages: list[Message]) -> None:
    assert corrected(folder, *messages) == messages


def test_a_success_is_not_held_back(folder: Path) -> None:
    seen: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in (start(200), part(b"1", True), part(b"2", True)):
            await send(message)
            seen.append(len(through))

    through: list[Message] = []

    async def main() -> None:
        async def send(message: Message) -> None:
            through.append(message)

        async def receive() -> Message:
            raise AssertionError("nobody asked")

        await ReflectiveMiddleware(app, [folder])(http(), receive, send)

    asyncio.run(main())
    assert seen == [1, 2, 3]


@pytest.mark.parametrize(
    "parts",
    [[part(b'{"error":{"code":"other"}}')], [part(b"teapot")], [part(b"")], [part(b'{"recovery_feedback":1}')]],
)
def test_a_refusal_nobody_knows_leaves_as_it_came(folder: Path, parts: list[Message]) -> None:
    assert corrected(folder, start(), *parts) == [start(), *parts]


def test_a_body_over_the_limit_passes(folder: Path) -> None:
    long = [part(b"x" * 60, True), part(b"y" * 60, True), part(b"z")]
    assert corrected(folder, start(), *long, limits=Limits(body=100)) == [
        start(),
        part(b"x" * 60 + b"y" * 60, True),
        part(b"z"),
    ]
    asked = [b'{"amount":', b" " * 100, b"500}"]
    assert corrected(folder, start(), part(REFUSAL), limits=Limits(body=100), body=asked) == [start(), part(REFUSAL)]


def test_a_request_the_app_did_not_read_is_read_for_it(folder: Path) -> None:
    messages = corrected(folder, start(), part(REFUSAL), reads=False, body=[b'{"amou', b'nt":500}'])
    patch = orjson.loads(messages[1]["body"])["recovery_feedback"]["suggestions"][0]["patch"]
    assert patch[0] == {"op": "test", "path": "/body/amount", "value": 500}


def test_a_request_that_never_ends_is_not_waited_for(folder: Path) -> None:
    corrector = build_corrector([folder], limits=Limits(seconds_with_lookups=0.05))
    app = ReflectiveMiddleware(sends(start(), part(REFUSAL), reads=False), corrector=corrector)

    async def hanging(scope: Scope, receive: Receive, send: Send) -> None:
        async def never_ending() -> Message:
            return {**await receive(), "more_body": True}

        await app(scope, never_ending, send)

    for body in ((), [b'{"amount":']):
        assert run(hanging, body=body) == [start(), part(REFUSAL)]


@pytest.mark.parametrize("kind", ["websocket", "lifespan"])
def test_other_scopes_pass(folder: Path, kind: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": f"{kind}.x", "got": await receive()})

    (message,) = run(ReflectiveMiddleware(app, [folder]), {"type": kind})
    assert message == {
        "type": f"{kind}.x",
        "got": {"type": "http.request", "body": b'{"amount":500}', "more_body": False},
    }


def test_an_app_that_never_sends_or_breaks_off(folder: Path) -> None:
    assert corrected(folder) == []
    assert corrected(folder, start()) == [start(), part(b"", True)]
    assert corrected(folder, start(), part(b"{", True)) == [start(), part(b"{", True)]
    with pytest.raises(ZeroDivisionError):

        async def broken(scope: Scope, receive: Receive, send: Send) -> None:
            await send(start())
            raise ZeroDivisionError

        run(ReflectiveMiddleware(broken, [folder]))


def test_a_file_sent_by_other_means_follows_its_start(folder: Path) -> None:
    messages = [start(), {"type": "http.response.pathsend", "path": "/error.json"}]
    assert corrected(folder, *messages) == messages


def test_the_caller_and_the_setting_choose_the_mode(folder: Path) -> None:
    app = sends(start(), part(REFUSAL))
    for middleware, scope, member in (
        (ReflectiveMiddleware(app, [folder], mode="verbose"), http(), "validation_errors"),
        (ReflectiveMiddleware(app, [folder]), http(query_string=b"mode=verbose"), "validation_errors"),
        (
            ReflectiveMiddleware(app, [folder]),
            http(headers=[JSON, (b"prefer", b"recovery-feedback=verbose")]),
            "validation_errors",
        ),
    ):
        assert list(orjson.loads(run(middleware, scope)[1]["body"])) == ["error", member]
    assert run(ReflectiveMiddleware(app, [folder], mode="none")) == [start(), part(REFUSAL)]


class Shop:
    """Refuses a POST, and answers what a look-up asks for; writes into scopes as routers do."""

    def __init__(self, answer: bytes = b'{"left": 7}', *, lingers: bool = False) -> None:
        self.scopes: list[Scope] = []
        self.answer, self.lingers = answer, lingers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(dict(scope))
        scope["root_path"], scope["endpoint"] = "/written", self
        await receive()
        if scope["method"] == "POST":
            await send(start())
            await send(part(REFUSAL))
            return
        await send(start(200))
        await send(part(self.answer, self.lingers))
        if not self.lingers:
            assert (await receive())["type"] == "http.disconnect"
        else:
            await asyncio.Event().wait()


def test_look_ups_are_answered_by_the_app_itself(folder: Path) -> None:
    (folder / "x.yaml").write_text((folder / "x.yaml").read_text("utf-8").split("match:")[0] + LIVE, "utf-8")
    shop = Shop()
    headers = [
        *(JSON, (b"authorization", b"Bearer t"), (b"x-tenant", b"1"), (b"Content-Length", b"14")),
        *(
            (b"If-Match", b'"a"'),
            (b"idempotency-key", b"k"),
            (b"X-HTTP-Method-Override", b"DELETE"),
            (b"accept", b"a/b"),
        ),
    ]
    messages = run(ReflectiveMiddleware(shop, [folder]), http(headers=headers), [b'{"id":"a%20b","amount":1}'])
    feedback = orjson.loads(messages[1]["body"])["recovery_feedback"]
    assert feedback["suggestions"][0]["parameters"] == {"amount": 7}
    assert (b"cache-control", b"no-store") in messages[0]["headers"]
    asked = shop.scopes[1]
    assert (asked["method"], asked["path"], asked["raw_path"], asked["query_string"]) == (
        "GET",
        "/v1/things/a b",
        b"/v1/things/a%20b",
        b"full=1",
    )
    assert asked["headers"] == [
        (b"authorization", b"Bearer t"),
        (b"x-tenant", b"1"),
        (b"accept", b"application/json"),
    ]
    assert "root_path" not in asked and "endpoint" not in asked


def test_a_look_up_is_asked_for_in_the_version_of_the_request(folder: Path) -> None:
    (folder / "x.yaml").write_text((folder / "x.yaml").read_text("utf-8").split("match:")[0] + LIVE, "utf-8")
    shop = Shop()
    headers = [JSON, (b"Accept", b"application/vnd.acme.v2+json, */*;q=0.1"), (b"Content-Length", b"14")]
    run(ReflectiveMiddleware(shop, [folder]), http(headers=headers), [b'{"id":"a%20b","amount":1}'])
    assert shop.scopes[1]["headers"] == [(b"accept", b"application/vnd.acme.v2+json")]


@pytest.mark.parametrize("shop", [Shop(b"x" * 2000), Shop(lingers=True)], ids=["large", "never ends"])
def test_a_look_up_that_fails_leaves_the_native_answer(folder: Path, shop: Shop) -> None:
    (folder / "x.yaml").write_text((folder / "x.yaml").read_text("utf-8").split("match:")[0] + LIVE, "utf-8")
    corrector = build_corrector([folder], limits=Limits(body=1000, seconds_with_lookups=0.1))
    messages = run(ReflectiveMiddleware(shop, corrector=corrector), body=[b'{"id":"a"}'])
    assert messages == [start(), part(REFUSAL)]
    assert len(shop.scopes) == 2


def test_the_path_is_taken_as_it_was_sent(folder: Path) -> None:
    (folder / "x.yaml").write_text((folder / "x.yaml").read_text("utf-8").replace("300", "request.path"), "utf-8")
    for scope, path in (
        (http("/v1/x"), "/v1/x"),
        (http("/v1/\u00e9"), "/v1/%C3%A9"),
        (http("/v1/\u00e9", raw_path=b"/v1/%c3%a9?x=1"), "/v1/%c3%a9"),
    ):
        messages = corrected(folder, start(), part(REFUSAL), scope=scope)
        feedback = orjson.loads(messages[1]["body"])["recovery_feedback"]
        assert feedback["suggestions"][0]["parameters"] == {"amount": path}


@pytest.mark.parametrize(("length", "native"), [(1000, False), (20_000, True)])
def test_what_would_take_the_apps_loop_too_long_passes(folder: Path, length: int, native: bool) -> None:
    said = corrected(folder, start(), part(REFUSAL), body=[b'{"amount":500,"x":"%s"}' % (b"x" * length)])
    assert (said[-1]["body"] == REFUSAL) is native


def test_how_long_that_is_can_be_said(folder: Path) -> None:
    app = ReflectiveMiddleware(sends(start(), part(REFUSAL)), [folder], largest=100_000)
    assert run(app, body=[b'{"amount":500,"x":"%s"}' % (b"x" * 20_000)])[-1]["body"] != REFUSAL


# whatever goes wrong with us, or meanwhile, the native answer passes


class Faulty:
    """A corrector of which one part fails."""

    def __init__(self, plain: HttpCorrector, part: str) -> None:
        self._plain, self._part = plain, part

    def __getattr__(self, name: str) -> Any:
        if name == self._part:

            def fails(*_: object, **__: object) -> None:
                raise ZeroDivisionError("ours")

            return fails
        return getattr(self._plain, name)


@rows("fails", ["wants_body", "correct", "caller", "document"])
@rows("status", [200, 400])
def test_a_mistake_of_ours_changes_nothing(folder: Path, fails: str, status: int) -> None:
    corrector: Any = Faulty(build_corrector([folder]), fails)
    messages = [start(status), part(REFUSAL[:9], True), part(REFUSAL[9:])]
    sent = run(ReflectiveMiddleware(sends(*messages), corrector=corrector))
    assert sent[0] == start(status)
    assert b"".join(one["body"] for one in sent[1:]) == REFUSAL


def test_a_mistake_in_counting_a_success_changes_nothing(folder: Path) -> None:
    corrector: Any = Faulty(build_corrector([folder]), "passed")
    messages = [start(200), part(b"ok")]
    assert run(ReflectiveMiddleware(sends(*messages), corrector=corrector)) == messages


def test_headers_are_read_as_every_front_end_reads_them(write_pack: Callable[..., Path]) -> None:
    """UTF-8; other octets go out as they came in."""
    rule = "match: {code: bad}\nwhen: \"request.headers['x-name'] == 'caf\u00e9'\"\n"
    folder = write_pack(x=rule + "suggest: [{action: MODIFY_PARAMS, message: m, parameters: {amount: 300}}]\n")
    odd = (b"x-odd", b"\xff\xe9")
    scope = http(headers=[JSON, (b"x-name", "caf\u00e9".encode())])
    sent = run(ReflectiveMiddleware(sends(start(400, odd), part(REFUSAL)), [folder]), scope)
    assert b"recovery_feedback" in sent[1]["body"]
    assert odd in sent[0]["headers"]


def looking_up(end: Callable[[], Awaitable[None]]) -> App:
    """Return an app that refuses, and ends a look-up in some way."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        if scope["method"] == "GET":
            await end()
        await send(start())
        await send(part(REFUSAL))

    return app


async def gives_up() -> None:
    raise asyncio.CancelledError


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


@pytest.mark.parametrize("end", [gives_up, cancels_itself])
def test_a_look_up_that_is_given_up_leaves_the_native_answer(
    write_pack: Callable[..., Path], end: Callable[[], Awaitable[None]]
) -> None:
    folder = write_pack(manifest="lookups: ['/v1/things/{id}']\n", x=LIVE)
    sent = run(ReflectiveMiddleware(looking_up(end), [folder]), body=[b'{"amount":500,"id":"t"}'])
    assert sent == [start(), part(REFUSAL)]


def test_a_cancelled_request_gets_its_answer_and_is_cancelled(write_pack: Callable[..., Path]) -> None:
    folder = write_pack(manifest="lookups: ['/v1/things/{id}']\n", x=LIVE)
    sent: list[Message] = []

    async def main() -> None:
        asked = asyncio.Event()

        async def waits() -> None:
            asked.set()
            await asyncio.Event().wait()

        async def receive() -> Message:
            return {"type": "http.request", "body": b'{"amount":500,"id":"t"}'}

        async def send(message: Message) -> None:
            await asyncio.sleep(0)
            sent.append(message)

        task = asyncio.create_task(ReflectiveMiddleware(looking_up(waits), [folder])(http(), receive, send))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert sent == [start(), part(REFUSAL)]


def test_an_app_that_breaks_off_has_sent_what_it_sent(folder: Path) -> None:
    sent: list[Message] = []

    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        await send(part(b"{", True))
        raise ZeroDivisionError

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    with pytest.raises(ZeroDivisionError):
        asyncio.run(ReflectiveMiddleware(broken, [folder])(http(), receive, send))
    assert sent == [start(), part(b"{", True)]


def test_it_counts_and_logs_as_the_other_front_ends_do(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    native = b'{"error":{"code":"other","message":"m"}}'
    statistics = []
    for answer in (
        (start(200), part(b"{}")),
        (start(400), part(native)),
        (start(404, (b"content-type", b"image/png")), part(b"png")),
    ):
        app = ReflectiveMiddleware(sends(*answer), [folder])
        with caplog.at_level("INFO", "corrigible.proxy.asgi"):
            run(app, http())
        statistics.append((app.recorder.statistics.requests, app.recorder.statistics.refusals))
    assert statistics == [(1, 0), (1, 1), (1, 1)]
    lines = [re.sub(r"^..:..:.. (.*?)( \[.*\])?$", r"\1", record.getMessage()) for record in caplog.records]
    assert lines == [
        "400 POST /v1/x unchanged: no rule matches",
        "404 POST /v1/x unchanged: answers of the type image/png are not read",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"packs": "stripe"}, r"packs='stripe': give a list of packs: packs=\['stripe'\]"),
        ({"packs": Path("stripe")}, r"packs='stripe': give a list"),
        ({"spec": {"openapi": "3.1.0"}}, "spec: give the path of a file with the description, not a dict"),
    ],
)
def test_packs_that_are_no_list_and_a_spec_that_is_no_path_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ReflectiveMiddleware(sends(), **options)


def test_a_caller_who_waits_for_100_gets_the_refusal_at_once(folder: Path) -> None:
    """Nobody asks for a body that the app has not asked for: a server would answer 100 (Continue) then."""
    asked: list[str] = []
    sent: list[Message] = []

    async def receive() -> Message:
        asked.append("body")
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    app = ReflectiveMiddleware(sends(start(401), part(REFUSAL), reads=False), packs=[str(folder)])
    asyncio.run(app(http(headers=[JSON, (b"expect", b"100-continue")]), receive, send))
    assert (asked, sent) == ([], [start(401), part(REFUSAL)])
