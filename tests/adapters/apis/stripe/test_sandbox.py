"""The Stripe-compatible servers start from their locks and answer as their kind does."""

from __future__ import annotations

import httpx
import pytest

from corrigible.adapters.apis.stripe.sandbox import SERVERS
from corrigible.adapters.sandbox.server import Server

KEY = {"Authorization": "Bearer sk_test_corrigible0000000001"}


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_it_starts_on_loopback_and_creates_a_customer(server: Server) -> None:
    with server.start() as running:
        answer = httpx.post(f"{running.url}/v1/customers", data={"email": "dee@example.org"}, headers=KEY, timeout=60)
        assert answer.status_code == 200
        assert answer.json()["object"] == "customer"
        assert answer.json()["email"] == "dee@example.org"


def test_the_default_is_the_one_that_keeps_refund_state() -> None:
    assert [server.name for server in SERVERS] == ["stateful-mock", "localstripe", "emulate"]
