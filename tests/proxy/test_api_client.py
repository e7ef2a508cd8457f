"""Request documents go out the way a client of the API would send them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from corrigible.proxy.demo.scene import Answer, Caller
from corrigible.schema.document import form_pairs
from corrigible.schema.exchange import Request
from tests._support.rows import rows


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        names = ("content-type", "authorization", "idempotency-key")
        seen = {
            "target": self.path,
            "body": body.decode(),
            "headers": {name: self.headers[name] for name in names if name in self.headers},
        }
        answer = json.dumps(seen).encode()
        self.send_response(418)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def sent(url: str, request: Request) -> Any:
    with Caller(url, {"authorization": "Bearer k"}) as caller:
        answer = caller.send(request)
    assert (answer.status, answer.succeeded, answer.feedback) == (418, False, None)
    return answer.body


def test_a_form_is_nested_in_brackets(echo: str) -> None:
    body = {"a": {"b": [1, {"c": True}]}, "d": None, "e": "x y&z"}
    seen = sent(echo, Request("POST", "/v1/things", body=body, form=True))
    assert seen["body"] == "a%5Bb%5D%5B0%5D=1&a%5Bb%5D%5B1%5D%5Bc%5D=true&d=&e=x+y%26z"
    assert seen["headers"] == {
        "authorization": "Bearer k",
        "content-type": "application/x-www-form-urlencoded",
    }


def test_json_and_query_and_headers_of_the_document_are_sent(echo: str) -> None:
    request = Request(
        "POST", "/v1/things", {"limit": 3}, {"idempotency-key": "k-1", "content-type": "text/plain"}, {"a": 1}
    )
    seen = sent(echo, request)
    assert seen["target"] == "/v1/things?limit=3"
    assert json.loads(seen["body"]) == {"a": 1}
    assert seen["headers"]["idempotency-key"] == "k-1"
    assert seen["headers"]["content-type"] == "application/json"


def test_without_a_body_nothing_says_what_kind_it_is(echo: str) -> None:
    assert sent(echo, Request("GET", "/v1/things", form=True))["headers"] == {"authorization": "Bearer k"}


def test_the_document_may_replace_the_credentials_of_the_caller(echo: str) -> None:
    seen = sent(echo, Request("GET", "/", headers={"authorization": "Bearer other"}))
    assert seen["headers"]["authorization"] == "Bearer other"


@rows(
    ("status", "body", "succeeded"),
    [
        (200, {"id": "ch_1"}, True),
        (204, "", True),
        (200, {"success": True}, True),
        (200, {"success": False}, False),
        (302, "", False),
        (400, {"error": {}}, False),
    ],
)
def test_success_is_2xx_without_a_refusal_inside(status: int, body: object, succeeded: bool) -> None:
    assert Answer(status, "", body).succeeded is succeeded


def test_feedback_is_an_object_at_the_top() -> None:
    assert Answer(400, "", {"recovery_feedback": {"type": "x"}}).feedback == {"type": "x"}
    assert Answer(400, "", {"recovery_feedback": "x"}).feedback is None
    assert Answer(400, "", "recovery_feedback").feedback is None


def test_numbers_keep_their_text_in_forms() -> None:
    assert list(form_pairs({"a": 1.5, "b": 10**20, "c": [], "d": False})) == [
        ("a", "1.5"),
        ("b", "100000000000000000000"),
        ("d", "false"),
    ]
