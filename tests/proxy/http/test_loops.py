"""The loop breaker where it is at work: in the corrector, in the middleware, in the proxy and its journal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from corrigible.proxy.asgi import Message, Receive, ReflectiveMiddleware, Scope, Send
from corrigible.proxy.build import build_corrector, build_loops
from corrigible.proxy.core.loop.attempt_group import ESCALATED, Refusal
from corrigible.proxy.core.loop.detector import Loops
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import Next, Terminal, apply

RULE = """\
match: {code: bad}
when: "!has(request.body.amount) || request.body.amount > 300"
suggest: [{action: MODIFY_PARAMS, message: Take less., parameters: {amount: 300}}]
"""
ALWAYS = "match: {code: always}\nsuggest: [{action: MODIFY_PARAMS, message: Take less., parameters: {amount: 300}}]\n"
JSON = ("Content-Type", "application/json")
KEY = ("Authorization", "Bearer one")


@pytest.fixture
def folder(write_pack: Callable[..., Path]) -> Path:
    return write_pack(bad=RULE, always=ALWAYS)


class Client:
    """Sends what the feedback says, to an upstream that refuses everything in the same way."""

    def __init__(self, corrector: HttpCorrector, code: str = "bad", *headers: tuple[str, str]) -> None:
        self.corrector, self.code = corrector, code
        self.headers = [JSON, *(headers or [KEY])]
        self.now = 1000.0

    def send(self, body: Json = None, target: str = "/v1/x", status: int = 400) -> dict[str, Json] | None:
        request = RequestHead("POST", target, self.headers, "127.0.0.1")
        native = orjson.dumps({"error": {"code": self.code, "message": "m"}} if status >= 400 else {"ok": True})
        sent = orjson.dumps({"amount": 500} if body is None else body)
        response = ResponseHead(status, [JSON])
        self.now += 1
        going = self.corrector.correct(HttpExchange(request, sent, response, native), id="e", started=self.now)
        outcome = run_with_lookups_sync(going, lambda lookup: LookupAnswer(0))
        if outcome.rewrite is None:
            return None
        member = orjson.loads(outcome.rewrite.body).get("recovery_feedback")
        assert outcome.mode is not Mode.REFLECTIVE or member == outcome.feedback
        return member if isinstance(member, dict) else {}

    def actions(self, count: int) -> list[str]:
        """Return what the breaker did to each of some repetitions, `first` where nothing."""
        said = [self.send() for _ in range(count)]
        assert None not in said
        return [one.get("loop", {}).get("action", "first") for one in said if one is not None]


@pytest.fixture
def corrector(folder: Path) -> HttpCorrector:
    return build_corrector([folder], loops=build_loops())


LADDER = ["first", "none", "relax_structure", "escalate"]


def test_the_first_answer_is_what_it_was_without_a_loop_breaker(folder: Path, corrector: HttpCorrector) -> None:
    assert Client(corrector).send() == Client(build_corrector([folder])).send()
    assert Client(build_corrector([folder])).actions(6) == ["first"] * 6


@pytest.mark.parametrize("code", ["bad", "always"])
def test_an_agent_that_does_as_it_is_told_is_stopped(corrector: HttpCorrector, code: str) -> None:
    """The rule for `bad` falls silent once its advice is followed; the one for `always` never does."""
    client = Client(corrector, code)
    request = Request("POST", "/v1/x", headers={}, body={"amount": 500})
    for _ in range(ESCALATED):
        said = client.send(request.body)
        following = apply(said, request) if said else None
        if isinstance(following, Next):
            request = following.request
    assert said is not None
    assert isinstance(apply(said, request), Terminal)
    assert said["suggestions"][0]["parameters"]["attempts"] == ESCALATED


def test_only_what_shows_suggestions_counts(corrector: HttpCorrector) -> None:
    client = Client(corrector)
    client.headers.append(("Prefer", "recovery-feedback=verbose"))
    assert [client.send(), client.send()] == [{}, {}]
    client.headers[-1] = ("Prefer", "recovery-feedback=none")
    assert client.send() is None
    client.headers.pop()
    assert client.actions(2) == LADDER[:2]
    client.headers.append(("Prefer", "recovery-feedback=traditional"))
    client.send()
    client.headers.pop()
    assert client.actions(2) == LADDER[2:]


def test_the_first_feedback_that_a_caller_sees_is_the_first_attempt(corrector: HttpCorrector) -> None:
    client = Client(corrector)
    for mode in ("verbose", "traditional", "verbose"):
        client.headers = [JSON, KEY, ("Prefer", f"recovery-feedback={mode}")]
        client.send()
    client.headers = [JSON, KEY]
    assert client.actions(2) == LADDER[:2]


def test_feedback_that_cannot_be_embedded_does_not_count(
    corrector: HttpCorrector, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(corrector)
    with monkeypatch.context() as patched:
        patched.setattr("corrigible.proxy.http.codec.embed_feedback", lambda *_: 1 / 0)
        assert [client.send() for _ in range(3)] == [None] * 3
    assert client.actions(2) == LADDER[:2]


def test_a_success_of_the_caller_there_ends_the_loop(corrector: HttpCorrector) -> None:
    client, elsewhere = Client(corrector), RequestHead("POST", "/v1/y", [KEY], "127.0.0.1")
    assert client.actions(3) == LADDER[:3]
    corrector.passed(elsewhere, 200)
    corrector.passed(RequestHead("POST", "/v1/x", [("Authorization", "Bearer two")], "127.0.0.1"), 200)
    corrector.passed(RequestHead("POST", "/v1/x", [KEY], "127.0.0.1"), 500)
    assert client.actions(1) == LADDER[3:]
    corrector.passed(RequestHead("POST", "/v1/x?y=1", [KEY], "127.0.0.1"), 204)
    assert client.actions(2) == LADDER[:2]
    assert client.send(status=200) is None
    assert client.actions(2) == LADDER[:2]


def test_the_caller_may_say_which_of_its_tasks_this_is(corrector: HttpCorrector) -> None:
    names = ['recovery-feedback=reflective; caller="episode 7"', "recovery-feedback; caller=8"]
    first, second = (Client(corrector, "bad", KEY, ("Prefer", name)) for name in names)
    assert first.actions(3) == LADDER[:3]
    assert second.actions(3) == LADDER[:3]
    assert first.actions(1) == LADDER[3:]


class Blind(Loops):
    """One that cannot tell who calls."""

    def caller(self, headers: Iterable[tuple[str, str]], name: str = "", peer: str = "") -> str:
        raise RuntimeError("who")


class Broken(Loops):
    """One with a mistake in it."""

    def count_refusal(self, refusal: Refusal, feedback: Mapping[str, Json] | None) -> dict[str, Json] | None:
        raise RuntimeError("lost count")

    def __len__(self) -> int:
        return 1

    def has_loop(self, caller: str) -> bool:
        raise RuntimeError("lost the caller")


def test_a_mistake_in_it_leaves_the_decision_as_it_was(folder: Path) -> None:
    assert Client(build_corrector([folder], loops=Blind(b"k"))).actions(5) == ["first"] * 5
    corrector = build_corrector([folder], loops=Broken(b"k"))
    assert Client(corrector).send() == Client(build_corrector([folder])).send()
    going = corrector.correct(
        HttpExchange(
            RequestHead("POST", "/v1/x", [JSON, KEY]),
            b"{}",
            ResponseHead(400, [JSON]),
            b'{"error":{"code":"bad","message":"m"}}',
        ),
        id="e",
        started=1.0,
    )
    outcome = run_with_lookups_sync(going, lambda lookup: LookupAnswer(0))
    assert (outcome.reason, outcome.error) == ("annotated", "RuntimeError: lost count")
    corrector.passed(RequestHead("POST", "/v1/x", [KEY]), 200)


def test_the_middleware_breaks_loops_too(folder: Path) -> None:
    """Of the app's own answers: four refusals, a success, a refusal."""
    answers = [400, 400, 400, 400, 201, 400]
    said: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": answers.pop(0), "headers": headers})
        await send({"type": "http.response.body", "body": b'{"error":{"code":"bad","message":"m"}}'})

    middleware = ReflectiveMiddleware(app, [folder])

    async def main() -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": b'{"amount":500}', "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.body":
                said.append(orjson.loads(message["body"]).get("recovery_feedback", {}).get("loop", {}).get("action"))

        for port in range(len(answers)):
            scope = {
                "type": "http",
                "method": "POST",
                "path": "/v1/x",
                "headers": [(b"content-type", b"application/json"), (b"x-api-key", b"1")],
            }
            await middleware({**scope, "query_string": b"", "client": ("127.0.0.1", port)}, receive, send)

    asyncio.run(main())
    assert said == [None, "none", "relax_structure", "escalate", None, None]


