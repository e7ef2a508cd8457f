"""Recorded exchanges of three kinds, read into the same messages; and files that are none of them."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.access_log.entry import Entry
from corrigible.proxy.cli import main
from corrigible.proxy.recording.reader import Recording, read_recording
from corrigible.rules.errors import AuthoringError
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.document import form_pairs
from tests._support.rows import rows

NO_ANSWER = LookupAnswer(0)


def written(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "recorded.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return path


def entry(method: str = "POST", url: str = "https://api.test/v1/x?a=%2F&b", **more: Any) -> dict[str, Any]:
    request = {
        "method": method,
        "url": url,
        "headers": [{"name": "X-A", "value": "1"}, {"name": ":path", "value": "/"}],
    }
    response = {"status": 400, "headers": [], "content": {"mimeType": "application/json", "text": '{"error":1}'}}
    return {
        "startedDateTime": "1970-01-01T00:00:05.000Z",
        "request": request | more.get("request", {}),
        "response": response | more.get("response", {}),
    }


def har(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"log": {"version": "1.2", "entries": list(entries)}}


def test_har(tmp_path: Path) -> None:
    posted = {"postData": {"mimeType": "application/x-www-form-urlencoded", "text": "amount=5"}}
    (one,) = read_recording(written(tmp_path, har(entry(request=posted)))).exchanges
    assert (one.name, one.request.method, one.request.target, one.started) == (
        "1 POST /v1/x?a=%2F&b",
        "POST",
        "/v1/x?a=%2F&b",
        5.0,
    )
    assert one.request.headers == [("X-A", "1"), ("Content-Type", "application/x-www-form-urlencoded")]
    assert (one.request_body, one.response.status, one.response_body) == (b"amount=5", 400, b'{"error":1}')
    assert one.response.headers == [("Content-Type", "application/json")]


def test_har_parameters_and_decoded_content(tmp_path: Path) -> None:
    posted = {"postData": {"mimeType": "x/y", "params": [{"name": "a[b]", "value": "1 2"}, {"name": "c"}]}}
    packed = {
        "headers": [{"name": "content-type", "value": "text/x"}, {"name": "Content-Encoding", "value": "gzip"}],
        "content": {"mimeType": "z/z", "encoding": "base64", "text": base64.b64encode(b"\xff{}").decode()},
    }
    (one,) = read_recording(written(tmp_path, har(entry(request=posted, response=packed)))).exchanges
    assert one.request_body == b"a%5Bb%5D=1+2&c="
    assert (one.response.headers, one.response_body) == ([("content-type", "text/x")], b"\xff{}")


def test_har_of_the_least(tmp_path: Path) -> None:
    least = {"request": {"method": "GET", "url": "https://api.test"}, "response": {"status": 0}}
    (one,) = read_recording(written(tmp_path, har(least))).exchanges
    assert (one.request.target, one.request_body, one.response.status, one.response_body, one.started) == (
        "/",
        b"",
        0,
        b"",
        0.0,
    )


def test_look_ups_are_answered_from_successful_reads(tmp_path: Path) -> None:
    good = {"status": 200, "content": {"text": '{"n":1}'}}
    reads = har(
        entry("GET", "https://api.test/v1/a?x=1", response=good),
        entry("GET", "https://api.test/v1/b"),
        entry("POST", "https://api.test/v1/c", response=good),
    )
    recording = read_recording(written(tmp_path, b"\xef\xbb\xbf" + json.dumps(reads).encode()))
    assert recording.fetch(Lookup("/v1/a?x=1")) == LookupAnswer(200, b'{"n":1}')
    assert [recording.fetch(Lookup(path)) for path in ("/v1/a", "/v1/b", "/v1/c")] == [NO_ANSWER] * 3


CAPTURE = {
    "case": "a capture",
    "request": {
        "method": "POST",
        "path": "/v1/x?q=1",
        "headers": {"Content-Type": "application/x-www-form-urlencoded"},
        "body": {"a": 1, "b": {"c": [True, None]}},
    },
    "response": {
        "status": 402,
        "headers": {"Content-Type": "application/json", "Content-Length": "9"},
        "body": {"e": 1},
    },
    "setup": [
        {"request": {"method": "GET", "path": "/v1/y"}, "response": {"status": 200, "body": {"n": 1}}},
        {"request": {"method": "GET", "path": "/v1/z"}, "response": None},
        "a note",
    ],
    "fix": [{"request": {"method": "GET", "path": "/v1/w"}, "response": {"status": 200, "body": "text"}}],
}


def test_captures(tmp_path: Path) -> None:
    recording = read_recording(written(tmp_path, CAPTURE))
    (one,) = recording.exchanges
    assert (one.name, one.request.target, one.request_body) == (
        "a capture",
        "/v1/x?q=1",
        b"a=1&b%5Bc%5D%5B0%5D=true&b%5Bc%5D%5B1%5D=",
    )
    assert (one.response.headers, one.response_body) == ([("Content-Type", "application/json")], b'{"e":1}')
    assert recording.fetch(Lookup("/v1/y")).body == b'{"n":1}'
    assert recording.fetch(Lookup("/v1/w")).body == b"text"
    assert recording.fetch(Lookup("/v1/z")) == NO_ANSWER


def test_a_capture_of_the_least(tmp_path: Path) -> None:
    least = {"request": {"method": "GET", "path": "/"}, "response": {"status": 500, "body": "oops"}}
    (one,) = read_recording(written(tmp_path, least)).exchanges
    assert (one.name, one.request_body, one.response_body) == ("recorded", b"", b"oops")
    assert one.response.headers == [("Content-Type", "application/json")]


def test_flow_files(tmp_path: Path) -> None:
    from mitmproxy import http, io
    from mitmproxy.test import tflow, tutils

    def flow(method: bytes, path: bytes, status: int, content: bytes, *headers: tuple[bytes, bytes]) -> http.HTTPFlow:
        request = tutils.treq(method=method, path=path, content=b"\xff", timestamp_start=7.0)
        response = tutils.tresp(status_code=status, content=content, headers=http.Headers(headers))
        made: http.HTTPFlow = tflow.tflow(req=request, resp=response)
        return made

    path = tmp_path / "flows"
    packed = gzip.compress(b'{"n":1}', mtime=0)
    with path.open("wb") as file:
        writer = io.FlowWriter(file)  # type: ignore[no-untyped-call]  # untyped in mitmproxy
        writer.add(flow(b"POST", b"/v1/x?a", 400, b'{"e":1}', (b"X-B", b"\xe9"), (b"X-B", b"2")))
        writer.add(flow(b"GET", b"/v1/y", 200, packed, (b"content-encoding", b"gzip")))
        writer.add(tflow.tflow(resp=False))
        writer.add(tflow.ttcpflow())
    recording = read_recording(path)
    one, two = recording.exchanges
    assert (one.name, one.request.target, one.request_body, one.started) == ("POST /v1/x?a", "/v1/x?a", b"\xff", 7.0)
    assert (one.response.status, one.response.headers) == (400, [("X-B", "\xe9"), ("X-B", "2")])
    assert two.response_body == packed
    assert recording.fetch(Lookup("/v1/y")) == LookupAnswer(200, b'{"n":1}')


LOGGED = json.dumps(Entry(0.0, "x", "POST", "/v1/x", 400, "untouched", milliseconds=1.0).document()).encode() + b"\n"


@rows(
    ("data", "said"),
    [
        (b"", "1: neither JSON nor a flow file: "),
        (b'{\n"a": ]', "2: neither JSON nor a flow file: unexpected character"),
        (b"\x00\x01", "1: neither JSON nor a flow file: "),
        (b"[]", '1: expected HAR ("log"), or a capture ("request" and "response"), or a flow file'),
        (b"{}", '1: expected HAR ("log"), or a capture'),
        (b'{"log": {}}', "1: malformed: KeyError: 'entries'"),
        (b'{"log": {"entries": null}}', "1: malformed: TypeError: "),
        (b'{"log": {"entries": [{"request": {}, "response": {}}]}}', "1: malformed: KeyError: 'url'"),
        (json.dumps(har(entry(response={"status": "bad"}))).encode(), "1: malformed: ValueError: "),
        (
            json.dumps(har(entry(response={"content": {"encoding": "base64", "text": "*"}}))).encode(),
            "1: malformed: Error: ",
        ),
        (b'{"request": {}, "response": {}}', "1: malformed: KeyError: "),
        (b'{"request": [], "response": 1}', "1: malformed: "),
        (b"12:{not really a flow", "1: not a flow file: "),
        (b"5:hello,", "1: not a flow file: "),
        (b"2:{},", "1: not a flow file: "),
        (b"0:}", "1: not a flow file: "),
        (LOGGED, "1: this is a log of corrigible proxy --log: it has no bodies; record with mitmdump -w FILE"),
        (LOGGED * 2, "1: this is a log of corrigible proxy --log: it has no bodies; record with mitmdump -w FILE"),
        (b'{"time":"2026-01-01T00:00:00.000+00:00","dropped":2}\n', "1: this is a log of corrigible proxy --log: "),
    ],
)
def test_files_that_are_none(tmp_path: Path, data: bytes, said: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(AuthoringError) as caught:
        read_recording(path)
    assert str(caught.value).startswith(f"{path}:{said}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match=r"gone: cannot be read: No such file or directory$"):
        read_recording(tmp_path / "gone")


def test_nothing_recorded() -> None:
    assert Recording((), {}).fetch(Lookup("/")) == NO_ANSWER


def test_forms_are_flattened_as_they_are_nested() -> None:
    assert list(form_pairs({"a": {"b": [1, {"c": "x"}]}, "d": False})) == [
        ("a[b][0]", "1"),
        ("a[b][1][c]", "x"),
        ("d", "false"),
    ]


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
CALL: dict[str, Any] = {"method": "POST", "path": "/x", "headers": {}, "body": {}}
ANSWER: dict[str, Any] = {"status": 400, "headers": {}, "body": {}}


@rows(
    "document",
    [
        {"request": {**CALL, "headers": {"X-A": 5}}, "response": ANSWER},
        {"request": {**CALL, "headers": {"X-A": None}}, "response": ANSWER},
        {"request": {**CALL, "headers": ["a"]}, "response": ANSWER},
        {"request": {**CALL, "method": 7}, "response": ANSWER},
        {"request": {**CALL, "path": ["/x"]}, "response": ANSWER},
        {"request": CALL, "response": {**ANSWER, "status": "many"}},
        {"request": CALL, "response": {**ANSWER, "status": -1}},
        {"request": CALL, "response": {**ANSWER, "status": [1]}},
        {"request": CALL, "response": {**ANSWER, "headers": {"Content-Type": {}}}},
        {"request": CALL, "response": ANSWER, "setup": 7},
        {"request": CALL, "response": ANSWER, "setup": [{"request": 7, "response": {}}]},
        {"request": [], "response": []},
        har({"request": {"method": 5, "url": "http://h/x"}, "response": {"status": 400}}),
        har({"request": {"method": "GET", "url": 5}, "response": {"status": 400}}),
        har({"request": {"method": "GET", "url": "http://h/x", "headers": [{"name": "a"}]}, "response": {"status": 1}}),
        har(7),  # type: ignore[arg-type]  # mistyped on purpose
        {"log": {"entries": 7}},
    ],
)
def test_a_mistyped_or_nested_recording_is_told_in_one_line(tmp_path: Path, document: Any) -> None:
    file = tmp_path / "recorded.json"
    file.write_text(json.dumps(document), "utf-8")
    with pytest.raises(AuthoringError, match=r"recorded\.json:1: (malformed|neither)") as caught:
        read_recording(file)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [500, 1000, 1015])
def test_however_deep_a_recording_is_nobody_sees_a_traceback(tmp_path: Path, depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    call = f'{{"method": "POST", "path": "/x", "headers": {json.dumps(FORM)}, "body": {deep}}}'
    file = tmp_path / "recorded.json"
    file.write_text(f'{{"request": {call}, "response": {{"status": 400, "headers": {{}}, "body": {deep}}}}}', "utf-8")
    assert main(["translate", str(file), "--pack", "stripe", "--all"]) in (0, 2)
