"""Errors inside of streams that began as a success: their event gets feedback, and no other byte changes."""

from __future__ import annotations

import json
from itertools import chain, pairwise
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st

from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.build import build_engine
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import RequestHead
from corrigible.proxy.mcp.over_http import EventStream
from corrigible.proxy.mitm.error_events import ErrorEvents, status_of
from tests._support.raw_proxy import chunks, corrected, upstream_at
from tests._support.rows import rows

CORRECTOR = HttpCorrector(build_engine(["models"]))
SENT: dict[str, Any] = {"model": "m", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
OVERLOADED = (
    b'{"type": "error", "error": {"details": null, "type": "overloaded_error", "message": "Overloaded"}, "a": 1.50}'
)
"""As Anthropic documents it, with a number whose text has to stay."""
BEFORE = b'event: message_start\ndata: {"type": "message_start", "error": null}\n\n: ping\n\nevent: error\n'
STREAM = BEFORE + b"data: " + OVERLOADED + b"\n\ndata: [DONE]\n\n"


def events() -> ErrorEvents:
    head = RequestHead("POST", "/v1/messages", [("content-type", "application/json")])
    return ErrorEvents(CORRECTOR, head, json.dumps(SENT).encode(), Recorder())


def passed(data: bytes, cuts: list[int]) -> bytes:
    stream, at = EventStream(events()), [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return b"".join(chain(*(stream(data[start:end]) for start, end in pairwise(at) if start < end), stream(b"")))


def assert_is_corrected(out: bytes) -> None:
    assert out.startswith(BEFORE + b"data: " + OVERLOADED[:-1] + b",")
    assert out.endswith(b"}\n\ndata: [DONE]\n\n")
    event = json.loads(out.removeprefix(BEFORE + b"data: ").partition(b"\n")[0])
    assert event["recovery_feedback"]["suggestions"][0]["action"] == "WAIT_AND_RETRY"


def test_an_error_of_the_responses_api_says_to_wait() -> None:
    error = b'{"type":"error","code":"rate_limit_exceeded","message":"Too many tokens"}'
    for data in (error, b'{"type":"response.failed","response":{"error":' + error + b"}}"):
        assert json.loads(events()(data))["recovery_feedback"]["suggestions"][0]["action"] == "WAIT_AND_RETRY"


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=5))
def test_the_event_of_an_error_gets_feedback_however_the_stream_is_cut(cuts: list[int]) -> None:
    assert_is_corrected(passed(STREAM, cuts))


@rows(
    "data",
    [
        b"[DONE]",
        b'{"choices": [{"delta": {"content": "\\"error\\""}}]}',
        b'{"choices": [], "error": null}',
        b'{"type": "response.failed", "response": {"error": {"message": "x"}}}',
        b'{"error": {"message": "something that no rule knows"}}',
        b'{"error": {"message": ""}}',
        b'{"error": "a text"}',
        b'{"error": {"message": "Overloaded"}, "recovery_feedback": {}}',
        b'{"error": {"message": 1}, ',
        b'["error"]',
        b'{"error": ' + b"[" * 30_000,
        b'{"error": {"message": "prompt is too long: 2 tokens > 1 maximum' + b" " * 70_000 + b'"}}',
    ],
)
def test_what_is_no_error_that_is_known_passes_as_it_came(data: bytes) -> None:
    assert events()(data) == data


@rows(
    ("error", "status"),
    [
        ({"type": "overloaded_error"}, 529),
        ({"code": 429, "type": "overloaded_error"}, 429),
        ({"code": "insufficient_quota", "type": "x"}, 429),
        ({"code": "server_is_overloaded", "type": "service_unavailable_error"}, 503),
        ({"code": 200}, 400),
        ({"code": True, "type": None}, 400),
        ({}, 400),
    ],
)
def test_an_error_has_the_status_that_it_has_without_a_stream(error: dict[str, Any], status: int) -> None:
    assert status_of(error) == status


def test_one_error_of_a_stream_is_corrected() -> None:
    """An upstream that sends many of them costs no more than one."""
    changed = events()
    assert changed(OVERLOADED) != OVERLOADED
    assert changed(OVERLOADED) == OVERLOADED


def test_the_proxy_corrects_the_error_of_a_stream() -> None:
    head = b"Content-Type: text/event-stream\r\n"
    parts = STREAM[:60], STREAM[60:150], STREAM[150:]
    with (
        upstream_at({"/v1/messages": chunks(b"200 OK", head, *parts)}) as api,
        corrected(f"http://127.0.0.1:{api.port}", "models") as models,
        corrected(f"http://127.0.0.1:{api.port}", "http") as others,
    ):
        assert_is_corrected(httpx.post(f"{models}/v1/messages", json=SENT, timeout=60).content)
        assert httpx.post(f"{others}/v1/messages", json=SENT, timeout=60).content == STREAM
