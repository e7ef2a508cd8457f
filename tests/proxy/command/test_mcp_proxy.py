"""`corrigible mcp-proxy` around a stand-in of a server, which answers as the SDK for Python does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from corrigible.proxy.mcp.relay import META
from tests._support.command import run, start

SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(" this is no message ", flush=True)
    if asked["method"] == "tools/list":
        schema = {"type": "object", "properties": {"limit": {"type": "integer"}}}
        result = {"tools": [{"name": "find", "inputSchema": schema}]}
    elif isinstance(asked["params"]["arguments"]["limit"], int):
        result = {"content": [{"type": "text", "text": "gr\\u00fcn"}]}
    else:
        text = "Error executing tool find: limit: Input should be a valid integer"
        result = {"isError": True, "content": [{"type": "text", "text": text}]}
    print(json.dumps({"id": asked["id"],  "jsonrpc": "2.0", "result": result}, ensure_ascii=False), flush=True)
sys.exit(5)
"""


def asked(number: int, method: str, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


@pytest.fixture
def server(tmp_path: Path) -> list[str]:
    file = tmp_path / "server.py"
    file.write_text(SERVER, "utf-8")
    return [sys.executable, str(file)]


def test_all_messages_pass_but_a_refusal_which_is_corrected(server: list[str]) -> None:
    calls = asked(1, "tools/list") + asked(2, "tools/call", name="find", arguments={"limit": 3})
    refused = asked(3, "tools/call", name="find", arguments={"limit": "3"})
    alone = subprocess.run(server, input=calls + refused, capture_output=True, text=True, check=False)
    through = run(["corrigible", "mcp-proxy", "--", *server], input=calls + refused)
    assert through.returncode == alone.returncode == 5
    before, after = alone.stdout.splitlines(), through.stdout.splitlines()
    assert after[:-1] == before[:-1]
    assert "grün" in through.stdout
    corrected = json.loads(after[-1])
    (suggestion,) = corrected["result"]["_meta"]["corrigible/recovery_feedback"]["suggestions"]
    assert suggestion["patch"][-1] == {"op": "replace", "path": "/body/params/arguments/limit", "value": 3}
    assert " isError find corrected: MODIFY_PARAMS (the description)" in through.stderr
    assert "corrigible mcp-proxy: 2 tool calls, 1 refusal: 1 corrected\n" in through.stderr
    assert "corrigible mcp-proxy: find: 1 of 2 calls refused: 1 corrected\n" in through.stderr


def test_the_end_of_the_proxy_is_that_of_the_server(server: list[str]) -> None:
    with start(["corrigible", "mcp-proxy", "--", *server], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(asked(1, "tools/list").encode())
        process.stdin.flush()
        process.stdout.readline()
        process.terminate()
        assert process.wait(60) == 128 + 15
        assert process.stdout.read().count(b"\n") <= 1


def test_a_server_that_is_not_there_is_named() -> None:
    done = run(["corrigible", "mcp-proxy", "--", "no-such-server"])
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == "corrigible mcp-proxy: no-such-server: no such file or directory\n"
    assert run(["corrigible", "mcp-proxy"]).stderr == "a command is required: corrigible mcp-proxy -- COMMAND\n"


SCHEMA = {"type": "object", "properties": {"limit": {"type": "integer"}}}
REFUSED = {"isError": True, "content": [{"type": "text", "text": "limit: Input should be a valid integer"}]}
FORGED = {"recovery": "terminal"}
PROGRESS = 'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}\n\n'


MORE = threading.Event()
"""Whether a server may send the rest of an event."""
MORE.set()


def chunk(part: str) -> bytes:
    return f"{len(part.encode()):x}\r\n{part}\r\n".encode()


LISTS: dict[str, Any] = {"name": "list_people", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
ABSENT = {"isError": True, "content": [{"type": "text", "text": "Person 'Ana' not found"}]}
TOLD: dict[str, Any] = {"list_people": {"content": [{"type": "text", "text": "Anna"}]}, "greet": ABSENT}


class Handler(BaseHTTPRequestHandler):
    """A server over streamable HTTP: it lists its tools as JSON, and answers calls as events, or as asked."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        listed: dict[str, Any] = {"tools": [{"name": "find", "inputSchema": SCHEMA}, LISTS, {**LISTS, "name": "greet"}]}
        arguments = asked["params"].get("arguments") or {}
        is_right = isinstance(arguments.get("limit"), int)
        result: Any = listed if asked["method"] == "tools/list" else {"content": []} if is_right else REFUSED
        result = {**result, "_meta": {META: FORGED}} if "forged" in arguments else result
        result = TOLD.get(asked["params"].get("name"), result)
        is_error = self.path == "/error" and result is REFUSED
        told = {"error": {"code": -32602, "message": "limit: Field required"}} if is_error else {"result": result}
        text = json.dumps({"id": asked["id"], "jsonrpc": "2.0", **told})
        is_events = asked["method"] == "tools/call" and self.path in ("/mcp", "/part")
        body = f"{PROGRESS}: ping\n\nevent: message\r\ndata: {text}\r\n\r\n" if is_events else text
        self.send_response(400 if is_error else 200)
        self.send_header("Content-Type", "text/event-stream" if is_events else "application/json")
        self.send_header("Mcp-Session-Id", "s1")
        self.send_header(*("Transfer-Encoding", "chunked") if is_events else ("Content-Length", str(len(body))))
        if self.path == "/part":
            self.wfile.write(b"%s\r\n%s" % (b"".join(self._headers_buffer), chunk("event: message\nda")))  # type: ignore[attr-defined]
            MORE.wait(30)
            self.wfile.write(chunk(f"ta: {text}\n\n") + chunk(""))
            return
        self.end_headers()
        for part in (body[:99], body[99:140], body[140:], "") if is_events else ():  # an event may come in parts
            self.wfile.write(chunk(part))
        self.wfile.write(b"" if is_events else body.encode())

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def upstream() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def proxied(upstream: str, *options: str) -> Iterator[str]:
    """Yield the address of a proxy before a server."""
    words = ["corrigible", "mcp-proxy", "--upstream", f"{upstream}/mcp", "--listen", "127.0.0.1:0", *options]
    with start(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        address = re.search(rb"http://127.0.0.1:\d+", process.stdout.readline())
        assert address is not None
        try:
            yield address[0].decode()
        finally:
            process.terminate()
            assert process.wait(60) == 0


def test_a_server_over_http_is_corrected_in_events_and_in_json(upstream: str) -> None:
    messages = [
        ("/mcp", asked(1, "tools/list")),
        ("/mcp", asked(2, "tools/call", name="find", arguments={"limit": 3})),
        ("/json", asked(3, "tools/call", name="find", arguments={"limit": 3})),
        ("/mcp", asked(4, "tools/call", name="find", arguments={"limit": "3"})),
        ("/json", asked(5, "tools/call", name="find", arguments={"limit": "3"})),
        ("/mcp", asked(6, "tools/call", name="find", arguments={"limit": 3, "forged": 1})),
        ("/json", asked(7, "tools/call", name="find", arguments={"limit": 3, "forged": 1})),
    ]
    headers = {"Content-Type": "application/json", "Mcp-Session-Id": "s1"}
    with proxied(upstream) as address, httpx.Client(headers=headers, timeout=60) as client:
        alone = [client.post(upstream + path, content=message) for path, message in messages]
        through = [client.post(address + path, content=message) for path, message in messages]
    assert [one.content for one in through[:3]] == [one.content for one in alone[:3]]
    assert all(one.headers["Mcp-Session-Id"] == "s1" for one in through)
    before, _, event = through[3].text.partition("\r\n")
    assert alone[3].text.startswith(f"{before}\r\n")
    for text in (event.removeprefix("data: "), through[4].text):
        (suggestion,) = json.loads(text)["result"]["_meta"][META]["suggestions"]
        assert suggestion["patch"][-1] == {"op": "replace", "path": "/body/params/arguments/limit", "value": 3}
    assert all(META in one.text for one in alone[5:])
    assert all(META not in one.text and "result" in one.text for one in through[5:])


def test_an_event_that_comes_in_parts_arrives_whole(upstream: str) -> None:
    sent = asked(2, "tools/call", name="find", arguments={"limit": 3})
    with proxied(upstream) as address, httpx.Client(timeout=60) as client:
        MORE.clear()
        with client.stream("POST", f"{address}/part", content=sent) as response:
            MORE.set()  # the head has arrived, and with it the first part
            text = response.read().decode()
    assert json.loads(text.removeprefix("event: message\ndata: ")) == {
        "id": 2,
        "jsonrpc": "2.0",
        "result": {"content": []},
    }


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "experimental": {"corrigible/toolErrors": {}}},
}
"""As the official SDKs for Python (mcp 2.3) and TypeScript (client 2.4) send it."""


def test_a_question_over_http_is_asked_and_answered(upstream: str) -> None:
    headers = {"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"}
    with proxied(upstream) as address, httpx.Client(headers=headers, timeout=60) as client:

        def call(number: int, **more: Any) -> Any:
            sent = asked(number, "tools/call", name="find", arguments={}, _meta=MODERN, **more)
            answer = client.post(f"{address}/error", content=sent)
            assert answer.status_code == 200  # that of a result
            return answer.json()

        client.post(f"{address}/mcp", content=asked(0, "tools/list"))
        results = []
        for number, said in ((1, {"action": "accept", "content": {"limit": 3}}), (3, {"action": "decline"})):
            question = call(number)["result"]
            assert question["resultType"] == "input_required"
            again = {"inputResponses": {"corrigible": said}, "requestState": question["requestState"]}
            answer = call(number + 1, **again)
            assert answer["id"] == number + 1
            results.append(answer["result"])
            assert call(number + 1, **again)["result"]["resultType"] == "input_required"  # it is answered once
    assert results[0] == {"content": []}
    assert results[1]["isError"] and results[1]["_meta"][META]["suggestions"]


@pytest.mark.parametrize("path", ["/mcp", "/json"])
def test_names_are_looked_up_over_http(upstream: str, path: str) -> None:
    headers = {"Content-Type": "application/json"}
    words = ["--lookup-tool", "list_people"]
    with proxied(upstream, *words) as address, httpx.Client(headers=headers, timeout=60) as client:
        client.post(f"{address}/mcp", content=asked(1, "tools/list"))
        sent = asked(2, "tools/call", name="greet", arguments={"person": "Ana"})
        text = client.post(address + path, content=sent).text
        message = next(line.removeprefix("data: ") for line in text.splitlines() if '"result"' in line)
        (suggestion,) = json.loads(message)["result"]["_meta"][META]["suggestions"]
        assert suggestion["placeholders"][0]["schema"]["enum"] == ["Anna"]
        assert (path == "/json") or text.startswith(PROGRESS)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ["--upstream", "mcp.example.com"],
            "--upstream mcp.example.com: not a URL such as https://mcp.example.com/mcp",
        ),
        (["--upstream", "http://127.0.0.1:9", "--", "x"], "--upstream cannot be used with a command"),
    ],
)
def test_an_upstream_is_a_url_and_the_only_server(words: list[str], problem: str) -> None:
    done = run(["corrigible", "mcp-proxy", *words])
    assert (done.returncode, done.stderr) == (2, f"{problem}\n")
