"""The checks of the profiles graphql and mcp: a server that speaks the contract passes, and each fault is caught."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.conformance.reference.upstream import Received, Script, Upstream, answer
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpClient
from tests._support.rows import rows

from .made import checks_of
from .speaking_server import Speaking
from .stand_in import findings, proxied

MEMBER = "recovery_feedback"
PACKS = Path(__file__).parent / "packs"
CHECKS = {profile: checks_of(f"{profile}/") for profile in ("graphql", "mcp")}
Edit = Callable[[Any], object]


def judged(profile: str, edit: Edit, status: int = 200) -> dict[str, set[str]]:
    """Return what is found of a server whose answers are edited."""
    speaking = Speaking(profile)

    def spoiled(received: Received) -> Script:
        part = speaking(received).parts[0]
        assert isinstance(part, bytes)
        body = json.loads(part.partition(b"\r\n\r\n")[2])
        edit(body)
        return answer(status, body)

    with Upstream(spoiled) as server:
        return findings(CHECKS[profile], Subject("producer", profile, target=HttpClient(server.url)))


def judged_proxy(profile: str, edit: Edit) -> dict[str, set[str]]:
    """Return what is found of a proxy that forwards everything, its answers edited."""

    def forwarding(received: Received) -> Script:
        got = HttpClient(upstream.url).send(received.sent)
        media = [("Content-Type", got.header("content-type") or "")] if got.header("content-type") else []
        body = got.body
        if media and media[0][1] == "application/json":
            value = json.loads(body)
            edit(value)
            body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        return answer(got.status, body, media, reason=got.reason)

    with Upstream() as upstream, Upstream(forwarding) as proxy:
        subject = Subject(
            "proxy", profile, target=HttpClient(proxy.url), upstream=upstream, direct=HttpClient(upstream.url)
        )
        checks = [check for check in CHECKS[profile] if check.id.endswith("/successes")]
        return findings(checks, subject)


def nothing(body: Any) -> None:
    """Leave it."""


@pytest.mark.parametrize("profile", CHECKS)
def test_a_server_that_speaks_the_contract_passes(profile: str) -> None:
    assert judged(profile, nothing) == {}


@pytest.mark.parametrize("profile", CHECKS)
def test_a_server_that_says_nothing_is_found_out_by_the_place_alone(profile: str) -> None:
    def silent(body: Any) -> None:
        for error in body.get("errors", ()):
            error.get("extensions", {}).pop(MEMBER, None)
            if error.get("extensions") == {}:
                del error["extensions"]
        content = body.get("result", {}).get("content", [])
        content[:] = [item for item in content if MEMBER not in item["text"]]
        if "error" in body and body["error"]["data"].pop(MEMBER) and not body["error"]["data"]:
            del body["error"]["data"]

    check, requirement = {"graphql": ("in-extensions", "SRF-GQL-01"), "mcp": ("text-item", "SRF-MCP-02")}[profile]
    assert judged(profile, silent) == {f"{profile}/{check}": {requirement}}


def each(edit: Edit) -> Edit:
    return lambda body: [edit(error) for error in body["errors"]]


def at_the_top(body: Any) -> None:
    for error in body["errors"]:
        found = error.get("extensions", {}).pop(MEMBER, None)
        if found is not None:
            body[MEMBER] = found
        if error.get("extensions") == {}:
            del error["extensions"]


def in_the_error(error: Any) -> None:
    if MEMBER in error.get("extensions", {}):
        error[MEMBER] = error["extensions"][MEMBER]


def other_value(error: Any) -> None:
    for suggestion in error.get("extensions", {}).get(MEMBER, {}).get("suggestions", ()):
        for operation in suggestion.get("patch", ()):
            operation.update({"value": 3} if operation["op"] == "replace" else {})


GRAPHQL: dict[str, tuple[Edit, str, str]] = {
    "at the top": (at_the_top, "in-extensions", "SRF-GQL-01"),
    "another message": (each(lambda error: error.update(message="no")), "errors-kept", "SRF-GQL-01"),
    "no locations": (each(lambda error: error.pop("locations", None)), "errors-kept", "SRF-GQL-01"),
    "another code": (each(lambda e: "code" in e.get("extensions", {}) and e["extensions"].update(code="X")),
                     "errors-kept", "SRF-GQL-01"),
    "data dropped": (lambda body: body.pop("data", None), "errors-kept", "SRF-GQL-01"),
    "more errors": (lambda body: body["errors"].append({"message": "a hint"}), "errors-kept", "SRF-GQL-01"),
    "another value": (each(other_value), "next-request", "SRF-COR-14"),
}  # fmt: skip


@rows("fault", GRAPHQL)
def test_a_fault_of_a_graphql_server_is_caught(fault: str) -> None:
    edit, check, requirement = GRAPHQL[fault]
    found = judged("graphql", edit)
    if fault == "more errors":  # the new one has no feedback
        assert found.pop("graphql/in-extensions") == {"SRF-GQL-01"}
    if fault == "another value":  # and it is not the one that was asked for
        assert found.pop("graphql/intent") == {"SRF-OPS-09"}
    assert found == {f"graphql/{check}": {requirement}}


def test_feedback_in_the_error_itself_is_caught() -> None:
    found = judged("graphql", each(in_the_error))
    assert found == {"graphql/in-extensions": {"SRF-GQL-01"}}


@pytest.mark.parametrize("profile", CHECKS)
def test_another_status_is_caught(profile: str) -> None:
    name = {"graphql": "errors-kept", "mcp": "kind-kept"}[profile]
    assert judged(profile, nothing, status=400) == {f"{profile}/{name}": {"SRF-TRN-03"}}


def items(edit: Edit) -> Edit:
    def all_of_ours(body: Any) -> None:
        for item in body.get("result", {}).get("content", ()):
            if MEMBER in item["text"]:
                edit(item)

    return all_of_ours


def result(edit: Edit) -> Edit:
    return lambda body: "result" in body and edit(body["result"])


def error(edit: Edit) -> Edit:
    return lambda body: "error" in body and edit(body["error"])


def to_protocol_error(body: Any) -> None:
    if "result" in body:
        body["error"] = {"code": -32602, "message": body.pop("result")["content"][0]["text"]}


MCP: dict[str, tuple[Edit, str, str]] = {
    "isError flipped": (result(lambda r: r.update(isError=False)), "kind-kept", "SRF-MCP-01"),
    "isError dropped": (result(lambda r: r.pop("isError")), "kind-kept", "SRF-MCP-01"),
    "another id": (lambda body: body.update(id=8), "kind-kept", "SRF-MCP-01"),
    "an id as text": (lambda body: body.update(id="7"), "kind-kept", "SRF-MCP-01"),
    "another code": (error(lambda e: e.update(code=-32603)), "kind-kept", "SRF-MCP-01"),
    "another error message": (error(lambda e: e.update(message="no")), "kind-kept", "SRF-MCP-01"),
    "another text": (result(lambda r: r["content"][0].update(text="no")), "answer-kept", "SRF-TRN-05"),
    "data dropped": (error(lambda e: e["data"].pop("errors", None)), "answer-kept", "SRF-TRN-05"),
    "prose": (items(lambda item: item.update(text="Send 2. recovery_feedback")), "text-item", "SRF-MCP-02"),
    "other JSON": (items(lambda i: i.update(text="{\"hint\": \"recovery_feedback\"}")), "text-item", "SRF-MCP-02"),
    "no text item": (items(lambda item: item.update(type="resource")), "text-item", "SRF-MCP-02"),
    "structured content": (result(lambda r: r.update(structuredContent={"x": 1})), "structured-content", "SRF-MCP-03"),
    "another value": (items(lambda i: i.update(text=i["text"].replace('"value": 2', '"value": 3'))),
                      "next-request", "SRF-COR-14"),
}  # fmt: skip


@rows("fault", MCP)
def test_a_fault_of_an_mcp_server_is_caught(fault: str) -> None:
    edit, check, requirement = MCP[fault]
    found = judged("mcp", edit)
    if fault == "another value":  # and it is not the one that was asked for
        assert found.pop("mcp/intent") == {"SRF-OPS-09"}
    assert found == {f"mcp/{check}": {requirement}}


def test_a_tool_error_made_a_protocol_error_is_caught() -> None:
    found = judged("mcp", to_protocol_error)
    assert found.pop("mcp/kind-kept") == {"SRF-MCP-01"}
    assert set(found) <= {"mcp/text-item", "mcp/structured-content"}


@pytest.mark.parametrize("profile", CHECKS)
def test_a_proxy_that_leaves_successes_alone_passes(profile: str) -> None:
    assert judged_proxy(profile, nothing) == {}


@pytest.mark.parametrize("profile", CHECKS)
def test_feedback_on_success_is_caught(profile: str) -> None:
    found = judged_proxy(profile, lambda body: body.update({MEMBER: None}))
    assert found == {f"{profile}/successes": {"SRF-TRN-01"}}


@pytest.mark.parametrize("profile", CHECKS)
def test_our_own_proxy_passes(profile: str) -> None:
    with proxied(profile, PACKS / f"shop-{profile}", hold=0.1) as subject:
        assert findings(CHECKS[profile], subject) == {}
