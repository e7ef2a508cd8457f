"""Through the proxy and without it: the same bytes of the real sandbox, for every success and for all in mode none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from corrigible.adapters.sandbox.server import Running
from corrigible.proxy.core.mode import Mode
from tests._support.raw_proxy import corrected
from tests._support.rows import rows

KEY = {"Authorization": "Bearer sk_test_sandboxbytes00000"}
AUTHORIZED = b"Authorization: Bearer sk_test_sandboxbytes00000\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
HOP_BY_HOP = re.compile(rb"^(?:date|connection|keep-alive):[^\r]*\r\n", re.IGNORECASE | re.MULTILINE)
REFUSALS = [
    ("POST", "/v1/charges", b"amount=10&currency=usd&source=tok_visa"),
    ("POST", "/v1/charges", b"amount=1000&currency=usx&source=tok_visa"),
    ("POST", "/v1/products", b"name=G&type=goods"),
    ("GET", "/v1/charges?starting_after=ch_nope", b""),
    ("GET", "/v1/nothing/here", b""),
]


@pytest.fixture(scope="module", params=["none", "traditional", "verbose", "reflective"])
def proxy(request: pytest.FixtureRequest, stripe_server: Running) -> Iterator[tuple[str, int]]:
    """A mode, and the port of a proxy in it."""
    with corrected(stripe_server.url, "stripe", mode=Mode(request.param)) as url:
        yield request.param, int(url.rpartition(":")[2])


@pytest.fixture(scope="module")
def charge(stripe_server: Running) -> str:
    form = {"amount": "1000", "currency": "usd", "source": "tok_visa"}
    answer = httpx.post(f"{stripe_server.url}/v1/charges", data=form, headers=KEY, timeout=60)
    made: str = answer.json()["id"]
    return made


def ask(bench: Any, port: int, method: str, target: str, body: bytes = b"") -> bytes:
    answer: bytes = bench.ask(port, target, method, body, AUTHORIZED + (FORM if body else b""))
    assert answer.startswith(b"HTTP/1.1 ")
    return HOP_BY_HOP.sub(b"", answer)


@rows("target", ["/v1/charges/{}", "/v1/charges?limit=1"])
@rows("method", ["GET", "HEAD"])
def test_a_success_is_the_same_in_every_mode(
    method: str, target: str, bench: Any, charge: str, stripe_server: Running, proxy: tuple[str, int]
) -> None:
    named = target.format(charge)
    direct = ask(bench, stripe_server.port, method, named)
    assert direct.startswith(b"HTTP/1.1 200 ")
    assert ask(bench, proxy[1], method, named) == direct


@rows(("method", "target", "body"), REFUSALS)
def test_a_refusal_is_the_same_in_mode_none_and_only_there(
    method: str, target: str, body: bytes, bench: Any, stripe_server: Running, proxy: tuple[str, int]
) -> None:
    mode, port = proxy
    direct = ask(bench, stripe_server.port, method, target, body)
    proxied = ask(bench, port, method, target, body)
    assert (proxied == direct) is (mode == "none")
    assert proxied.split(b"\r\n")[0] == direct.split(b"\r\n")[0]
    assert (b"recovery_feedback" in proxied) is (mode == "reflective")
