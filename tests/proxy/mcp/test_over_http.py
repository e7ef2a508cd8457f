"""Server-sent events on their way, and whose tools a call is judged by."""

from __future__ import annotations

import json
from functools import partial
from itertools import chain, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.build import build_tools_corrector
from corrigible.proxy.http.messages import RequestHead
from corrigible.proxy.mcp.over_http import EventStream, Sessions
from corrigible.proxy.mcp.relay import META, Tools
from tests._support.rows import rows

LINES = st.sampled_from(
    [b"data: {}", b"data:1", b"data", b": ping", b"id: 7", b"event: message", b"", b"\xef\xbb\xbf", b"x"]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
STREAMS = st.lists(st.tuples(LINES, ENDS), max_size=12).map(lambda parts: b"".join(line + end for line, end in parts))


def passed(stream: EventStream, data: bytes, cuts: list[int]) -> bytes:
    at = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(at) if start < end]
    parts = [*map(stream, pieces), stream(b"")]
    assert b"" not in chain(*parts)  # in chunks, that would be the end of the answer
    return b"".join(chain(*parts))


@given(data=STREAMS, cuts=st.lists(st.integers(0, 80), max_size=6))
def test_whatever_comes_passes_however_it_is_cut(data: bytes, cuts: list[int]) -> None:
    assert passed(EventStream(lambda message: message), data, cuts) == data


@given(end=ENDS, cuts=st.lists(st.integers(0, 80), max_size=6))
def test_the_data_of_an_event_changes_and_nothing_else(end: bytes, cuts: list[int]) -> None:
    before = [
        b": ping",
        b"",
        b"id: 1",
        b"data: {}",
        b"",
        b"event: message",
        b"data: [1,",
        b"data: 2]",
        b"id: 2",
        b"",
        b"",
    ]
    after = [
        b": ping",
        b"",
        b"id: 1",
        b"data: {}",
        b"",
        b"event: message",
        b"data: [1,",
        b"data: 2,3]",
        b"id: 2",
        b"",
        b"",
    ]
    stream = EventStream(lambda message: message.replace(b"2]", b"2,3]"))
    assert passed(stream, end.join(before), cuts) == end.join(after)


def test_an_event_goes_out_when_it_is_whole_and_not_before() -> None:
    stream = EventStream(lambda message: message)
    assert stream(b"data: 1\n\nda") == [b"data: 1\n\n"]
    assert stream(b"ta: 2\n") == []
    assert stream(b"\n") == [b"data: 2\n\n"]


def test_an_event_whose_data_comes_later_waits_and_no_other_does() -> None:
    stream = EventStream(lambda message: b"" if message == b"2" else message)
    assert stream(b"data: 1\n\nid: 7\ndata: 2\n\ndata: 3\n\n") == [b"data: 1\n\ndata: 3\n\n"]
    stream.release(b"4")
    assert stream.waiting == b"id: 7\ndata: 4\n\n"
    assert stream(b"") == []


def test_an_event_that_is_too_long_passes_with_all_that_follows() -> None:
    stream = EventStream(lambda message: b"changed")
    long = b"data: " + b"x" * (1 << 20)
    assert stream(long) == [long]
    assert stream(b"\n\ndata: 1\n\n") == [b"\n\ndata: 1\n\n"]


def posted(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def answered(sessions: Sessions, headers: list[tuple[str, str]], asked: bytes, result: Any) -> Any:
    relay = sessions.relay(RequestHead("POST", "/mcp", headers), asked, dict(headers).get("Authorization", ""))
    assert relay is not None
    return json.loads(relay.of_server(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()))["result"]


@pytest.mark.parametrize("header", ["Mcp-Session-Id", "Authorization"])
def test_a_call_is_judged_by_the_tools_of_its_own_session(header: str) -> None:
    sessions = Sessions(partial(Tools, partial(build_tools_corrector, [])), Recorder())
    refused = {"isError": True, "content": [{"type": "text", "text": "size: the value is not allowed"}]}
    for name, size in (("one", "small"), ("two", "smart")):
        schema = {"type": "object", "properties": {"size": {"enum": [size, "other"]}}}
        listed = {"tools": [{"name": "t", "inputSchema": schema}]}
        answered(sessions, [(header, name)], posted("tools/list", {}), listed)
    call = posted("tools/call", {"name": "t", "arguments": {"size": "smal"}})
    for name, size in (("one", "small"), ("two", "smart")):
        feedback = answered(sessions, [(header, name)], call, refused)["_meta"][META]
        assert size in json.dumps(feedback)
        assert {"small": "smart", "smart": "small"}[size] not in json.dumps(feedback)


@rows(
    ("method", "body"),
    [("GET", b""), ("POST", b""), ("POST", b"["), ("DELETE", b"{}"), ("POST", posted("ping", {})), ("POST", b"[1]")],
)
def test_requests_that_call_no_tool_are_not_looked_at(method: str, body: bytes) -> None:
    assert (
        Sessions(partial(Tools, partial(build_tools_corrector, [])), Recorder()).relay(
            RequestHead(method, "/mcp", []), body, ""
        )
        is None
    )


RESULTS: Any = {"capabilities": {"experimental": {"corrigible/toolErrors": {}}}}
INVALID = {"code": -32602, "message": "Unknown tool: t"}


@pytest.mark.parametrize(
    ("begun", "of_call", "is_result"), [("s1", "s1", True), ("s1", "s2", False), ("s1", "", False), ("", "", False)]
)
def test_what_a_client_takes_is_known_in_its_own_session_only(begun: str, of_call: str, is_result: bool) -> None:
    """The session is in the answer to `initialize`. Who has none may be anybody."""
    sessions = Sessions(partial(Tools, partial(build_tools_corrector, [])), Recorder())
    sessions.relay(RequestHead("POST", "/mcp", []), posted("initialize", RESULTS), "", begun)
    headers = [("Mcp-Session-Id", of_call)] if of_call else []
    relay = sessions.relay(RequestHead("POST", "/mcp", headers), posted("tools/call", {"name": "t"}), "")
    assert relay is not None
    got = json.loads(relay.of_server(json.dumps({"jsonrpc": "2.0", "id": 1, "error": INVALID}).encode()))
    assert ("result" in got) is is_result is relay.is_result
