"""Flask refuses with pages and texts, before it reads a body: the Link leads to what would do, and the retry passes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from corrigible.adapters.sandbox.runtimes import python_arguments
from corrigible.adapters.sandbox.server import Command, Server
from corrigible.client.httpx import CorrigibleTransport
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next, apply
from tests._support.raw_proxy import corrected
from tests._support.rows import rows

ORDER = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
}
PHOTO = {
    "type": "object",
    "required": ["image", "title"],
    "properties": {
        "image": {"type": "string", "format": "binary"},
        "title": {"type": "string"},
        "count": {"type": "integer"},
    },
}
OK = {"responses": {"200": {"description": "ok"}}}
DESCRIPTION = {
    "openapi": "3.0.3",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/orders": {
            "get": {"operationId": "list", **OK},
            "post": {
                "operationId": "create",
                "requestBody": {"required": True, "content": {"application/json": {"schema": ORDER}}},
                **OK,
            },
        },
        "/orders/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "patch": {"operationId": "change", **OK},
        },
        "/photos": {
            "post": {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": PHOTO}}}, **OK}
        },
        "/busy": {"get": {"operationId": "busy", **OK}},
    },
}
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    spec = tmp_path_factory.mktemp("spec") / "openapi.json"
    spec.write_text(json.dumps(DESCRIPTION))
    source = (Path(__file__).parents[1] / "_support" / "flask_service.py").read_text()
    with (
        Server("flask", "flask", "none", lambda port: Command(python_arguments(source, str(port)))).start() as service,
        # Flask refuses by the head alone: Envoy passes that as it is where the body is not there yet.
        corrected(service.url, spec=spec) as url,
    ):
        yield url


def sent(proxy: str, request: Request, client: httpx.Client | None = None) -> httpx.Response:
    """Send a request as a client does that holds its document: texts as they are, all else as its media type says."""
    media, body = request.headers.get("content-type", ""), request.body
    content: dict[str, Any] = {} if body is None else {"json": body}
    if isinstance(body, str):
        content = {"content": body.encode()}
    elif media == FORM:
        content = {"data": body}
    send = httpx.request if client is None else client.request
    return send(request.method, f"{proxy}{request.path}", headers=dict(request.headers), **content)


def feedback_of(proxy: str, answer: httpx.Response) -> Any:
    return httpx.get(f"{proxy}{answer.links['recovery-feedback']['url']}", timeout=60).json()


REPAIRED = rows(
    ("request_", "status", "right"),
    [
        (Request("POST", "/orders", headers={"content-type": JSON}, body='{"name": "a",}'), 400, {"name": "a"}),
        (Request("POST", "/orders", headers={"content-type": "text/plain"}, body='{"name": "a"}'), 415, {"name": "a"}),
        (Request("POST", "/orders", body='{"name": "a"}'), 415, {"name": "a"}),
        (
            Request("POST", "/orders", headers={"content-type": FORM}, body={"name": "a", "count": "3"}, form=True),
            415,
            {"name": "a", "count": 3},
        ),
        (Request("POST", "/orders", headers={"content-type": JSON}, body="{'name': 'a'}"), 400, {"name": "a"}),
        (Request("POST", "/order", headers={"content-type": JSON}, body={"name": "a"}), 404, {"name": "a"}),
    ],
)


@REPAIRED
def test_it_is_repaired_and_accepted(proxy: str, request_: Request, status: int, right: Any) -> None:
    refused = sent(proxy, request_)
    assert (refused.status_code, refused.headers["content-type"]) == (status, "text/html; charset=utf-8")
    following = apply(feedback_of(proxy, refused), request_)
    assert isinstance(following, Next), following
    assert following.request.body == right
    accepted = sent(proxy, following.request)
    assert (accepted.status_code, accepted.json()) == (200, right)


@REPAIRED
def test_a_client_repairs_it_through_the_link(proxy: str, request_: Request, status: int, right: Any) -> None:
    policy: dict[str, Any] = {"on_refusal": "confirm", "confirm": lambda _: True}
    with httpx.Client(transport=CorrigibleTransport(**policy), timeout=60) as client:
        answer = sent(proxy, request_, client)
    assert (answer.status_code, answer.json()) == (200, right)
    assert answer.extensions["corrigible"].corrections


@pytest.mark.parametrize(
    ("body", "words"), [('{"name": "a"', "line 1, column 13"), ("{name}", "line 1, column 2"), ("", "body")]
)
def test_what_only_the_caller_can_write_is_asked_for(proxy: str, body: str, words: str) -> None:
    request = Request("POST", "/orders", headers={"content-type": JSON}, body=body)
    feedback = feedback_of(proxy, sent(proxy, request))
    assert isinstance(apply(feedback, request), NeedsInput)
    (question,) = (one for one in feedback["suggestions"] if "placeholders" in one)  # beside what may be meant
    assert question["placeholders"][0]["pointer"].startswith("/body")
    assert words in question["message"]


IMAGE = ("a.png", b"\x89PNG\r\n--x\r\n\x00", "image/png")


@pytest.mark.parametrize(
    ("fields", "right"),
    [({"titel": "a"}, {"title": "a"}), ({"title": "a", "count": "3.0"}, {"title": "a", "count": "3"})],
)
def test_a_field_of_a_multipart_form_is_repaired(proxy: str, fields: Any, right: Any) -> None:
    refused = httpx.post(f"{proxy}/photos", data=fields, files={"image": IMAGE}, timeout=60)
    assert refused.status_code == 400
    following = apply(refused.json()["recovery_feedback"], Request("POST", "/photos", body=fields, form=True))
    assert isinstance(following, Next)
    accepted = httpx.post(f"{proxy}/photos", data=following.request.body, files={"image": IMAGE}, timeout=60)
    assert accepted.json() == {**right, "image": "a.png"}


@pytest.mark.parametrize("files", [{"img": IMAGE}, {"imag": IMAGE}, {"other": IMAGE}])
def test_a_file_is_asked_for(proxy: str, files: Any) -> None:
    feedback = httpx.post(f"{proxy}/photos", data={"title": "a"}, files=files, timeout=60).json()["recovery_feedback"]
    outcome = apply(feedback, Request("POST", "/photos", body={"title": "a"}, form=True), confirm=True)
    assert isinstance(outcome, NeedsInput)
    assert [one.pointer for one in outcome.placeholders] == ["/body/image"]
    assert not any("patch" in one for one in feedback["suggestions"])


def test_a_content_type_that_does_not_name_the_boundary_is_put_right(proxy: str) -> None:
    request = httpx.Request("POST", f"{proxy}/photos", data={"title": "a"}, files={"image": IMAGE})
    body, media = request.read(), request.headers["content-type"]
    sent = Request("POST", "/photos", headers={"content-type": "multipart/form-data"}, body="")
    refused = httpx.post(f"{proxy}/photos", content=body, headers=sent.headers, timeout=60)
    following = apply(refused.json()["recovery_feedback"], sent)
    assert isinstance(following, Next)
    assert following.request.headers["content-type"] == media
    assert httpx.post(f"{proxy}/photos", content=body, headers=following.request.headers, timeout=60).status_code == 200


def test_a_wait_is_told(proxy: str) -> None:
    feedback = feedback_of(proxy, sent(proxy, Request("GET", "/busy")))
    assert (feedback["recovery"], feedback["retry"]["after_seconds"]) == ("transient", 3)


def test_a_page_that_is_served_stays(proxy: str) -> None:
    assert "link" not in sent(proxy, Request("GET", "/orders")).headers