def test_the_proxy_breaks_loops_and_its_journal_says_so(bench: Any, tmp_path: Path, folder: Path) -> None:
    answer = bench.message(
        b"400 Bad Request", b"Content-Type: application/json\r\n", b'{"error":{"code":"bad","message":"m"}}'
    )
    answers = [*[answer] * 4, bench.message(b"201 Created", b"", b"ok"), answer]
    with (
        bench.upstream({"/x": lambda connection: connection.sendall(answers.pop(0))}) as upstream,
        bench.proxy(
            build_corrector([folder], loops=build_loops()),
            upstream=f"http://127.0.0.1:{upstream.port}",
            log=tmp_path / "log.jsonl",
        ) as proxy,
    ):
        fields = b"Content-Type: application/json\r\nX-Api-Key: 1\r\n"
        for _ in range(len(answers)):
            bench.ask(proxy.port, "/x", "POST", b'{"amount":500}', fields)
    seen = [entry.get("loop", {}).get("action") for entry in bench.journal(tmp_path)]
    assert seen == [None, "none", "relax_structure", "escalate", None, None]


@pytest.mark.parametrize("connection", ["one each", "one for all"])
def test_callers_that_nobody_can_tell_apart_all_hear_the_correction(
    each_engine: Any, folder: Path, connection: str
) -> None:
    """A gateway calls from one address, over one connection, for many callers. One with a name is counted there."""
    is_http2 = connection == "one for all" and each_engine.is_strict  # the other engine takes HTTP/2 over TLS only
    answer = each_engine.message(
        b"400 Bad Request", b"Content-Type: application/json\r\n", b'{"error":{"code":"bad","message":"m"}}'
    )
    with (
        each_engine.upstream({"/x": answer}) as upstream,
        each_engine.proxy(
            build_corrector([folder], loops=build_loops()), upstream=f"http://127.0.0.1:{upstream.port}"
        ) as proxy,
        contextlib.ExitStack() as clients,
    ):

        def client() -> httpx.Client:
            return clients.enter_context(
                httpx.Client(base_url=f"http://127.0.0.1:{proxy.port}", http1=not is_http2, http2=is_http2, timeout=60)
            )

        shared = client()

        def said(**headers: str) -> dict[str, Any]:
            caller = client() if connection == "one each" else shared
            feedback: dict[str, Any] = caller.post("/x", json={"amount": 500}, headers=headers).json()[
                "recovery_feedback"
            ]
            return feedback

        strangers = [said() for _ in range(6)]
        named = [said(Prefer='recovery-feedback; caller="episode-7"') for _ in range(4)]
    assert [one["recovery"] for one in strangers] == ["correctable"] * 6
    assert all(one["suggestions"] == strangers[0]["suggestions"] and "loop" not in one for one in strangers)
    assert named[-1]["recovery"] == "terminal" and "4 times" in named[-1]["message"]
    assert "600 seconds" in named[-1]["message"]
