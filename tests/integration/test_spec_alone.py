"""No rule, only the description: FastAPI refuses in its own words, the proxy says what would do, the retry passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from corrigible.adapters.sandbox.runtimes import python_arguments
from corrigible.adapters.sandbox.server import Command, Server
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next, apply
from tests._support.raw_proxy import corrected
from tests._support.rows import rows

GOOD: dict[str, Any] = {"room": "double", "nights": 3, "arrival": "2026-12-01", "guests": [{"name": "Ann", "age": 33}]}


def _service(port: int) -> Command:
    return Command(
        python_arguments((Path(__file__).parents[1] / "_support" / "fastapi_service.py").read_text(), str(port))
    )


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    spec = tmp_path_factory.mktemp("spec") / "openapi.json"
    with Server("bookings", "bookings", "none", _service).start() as service:
        spec.write_bytes(httpx.get(f"{service.url}/openapi.json", timeout=60).content)
        with corrected(service.url, spec=spec) as url:
            yield url


def sent(proxy: str, request: Request) -> httpx.Response:
    return httpx.request(
        request.method, f"{proxy}{request.path}", params=dict(request.query), json=request.body, timeout=60
    )


REPAIRED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"room": "Double"}, {"room": "double"}),
    ({"room": "doubel"}, {"room": "double"}),
    ({"nights": 31}, {"nights": 30}),
    ({"arrival": "2026/12/01"}, {"arrival": "2026-12-01"}),
    ({"brekfast": True}, {"breakfast": True}),
    ({"note": "a note that is far too long"}, {"note": "a note that is far t"}),
]


@rows(("wrong", "right"), REPAIRED)
def test_it_is_repaired_and_accepted(proxy: str, wrong: dict[str, Any], right: dict[str, Any]) -> None:
    request = Request("POST", "/bookings", body={**GOOD, **wrong})
    refused = sent(proxy, request)
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["loc"][0] == "body"  # FastAPI's own words stay
    following = apply(refused.json()["recovery_feedback"], request, confirm=True)
    assert isinstance(following, Next), refused.text
    kept = {name: value for name, value in GOOD.items() if name not in wrong}
    assert following.request.body == {**kept, **right}
    assert sent(proxy, following.request).status_code == 201


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ({"room": "cave"}, "/body/room"),
        ({"nights": "three nights"}, "/body/nights"),
        ({"nights": 0}, "/body/nights"),
        ({"guests": []}, "/body/guests"),
        ({"guests": [{"name": "Ann"}]}, "/body/guests/0/age"),
    ],
)
def test_what_only_the_caller_knows_is_asked_at_its_place(proxy: str, wrong: dict[str, Any], pointer: str) -> None:
    request = Request("POST", "/bookings", body={**GOOD, **wrong})
    feedback = sent(proxy, request).json()["recovery_feedback"]
    assert isinstance(apply(feedback, request), NeedsInput)
    assert [p["pointer"] for s in feedback["suggestions"] for p in s["placeholders"]] == [pointer]


def test_a_query_is_repaired(proxy: str) -> None:
    request = Request("GET", "/bookings", {"state": "opened"})
    following = apply(sent(proxy, request).json()["recovery_feedback"], request)
    assert isinstance(following, Next)
    assert sent(proxy, following.request).json() == ["open", "10"]


def test_a_path_is_repaired(proxy: str) -> None:
    request = Request("GET", "/booking")
    following = apply(sent(proxy, request).json()["recovery_feedback"], request)
    assert isinstance(following, Next)
    assert (following.request.path, sent(proxy, following.request).status_code) == ("/bookings", 200)


def test_a_redirect_keeps_the_caller_at_the_proxy(proxy: str) -> None:
    """FastAPI redirects to the path without the slash, at its own address: clients drop credentials on that way."""
    accepted = httpx.post(
        f"{proxy}/bookings/", json=GOOD, headers={"Authorization": "Bearer me"}, follow_redirects=True, timeout=60
    )
    (redirect,) = accepted.history
    assert (redirect.status_code, redirect.headers["location"]) == (307, "/bookings")
    assert (accepted.status_code, str(accepted.url)) == (201, f"{proxy}/bookings")
    assert accepted.request.headers["authorization"] == "Bearer me"


def test_a_success_stays_as_it_is(proxy: str) -> None:
    answer = sent(proxy, Request("POST", "/bookings", body=GOOD))
    assert (answer.status_code, answer.json()) == (201, {**GOOD, "breakfast": False, "note": ""})
