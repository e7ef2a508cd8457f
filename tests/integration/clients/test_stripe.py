"""Users of Stripe's own SDKs find the feedback where they would look, and everything native as it was."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import stripe
from stripe import StripeClient

from corrigible.adapters.sandbox.runtimes import find_node, npm_folder
from corrigible.adapters.sandbox.server import Running
from tests._support.rows import rows

KEY = "sk_test_corrigible0000000001"


def client(server: Running, key: str = KEY) -> StripeClient:
    return StripeClient(key, base_addresses={"api": server.url}, max_network_retries=0)


def refund(server: Running) -> None:
    api = client(server).v1
    charge = api.charges.create(params={"amount": 1000, "currency": "usd", "source": "tok_visa"})
    api.refunds.create(params={"charge": charge.id, "amount": 700})
    api.refunds.create(params={"charge": charge.id, "amount": 500})


def missing(server: Running) -> None:
    client(server).v1.charges.create(params={"amount": 1000, "source": "tok_visa"})


def declined(server: Running) -> None:
    source = "tok_chargeDeclinedInsufficientFunds"
    client(server).v1.charges.create(params={"amount": 1000, "currency": "usd", "source": source})


def key_reused(server: Running) -> None:
    once: Any = {"idempotency_key": f"python-{server.port}"}
    api = client(server).v1.charges
    api.create(params={"amount": 1000, "currency": "usd", "source": "tok_visa"}, options=once)
    api.create(params={"amount": 1100, "currency": "usd", "source": "tok_visa"}, options=once)


def unauthorised(server: Running) -> None:
    client(server, "pk_test_corrigible000000").v1.charges.list()


def too_many(server: Running) -> None:
    client(server).v1.charges.create(params={"amount": 1000, "currency": "usd", "source": "tok_429"})


@dataclass(frozen=True)
class Refusal:
    """A call that is refused, and what its user gets."""

    call: Callable[[Running], None]
    python: type[stripe.StripeError]
    node: str
    action: str
    """Of the first suggestion."""

    @property
    def name(self) -> str:
        return self.call.__name__


REFUSALS = [
    Refusal(refund, stripe.InvalidRequestError, "StripeInvalidRequestError", "MODIFY_PARAMS"),
    Refusal(missing, stripe.InvalidRequestError, "StripeInvalidRequestError", "MODIFY_PARAMS"),
    Refusal(declined, stripe.CardError, "StripeCardError", "ESCALATE"),
    Refusal(key_reused, stripe.IdempotencyError, "StripeIdempotencyError", "MODIFY_PARAMS"),
    Refusal(unauthorised, stripe.AuthenticationError, "StripeAuthenticationError", "ESCALATE"),
    Refusal(too_many, stripe.RateLimitError, "StripeRateLimitError", "WAIT_AND_RETRY"),
]
each_refusal = rows("refusal", REFUSALS, ids=lambda refusal: refusal.name)


def caught(refusal: Refusal, server: Running) -> stripe.StripeError:
    with pytest.raises(stripe.StripeError) as info:
        refusal.call(server)
    return info.value


def native(error: stripe.StripeError, server: Running) -> dict[str, Any]:
    """Return all that an error says natively, but for what differs between any two calls."""
    assert error.error is not None
    members = {**plain(error.error), "code_of_exception": error.code, "status": error.http_status}
    members["param_of_exception"] = getattr(error, "param", None)
    members["message"] = str(error.user_message).replace(str(server.port), "PORT")  # the idempotency key has it
    members.pop("recovery_feedback", None)
    members["charge"] = members["charge"] is not None  # a declined charge has an id of its own
    return members


def feedback_in(error: stripe.StripeError) -> Any:
    """Return what a user reaches as `error.json_body`."""
    body: Any = error.json_body
    return body["recovery_feedback"]


def plain(value: Any) -> Any:
    """Return what the SDK wrapped as plain JSON."""
    return json.loads(str(value)) if isinstance(value, stripe.StripeObject) else value


class TestPython:
    @each_refusal
    def test_the_native_error_is_what_it_was(
        self, refusal: Refusal, stripe_server: Running, stripe_proxy: Running
    ) -> None:
        direct, proxied = caught(refusal, stripe_server), caught(refusal, stripe_proxy)
        assert type(direct) is refusal.python
        assert type(proxied) is refusal.python
        assert native(proxied, stripe_proxy) == native(direct, stripe_server)

    @each_refusal
    def test_the_feedback_is_in_the_body_and_the_error_object_refers_to_it(
        self, refusal: Refusal, stripe_proxy: Running
    ) -> None:
        error = caught(refusal, stripe_proxy)
        assert feedback_in(error)["suggestions"][0]["action"] == refusal.action
        inner: Any = error.error
        assert plain(inner.recovery_feedback) == {"$ref": "#/recovery_feedback"}

    def test_the_suggested_value_is_the_one_that_is_left(self, stripe_proxy: Running) -> None:
        error = caught(REFUSALS[0], stripe_proxy)
        suggestion = feedback_in(error)["suggestions"][0]
        assert suggestion["parameters"] == {"amount": 300}
        assert suggestion["safety"]["changes_intent"] is True

    def test_without_the_proxy_there_is_none(self, stripe_server: Running) -> None:
        error = caught(REFUSALS[0], stripe_server)
        assert error.error is not None
        assert not hasattr(error.error, "recovery_feedback")


@pytest.fixture(scope="module")
def seen_by_node(stripe_server: Running, stripe_proxy: Running) -> Mapping[str, Mapping[str, Any]]:
    """What stripe-node's user finds in each error: without and with the proxy."""
    folder = Path(__file__).parent / "node"
    modules = npm_folder("test-sdk-stripe", folder) / "node_modules"

    def run(server: Running) -> Any:
        command = [str(find_node().executable), str(folder / "refusals.js"), str(server.port)]
        environment = {**os.environ, "NODE_PATH": str(modules)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=True)
        return json.loads(done.stdout.replace(f"node-{server.port}", "node-PORT"))  # the idempotency key

    return {"direct": run(stripe_server), "proxied": run(stripe_proxy)}


class TestNode:
    @each_refusal
    def test_the_native_error_is_what_it_was(
        self, refusal: Refusal, seen_by_node: Mapping[str, Mapping[str, Any]]
    ) -> None:
        direct, proxied = seen_by_node["direct"][refusal.name], seen_by_node["proxied"][refusal.name]
        assert direct["class"] == proxied["class"] == refusal.node
        assert direct["instance"] is True
        assert {**proxied, "feedback": None} == direct

    @each_refusal
    def test_the_feedback_is_in_the_raw_error(
        self, refusal: Refusal, seen_by_node: Mapping[str, Mapping[str, Any]]
    ) -> None:
        feedback = seen_by_node["proxied"][refusal.name]["feedback"]
        assert feedback["suggestions"][0]["action"] == refusal.action
