"""Services without rules and without details, known by their descriptors only: what their prose leads to.

Each case has its truth: what a caller who reads the message, and knows nothing else, would do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

from corrigible.client.grpc import feedback_of
from tests._support.plain_services import MODELS, WORKERS, PlainServices, compiled
from tests._support.rows import rows

GET, DELETE, LIST, START = (f"/{WORKERS}/{name}" for name in ("GetWorker", "DeleteWorker", "ListWorkers", "Start"))
WRONG = "/fleet.v1.Wrkers/GetWorker"
INFER = f"/{MODELS}/Infer"
OK: dict[str, Any] = {"workflowId": "a", "taskQueue": "q"}
NAMED: dict[str, Any] = {"modelName": "sum"}


def asked(place: str, **schema: Any) -> tuple[str, str, dict[str, Any]]:
    return ("ask", place, schema)


def tensor(name: str, kind: str = "FP32") -> dict[str, Any]:
    return {**NAMED, "inputs": [{"name": "first", "datatype": "FP32"}, {"name": name, "datatype": kind}]}


CASES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "a value that is not found": (GET, {"workerId": "w-7"}, asked("/body/workerId")),
    "a value in brackets": (GET, {"parent": "man", "workerId": "w-1"}, asked("/body/parent")),
    "a value without quotes": (INFER, {"modelName": "smu"}, asked("/body/modelName")),
    "a version": (
        INFER,
        {"modelName": "sum", "modelVersion": "v9"},
        ("questions", "/body/modelName", "/body/modelVersion"),
    ),
    "a namespace": (START, {**OK, "namespace": "defalt"}, asked("/body/namespace")),
    "a process": (INFER, {**NAMED, "processId": "ordr"}, asked("/body/processId")),
    "deleting what is not there": (DELETE, {"workerId": "w-9"}, ("ask or terminal", "/body/workerId")),
    "running already": (START, {**OK, "workflowId": "order-17"}, ("another", "/body/workflowId")),
    "exists already": (START, {**OK, "workflowId": "order-18"}, ("another", "/body/workflowId")),
    "an identifier that must match": (
        START,
        {**OK, "workflowId": "a b"},
        ("flagged", {**OK, "workflowId": "a-b"}),
    ),
    "not set": (START, {"taskQueue": "q"}, asked("/body/workflowId")),
    "missing": (START, {"workflowId": "a"}, asked("/body/taskQueue")),
    "one of a list": (START, {**OK, "runtime": "pyton"}, ("fixed", {**OK, "runtime": "python"})),
    "none of a list": (START, {**OK, "runtime": "java"}, asked("/body/runtime", enum=["python", "golang"])),
    "a label": (START, {**OK, "labels": {"env": "porduction"}}, asked("/body/labels/env", enum=["dev", "prod"])),
    "two fields": (START, {**OK, "start": "9", "end": "1"}, ("questions", "/body/end", "/body/start")),
    "a document": (INFER, {**NAMED, "variables": "x"}, asked("/body/variables")),
    "an input": (INFER, tensor("secnd"), asked("/body/inputs/1/name")),
    "an input that is not near": (INFER, tensor("other"), asked("/body/inputs/1/name")),
    "a page": (LIST, {"pageSize": 5000}, ("flagged", {"pageSize": 1000})),
    "out of range": (LIST, {"pageSize": 700}, ("flagged", {"pageSize": 500})),
    "an order": (LIST, {"orderBy": "nam"}, ("fixed", {"orderBy": "name"})),
    "a filter": (LIST, {"filter": "name"}, asked("/body/filter")),
    "unknown, about the request": (START, {**OK, "attempts": 11}, ("flagged", {**OK, "attempts": 10})),
    "internal, about the request": (START, {**OK, "attempts": -1}, asked("/body/attempts", minimum=0)),
    "unknown, a crash": (GET, {"workerId": "crash"}, None),
    "unknown, a key that is not there": (GET, {"workerId": "w-404"}, asked("/body/workerId")),
    "permission": (GET, {"workerId": "mine-1"}, ("terminal",)),
    "precondition": (DELETE, {"workerId": "w-1"}, ("terminal",)),
    "deadline of a read": (LIST, {"parent": "slow"}, ("wait",)),
    "unavailable": (LIST, {"parent": "lost"}, ("wait",)),
    "exhausted": (START, {**OK, "taskQueue": "full"}, ("terminal",)),
    "aborted": (START, {**OK, "taskQueue": "held"}, ("wait",)),
    "unauthenticated": (START, {**OK, "taskQueue": "who"}, ("terminal",)),
    "a method": ("/fleet.v1.Workers/GetWorkr", {}, ("method", GET)),
    "a service": ("/fleet.v1.Wrkers/GetWorker", {}, ("method", GET)),
    "a package": ("/flet.v1.Workers/GetWorker", {}, ("method", GET)),
    "a version of a package": ("/fleet.v2.Workers/GetWorker", {}, ("method", GET)),
    "no package": ("/Workers/GetWorker", {}, ("method", GET)),
    "both misspelt": ("/fleet.v1.Model/Infr", {}, ("method", INFER)),
    "a service of another kind": ("/grpc.health.v1.Health/Check", {}, ("no method",)),
}


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> PlainServices:
    return PlainServices(compiled(tmp_path_factory.mktemp("plain")))


@pytest.fixture(scope="module")
def plain_proxy(services: PlainServices, start_proxy: Callable[..., int]) -> Iterator[int]:
    with services.served() as port:
        yield start_proxy(port, "--descriptors", str(services.descriptor_set))


def feedback(port: int, services: PlainServices, method: str, document: Any) -> dict[str, Any] | None:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel, pytest.raises(grpc.RpcError) as refusal:
        stub: Any = channel.unary_unary(method)
        stub(services.bytes_of(method, document), timeout=20)
    told = feedback_of(refusal.value)
    return None if told is None else told.document()


def outcome(told: Any, method: str, document: dict[str, Any]) -> Any:
    """Return what a literal reader makes of feedback: the kind, and the place or the next request."""
    import jsonpatch

    if told is None:
        return None
    first = told["suggestions"][0]
    if first["action"] in ("ESCALATE", "NO_RECOVERY_AVAILABLE", "ALREADY_DONE"):
        return ("terminal",)
    if first["action"] == "WAIT_AND_RETRY":
        return ("wait",)
    safety = first.get("safety", {})
    is_flagged = bool(safety.get("changes_intent") or safety.get("requires_confirmation") or "group" in first)
    if "patch" in first:
        done = jsonpatch.apply_patch({"method": method, "path": "", "body": document}, first["patch"])
        if done["method"] != method:
            return ("method", done["method"])
        return ("flagged" if is_flagged else "fixed", done["body"])
    if len(first["placeholders"]) > 1:
        return ("questions", *(one["pointer"] for one in first["placeholders"]))
    (question,) = first["placeholders"]
    if is_flagged:
        return ("another", question["pointer"])
    return ("ask", question["pointer"], question.get("schema", {}))


def agrees(have: Any, truth: Any) -> bool:
    if truth is None or have is None:
        return have is None and (truth is None or truth == ("no method",))
    match truth[0]:
        case "ask" if len(truth) == 3:
            return bool(have[:2] == truth[:2] and truth[2].items() <= have[2].items())
        case "ask":
            return bool(have[:2] == truth)
        case "ask or terminal":
            return bool(have == ("terminal",) or have[:2] == ("ask", truth[1]))
        case "no method":
            return bool(have[0] in ("ask", "terminal"))
        case _:
            return bool(have == truth)


@rows("name", CASES)
def test_prose_leads_to_the_place(name: str, services: PlainServices, plain_proxy: int) -> None:
    method, document, truth = CASES[name]
    told = feedback(plain_proxy, services, method, document)
    have = outcome(told, method, document)
    assert agrees(have, truth), (have, truth)


def test_the_first_call_waits_for_reflection(services: PlainServices, start_proxy: Callable[..., int]) -> None:
    with services.served(reflects=True) as port:
        told = feedback(start_proxy(port), services, "/fleet.v1.Wrkers/GetWorker", {})
    assert outcome(told, "/fleet.v1.Wrkers/GetWorker", {}) == ("method", GET)


def test_an_upstream_that_comes_after_the_proxy_is_read_before_it_is_judged(
    services: PlainServices, start_proxy: Callable[..., int]
) -> None:
    """The proxy finds nobody to ask at first."""
    with services.served(reflects=True) as port:
        pass
    proxy = start_proxy(port)
    with pytest.raises(grpc.RpcError), grpc.insecure_channel(f"127.0.0.1:{proxy}") as channel:
        stub: Any = channel.unary_unary(GET)
        stub(b"", timeout=60)
    with services.served(reflects=True, port=port):
        end = time.monotonic() + 60
        have: Any = ("wait",)
        while have == ("wait",) and time.monotonic() < end:  # until the proxy's channel has connected again
            have = outcome(feedback(proxy, services, WRONG, {}), WRONG, {})
            time.sleep(0.05)
    assert have == ("method", GET)
