"""Checks of the levels Core, Operational and Trusted: each fault is caught by its check.

Faults are put in by a relay between the suite and the proxy, or between the suite and nothing at all. That our proxy
holds all of them is what `conformance check` says in `.ci/run`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from corrigible.conformance.model.outcome import Missing
from corrigible.conformance.reference.api import Shop
from corrigible.conformance.reference.upstream import Received, Script, Upstream, answer
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import HttpClient, HttpRequest, HttpResponse
from tests._support.rows import rows

from .made import checks_of, sampled, told
from .stand_in import InProcess, shop_fronted

CHECKS = {
    check.id: check
    for check in checks_of("core/", "operations/", "retry/", "trust/")
    if "problem+json" in check.profiles and check.id != "core/second-judge"
}
SLOW = "trust/injection"
Spoil = Callable[[dict[str, Any], HttpRequest, HttpResponse], None]


@pytest.fixture(scope="module")
def proxy() -> Iterator[Subject]:
    with shop_fronted() as subject:
        yield subject


def findings(check: Check, subject: Subject) -> list[tuple[str, str]]:
    found = list(told(check.run(subject)))
    assert {one.requirement for one in found} <= set(check.requirements)
    return [(one.requirement, one.message) for one in found]


@contextmanager
def relayed(
    subject: Subject,
    spoil: Callable[[Any, HttpRequest, HttpResponse], Any] = lambda body, sent, got: None,
    *,
    forward: Callable[[HttpRequest], HttpRequest] = lambda sent: sent,
    added: Callable[[HttpRequest], list[tuple[str, str]]] = lambda sent: [],
    status: Callable[[HttpRequest, int], int] = lambda sent, status: status,
) -> Iterator[Subject]:
    """Put a relay before a subject. `spoil` changes JSON answers, `forward` requests."""
    wire = subject.wire

    def says(received: Received) -> Script:
        got = wire.send(forward(received.sent))
        body: Any = got.body
        if got.body.startswith(b"{"):
            decoded = json.loads(got.body)
            spoil(decoded, received.sent, got)
            body = json.dumps(decoded, separators=(",", ":"), ensure_ascii=False).encode()
        kept = [(n, v) for n, v in got.headers if n.lower() not in ("content-length", "transfer-encoding")]
        return answer(status(received.sent, got.status), body, [*kept, *added(received.sent)])

    with Upstream(says) as relay:
        yield Subject(
            "proxy",
            subject.profile,
            target=InProcess(relay),
            upstream=subject.upstream,
            direct=subject.direct,
            seed=next(SEEDS),
        )


SEEDS = count(100)
"""Every relay has callers of its own, so that no loop goes on from one test to the next."""


def suggestion(edit: Callable[[dict[str, Any]], object]) -> Spoil:
    """Spoil every suggestion."""

    def spoil(body: dict[str, Any], sent: HttpRequest, got: HttpResponse) -> None:
        for one in body.get("recovery_feedback", {}).get("suggestions", ()):
            edit(one)

    return spoil


def member(edit: Callable[[dict[str, Any]], object]) -> Spoil:
    """Spoil the feedback itself."""

    def spoil(body: dict[str, Any], sent: HttpRequest, got: HttpResponse) -> None:
        if isinstance(body.get("recovery_feedback"), dict):
            edit(body["recovery_feedback"])

    return spoil


def without_tests(one: dict[str, Any]) -> None:
    if "patch" in one:
        one["patch"] = [op for op in one["patch"] if op["op"] != "test"]


def another_currency(one: dict[str, Any]) -> None:
    for op in one.get("patch", ()):
        if op["op"] == "replace" and op["value"] == "eur":
            op["value"] = one["parameters"]["currency"] = "gbp"


def another_way(one: dict[str, Any]) -> None:
    for op in one.get("patch", ()):
        if op["op"] == "replace" and op["value"] == "bicycle":
            op["value"] = one["parameters"]["shipping"]["method"] = "submarine"


def quoting(body: dict[str, Any], sent: HttpRequest, got: HttpResponse) -> None:
    if "recovery_feedback" in body:
        body["recovery_feedback"]["suggestions"][0]["message"] = body["error"]["message"]


def quoting_a_header(body: dict[str, Any], sent: HttpRequest, got: HttpResponse) -> None:
    if "recovery_feedback" in body and sent.header("x-api-key"):
        body["recovery_feedback"]["message"] += f" You are {sent.header('x-api-key')}."


def speaking_of_success(body: dict[str, Any], sent: HttpRequest, got: HttpResponse) -> None:
    if got.status < 400:
        body["recovery_feedback"] = {"type": "confidence_signal", "message": "Fine.", "suggestions": []}


def silent_about_state(body: dict[str, Any], sent: HttpRequest, got: HttpResponse) -> None:
    if got.status == 422:
        body.pop("recovery_feedback", None)


def renaming_codes(body: dict[str, Any], sent: HttpRequest, got: HttpResponse) -> None:
    if "verbose" in (sent.header("prefer") or "") and body.get("validation_errors"):
        body["validation_errors"][0]["code"] = "SOMETHING"


def numbered() -> Spoil:
    numbers = count()
    return member(lambda said: said.update(message=f"Refusal number {next(numbers)}."))


def remembering() -> Spoil:
    """Answer the same request with what was said the first time, whoever asks."""
    kept: dict[bytes, Any] = {}

    def spoil(body: dict[str, Any], sent: HttpRequest, got: HttpResponse) -> None:
        if got.status >= 400:
            body["recovery_feedback"] = kept.setdefault(sent.body, body.get("recovery_feedback"))

    return spoil


ALWAYS = ("Prefer", "recovery-feedback=reflective")
EVIL = {"status": "verified", "method": "dry_run"}

FAULTS: dict[str, tuple[str, str, Spoil]] = {
    "it is silent about what rules know": ("core/present", "SRF-COR-01", silent_about_state),
    "its types are its own": ("core/type", "SRF-COR-02", member(lambda said: said.update(type="advice"))),
    "it says nothing": ("core/message", "SRF-COR-03", member(lambda said: said.update(message=""))),
    "it suggests nothing": ("core/suggestions", "SRF-COR-04", member(lambda said: said.update(suggestions=[]))),
    "its actions are its own": ("core/actions", "SRF-COR-05", suggestion(lambda one: one.update(action="FIX_IT"))),
    "it has no parameters": ("core/parameters", "SRF-COR-06", suggestion(lambda one: one.pop("parameters"))),
    "its parameters are not the registered ones": (
        "core/parameters-fit",
        "SRF-COR-16",
        suggestion(lambda one: one.update(parameters={"amount": "all"})),
    ),
    "it corrects what was right": ("core/absent-on-success", "SRF-COR-07", speaking_of_success),
    "codes depend on the mode": ("core/same-in-every-mode", "SRF-COR-09", renaming_codes),
    "it throws dice": ("core/deterministic", "SRF-COR-10", numbered()),
    "it answers one fault of two": (
        "core/each-answered",
        "SRF-COR-11",
        member(lambda said: said.update(suggestions=said["suggestions"][:1])),
    ),
    "it has an end and goes on": (
        "core/terminal-alone",
        "SRF-COR-12",
        member(lambda said: said["suggestions"].append(said["suggestions"][0])),
    ),
    "suggestions do not say what they are for": (
        "core/messages",
        "SRF-COR-13",
        suggestion(lambda one: one.pop("message")),
    ),
    "what it suggests is accepted and wrong": ("core/mends", "SRF-COR-14", suggestion(another_currency)),
    "its patches are none": (
        "operations/valid",
        "SRF-OPS-01",
        suggestion(lambda one: [op.update(op="set") for op in one.get("patch", ())]),
    ),
    "its patches are for another request": (
        "operations/apply",
        "SRF-OPS-02",
        suggestion(lambda one: one.get("patch", []).insert(0, {"op": "test", "path": "/body/stale", "value": 1})),
    ),
    "it edits arrays unguarded": ("operations/guarded", "SRF-OPS-03", suggestion(without_tests)),
    "its outcome is refused by the description": (
        "operations/described",
        "SRF-OPS-05",
        suggestion(lambda one: one.get("patch", []).append({"op": "add", "path": "/body/xyzzy", "value": 1})),
    ),
    "patch and parameters differ": (
        "operations/agree",
        "SRF-OPS-06",
        suggestion(lambda one: one["parameters"].update(currency="gbp")),
    ),
    "alternatives look like repairs": (
        "operations/alternatives",
        "SRF-OPS-07",
        suggestion(lambda one: one.pop("group", 0)),
    ),
    "an alternative is none": ("operations/alternatives", "SRF-OPS-07", suggestion(another_way)),
    "everything is sure": (
        "operations/earned",
        "SRF-OPS-08",
        suggestion(lambda one: one.update(applicability="MACHINE_APPLICABLE")),
    ),
    "a clamp goes unsaid": ("operations/flagged", "SRF-OPS-09", suggestion(lambda one: one.pop("safety", 0))),
    "patches add up": (
        "operations/idempotent",
        "SRF-OPS-10",
        suggestion(lambda one: one.update(patch=[{"op": "add", "path": "/body/lines/-", "value": {}}])),
    ),
    "it touches credentials": (
        "operations/credentials",
        "SRF-OPS-11",
        suggestion(lambda one: one.get("patch", []).append({"op": "add", "path": "/headers/cookie", "value": "a"})),
    ),
    "waits are lost": (
        "retry/passed-on",
        "SRF-RTY-01",
        member(lambda said: said.get("retry", {}).pop("after_seconds", 0)),
    ),
    "writes are repeated": (
        "retry/not-blindly",
        "SRF-RTY-02",
        member(lambda said: said.update(retry={"same_request": True, "max_attempts": 3})),
    ),
    "an end has a wait": (
        "retry/not-after-the-end",
        "SRF-RTY-03",
        member(lambda said: said.update(retry={"after_seconds": 1})),
    ),
    "repeating has no end": (
        "retry/bounded",
        "SRF-RTY-04",
        member(lambda said: said.get("retry", {}).pop("max_attempts", 0)),
    ),
    "keys stay": ("retry/keys", "SRF-RTY-05", member(lambda said: said.get("retry", {}).pop("idempotency_key", 0))),
    "it repeats what the upstream writes": (SLOW, "SRF-SEC-01", quoting),
    "its texts hide something": ("trust/clean", "SRF-SEC-02", member(lambda said: said.update(message="a\u200bb"))),
    "nobody knows where it is from": ("trust/evidence", "SRF-SEC-03", suggestion(lambda one: one.pop("evidence", 0))),
    "it names look-ups it never made": (
        "trust/evidence",
        "SRF-SEC-03",
        suggestion(lambda one: one.get("evidence", {}).update(lookups=["GET /v1/secrets/{name}"])),
    ),
    "it repeats a key": ("trust/secrets", "SRF-SEC-05", quoting_a_header),
    "it repeats a key of a provocation": ("trust/no-secret", "SRF-SEC-05", quoting_a_header),
    "it tells what somebody else may read": ("trust/no-oracle", "SRF-SEC-06", remembering()),
    "everything is verified": ("trust/claims", "SRF-SEC-09", suggestion(lambda one: one.update(verification=EVIL))),
    "it is confident without trials": (
        "trust/confidence",
        "SRF-SEC-10",
        suggestion(lambda one: one.update(confidence={"basis": "observed", "value": 0.99})),
    ),
}


@pytest.mark.parametrize("fault", sampled(FAULTS, lambda fault: FAULTS[fault][1][:7]))
def test_a_fault_is_caught(fault: str, proxy: Subject) -> None:
    check, requirement, spoil = FAULTS[fault]
    with relayed(proxy, spoil) as faulty:
        assert any(one.requirement == requirement for one in CHECKS[check].run(faulty))


def always_reflective(sent: HttpRequest) -> HttpRequest:
    return HttpRequest(sent.method, sent.target, (*(h for h in sent.headers if h[0] != "Prefer"), ALWAYS), sent.body)


def as_somebody(name: Callable[[], str]) -> Callable[[HttpRequest], HttpRequest]:
    def forward(sent: HttpRequest) -> HttpRequest:
        others = tuple(h for h in sent.headers if h[0].lower() != "authorization")
        return HttpRequest(sent.method, sent.target, (*others, ("Authorization", name())), sent.body)

    return forward


def test_feedback_in_every_mode_is_caught(proxy: Subject) -> None:
    with relayed(proxy, forward=always_reflective) as faulty:
        assert findings(CHECKS["core/absent-in-other-modes"], faulty)


def test_a_status_that_depends_on_the_mode_is_caught(proxy: Subject) -> None:
    def status(sent: HttpRequest, native: int) -> int:
        return 409 if native == 422 and "verbose" in (sent.header("prefer") or "") else native

    with relayed(proxy, status=status) as faulty:
        found = findings(CHECKS["core/same-in-every-mode"], faulty)
    assert found and all("status" in said for _, said in found)


def test_a_secret_in_a_header_that_was_added_is_caught(proxy: Subject) -> None:
    with relayed(proxy, added=lambda sent: [("X-Caller", sent.header("x-api-key") or "nobody")]) as faulty:
        assert {requirement for requirement, _ in findings(CHECKS["trust/secrets"], faulty)} == {"SRF-SEC-05"}


def test_a_breaker_that_never_breaks_is_caught(proxy: Subject) -> None:
    numbers = count()
    with relayed(proxy, forward=as_somebody(lambda: f"Bearer somebody-{next(numbers)}")) as faulty:
        for name in ("stubborn", "obedient", "oscillating", "next-alternative", "insisting"):
            assert findings(CHECKS[f"trust/loop/{name}"], faulty), name
        assert not findings(CHECKS["trust/loop/strangers"], faulty)


def test_a_breaker_that_counts_what_nobody_saw_is_caught(proxy: Subject) -> None:
    with relayed(proxy, forward=always_reflective) as faulty:
        assert {one for one, _ in findings(CHECKS["trust/loop/uncounted"], faulty)} == {"SRF-SEC-08"}


def test_a_breaker_that_takes_every_mistake_for_the_same_is_caught(proxy: Subject) -> None:
    seen: dict[str | None, int] = {}

    def counting(body: dict[str, Any], sent: HttpRequest, got: HttpResponse) -> None:
        who = sent.header("authorization")
        seen[who] = seen.get(who, 0) + 1
        if seen[who] > 3 and "recovery_feedback" in body:
            body["recovery_feedback"]["loop"] = {"attempt": seen[who], "action": "escalate"}

    with relayed(proxy, counting) as faulty:
        assert {one for one, _ in findings(CHECKS["trust/loop/mistakes"], faulty)} == {"SRF-SEC-08"}


def test_a_next_alternative_that_is_the_same_is_caught(proxy: Subject) -> None:
    with relayed(
        proxy,
        member(lambda said: said.update(loop={"attempt": 2, "action": "next_alternative"})),
        forward=as_somebody(lambda: f"Bearer new-{next(SEEDS)}"),
    ) as faulty:
        assert {one for one, _ in findings(CHECKS["trust/loop/never-again"], faulty)} == {"SRF-SEC-08"}


def test_a_breaker_that_takes_strangers_for_one_is_caught(proxy: Subject) -> None:
    with relayed(proxy, forward=as_somebody(lambda: "Bearer everybody")) as faulty:
        assert findings(CHECKS["trust/loop/strangers"], faulty)


LOOKING: dict[str, tuple[str, Callable[[HttpRequest, str], list[HttpRequest]]]] = {
    "as nobody": ("authorization", lambda sent, other: [HttpRequest("GET", "/v1/orders/ord_1")]),
    "as somebody else": (
        "authorization",
        lambda sent, other: [HttpRequest("GET", "/v1/orders/ord_1", (("Authorization", "Bearer operator"),))],
    ),
    "by writing": (
        "besides the call",
        lambda sent, other: [
            HttpRequest("POST", "/v1/orders/ord_5/confirm", tuple(h for h in sent.headers if h[0] == "Authorization"))
        ],
    ),
    "where the caller's values lead": (
        "made up",
        lambda sent, other: [
            HttpRequest("GET", "/v1/orders/../../admin", tuple(h for h in sent.headers if h[0] == "Authorization"))
        ],
    ),
}


@pytest.mark.parametrize(("word", "asks"), LOOKING.values(), ids=LOOKING.keys())
def test_a_look_up_that_is_not_the_callers_is_caught(
    word: str, asks: Callable[[HttpRequest, str], list[HttpRequest]], proxy: Subject
) -> None:
    def forward(sent: HttpRequest) -> HttpRequest:
        for asked in asks(sent, ""):
            InProcess(proxy.suite_upstream).send(asked)
        return sent

    with relayed(proxy, forward=forward) as faulty:
        found = findings(CHECKS["trust/lookups"], faulty)
    assert found and all(requirement == "SRF-SEC-07" for requirement, _ in found)
    assert any(word in said for _, said in found)


def test_following_a_link_of_the_upstream_to_another_origin_is_caught(proxy: Subject) -> None:
    def following(body: dict[str, Any], sent: HttpRequest, got: HttpResponse) -> None:
        link = str(body.get("error", {}).get("help", ""))
        if link.startswith("http://127.0.0.1"):
            authority = link.split("/")[2]
            HttpClient(f"http://{authority}").send(HttpRequest("GET", "/h"))

    with relayed(proxy, following) as faulty:
        found = findings(CHECKS["trust/lookups"], faulty)
    assert any("another origin" in said for _, said in found)


MUTE = {
    *("core/absent-on-success", "core/each-answered", "core/unknown-is-no-end"),
    *("trust/loop/strangers", "trust/loop/never-again"),
}
"""What holds for somebody who never says anything."""


def test_who_says_nothing_hears_one_sentence_from_each_check() -> None:
    with Upstream(Shop()) as upstream:
        wire = InProcess(upstream)
        plain = Subject("proxy", "http-json", target=wire, upstream=upstream, direct=wire)
        for check in CHECKS.values():
            found = findings(check, plain)
            assert len(found) == (0 if check.id in MUTE else 1), (check.id, found)
            assert all("recovery_feedback" in said for _, said in found), found


@pytest.fixture(scope="module")
def producer(proxy: Subject) -> Subject:
    """Our proxy with the API behind it, as somebody who knows neither of them sees it."""
    lines = [{"sku": "tea", "quantity": "3"}]
    two_faults = {"customer": "cus_ada", "currency": "EUR", "channel": "web", "lines": lines}
    refused = [
        {"request": {"method": "GET", "path": "/v1/items", "query": {"category": "drinks"}}, "way": "mends"},
        {"request": {"method": "POST", "path": "/v1/orders/ord_3/cancel"}, "way": "ends"},
        {"request": {"method": "POST", "path": "/v1/refunds", "body": {"order": "ord_1", "amount": 500}}},
        {"request": {"method": "POST", "path": "/v1/orders", "body": two_faults}, "faults": 2},
    ]
    config = {"provocations": refused, "accepted": [{"method": "GET", "path": "/v1/orders"}]}
    return Subject("producer", "http-json", target=proxy.target, config=config, seed=next(SEEDS))


@rows("check", [c for c in CHECKS.values() if "producer" in c.roles], ids=lambda check: check.id)
def test_a_producer_is_judged_by_what_its_config_provokes(check: Check, producer: Subject) -> None:
    assert findings(check, producer) == []


def test_a_producer_of_whom_nothing_is_known_is_not_judged(proxy: Subject) -> None:
    stranger = Subject("producer", "http-json", target=proxy.target)
    for check in CHECKS.values():
        if "producer" in check.roles:
            with pytest.raises(Missing, match=r"^needs `(?:provocations|accepted)`.*in the config file"):
                findings(check, stranger)
