"""What each policy sends of a correction: a table that both clients run (Python, TypeScript), and its properties."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.client.driver import run
from corrigible.client.policy import Policy, Proposal
from corrigible.client.sent_request import SentRequest
from tests._support.refused_call import ACCEPTED, VERIFIED, Server, refusal, yes
from tests._support.rows import rows

ORIGIN: Final = "https://ann:A-secret-7@api.example.com"
VECTORS: Final[list[dict[str, Any]]] = json.loads(Path(__file__).with_name("policies.json").read_text("utf-8"))[
    "vectors"
]


def request_of(vector: dict[str, Any]) -> SentRequest:
    request = vector["request"]
    body = request.get("text") or (json.dumps(request["body"]) if "body" in request else "")
    headers = tuple(request["headers"].items())
    if "body" in request and "content-type" not in request["headers"]:
        headers = (*headers, ("content-type", "application/json"))
    return SentRequest(request["method"], ORIGIN + request["target"], headers, body.encode())


def suggestion_of(vector: dict[str, Any], **safety: bool) -> dict[str, Any]:
    members: dict[str, Any] = {name: vector[name] for name in ("patch", "steps") if name in vector}
    certain = {"applicability": "MACHINE_APPLICABLE", "verification": VERIFIED}
    parameters = vector.get("parameters", {})
    return {"action": "MODIFY_PARAMS", "parameters": parameters, **members, **certain, "safety": safety}


def outcome_of(vector: dict[str, Any], way: str, **safety: bool) -> tuple[Server, list[Proposal], str]:
    asked: list[Proposal] = []
    members: dict[str, Any] = {name: vector[name] for name in ("operations", "credentials") if name in vector}

    def confirm(proposal: Proposal) -> bool:
        asked.append(proposal)
        return True

    if way == "confirm":
        members["confirm"] = confirm
    policy = Policy(on_refusal=way, cap="MAYBE_INCORRECT", **members)
    server = Server(*[ACCEPTED] * 20)
    answer = refusal(suggestion_of(vector, **safety))
    if "prefix" in vector:
        answer = replace(answer, headers=(*answer.headers, ("Recovery-Feedback-Prefix", vector["prefix"])))
    outcome = run(request_of(vector), answer, policy, server)
    return server, asked, outcome.not_sent


@rows("vector", VECTORS, ids=lambda vector: str(vector["name"]))
def test_what_is_sent(vector: dict[str, Any]) -> None:
    want, count = vector["want"], 1 + len(vector.get("steps", ()))
    is_shown = want in ("confirmed", "too much")
    repaired, _, why = outcome_of(vector, "repair", changes_intent=is_shown)
    assert len(repaired.requests) == (count if want == "unasked" else 0), why
    server, asked, why_not = outcome_of(vector, "confirm", changes_intent=is_shown)
    is_sent = want not in ("never", "too much")
    assert (len(server.requests), len(asked)) == (count * is_sent, want in ("asked", "confirmed")), why_not
    if not is_sent:
        assert why_not or vector.get("patch", [{}])[0].get("path") in ("/path", "/method")
        assert vector.get("why", "") in why_not
    for one in asked:
        assert "more" not in one.text or "more than" in one.text


SECRETS: Final = (
    "A-secret-7",
    "K-secret-1",
    "T-secret-2",
    "H-secret-3",
    "C-secret-cookie-4",
    "P-secret-5",
    "L-secret-6",
)
_POINTERS: Final = st.sampled_from(
    [
        *("", "/method", "/path", "/query", "/headers", "/body", "/query/api_key", "/query/page", "/query/_method"),
        *("/headers/x-shop-key", "/headers/authorization", "/headers/cookie", "/headers/x-original-url", "/body/sort"),
        *("/body/auth", "/body/auth/password", "/body/list", "/body/list/0", "/body/list/1", "/body/list/1/token"),
        *("/body/list/-", "/body/new", "/headers/x-new", "/query/new", "/body/Password", "/query/ApiKey"),
    ]
)
_VALUES: Final = st.one_of(
    st.sampled_from(["DELETE", "PUT", "GET", "/v1/orders", "/v1/orders/", "/v1/%6frders", "/v1/x", "//a", *SECRETS]),
    st.recursive(
        st.none() | st.booleans() | st.integers(0, 9) | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from(["a", "token", "api_key", "page", *SECRETS]), inner, max_size=2)
        ),
        max_leaves=4,
    ),
)
_OPERATIONS: Final = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy"]),
        "path": _POINTERS,
        "from": _POINTERS,
        "value": _VALUES,
    }
)
_STEPS: Final = st.fixed_dictionaries(
    {"method": st.sampled_from(["GET", "POST", "DELETE"]), "path": st.sampled_from(["/v1/orders", "/v1/a", "/b"])},
    optional={"query": st.just({"api_key": "x"}) | st.just({"a": "T-secret-2"}), "body": _VALUES},
)
_SUGGESTIONS: Final = st.fixed_dictionaries(
    {"patch": st.lists(_OPERATIONS, min_size=1, max_size=4), "steps": st.lists(_STEPS, max_size=1)},
    optional={"parameters": st.dictionaries(st.sampled_from(["auth", "sort", "api_key"]), _VALUES, max_size=2)},
)
_LISTED: Final = ["POST /v1/orders", "GET /v1/orders", "DELETE /v1/orders"]


def texts_of(request: SentRequest) -> dict[str, int]:
    """Return how often each secret stands in a request, wherever."""
    wire = "\n".join(
        [request.url, *(f"{name}: {value}" for name, value in request.headers), (request.body or b"").decode()]
    )
    return {secret: wire.count(secret) for secret in SECRETS}


@pytest.mark.slow
@given(st.lists(st.lists(_SUGGESTIONS, min_size=1, max_size=3), min_size=1, max_size=2), st.booleans())
def test_whatever_is_suggested_no_credential_moves_and_nothing_else_is_called(
    feedbacks: list[list[dict[str, Any]]], is_confirmed: bool
) -> None:
    certain = {"action": "MODIFY_PARAMS", "parameters": {}, "applicability": "MACHINE_APPLICABLE"}
    answers = [refusal(*({**certain, "verification": VERIFIED, **one} for one in each)) for each in feedbacks]
    first = request_of({"request": VECTORS[0]["request"]})
    ways: dict[str, Any] = {"on_refusal": "confirm", "confirm": yes} if is_confirmed else {"on_refusal": "repair"}
    policy = Policy(**ways, cap="MAYBE_INCORRECT", operations=_LISTED, max_corrections=3)
    server = Server(*answers[1:], *[ACCEPTED] * 50)
    run(first, answers[0], policy, server)
    for one in server.requests:
        counted, before = texts_of(one), texts_of(first)
        assert one.url.startswith(f"{ORIGIN}/v1/orders")
        assert one.header("authorization") == first.header("authorization")
        assert one.header("x-shop-key") == first.header("x-shop-key")
        assert counted["K-secret-1"] == 1 and "api_key=K-secret-1" in one.url
        assert all(counted[secret] <= before[secret] for secret in SECRETS)
        assert "_method" not in one.url and not one.header("x-original-url")
        if not is_confirmed:
            assert one.method in ("POST", "GET")
            assert one.method == "GET" or counted == before
