"""What may be wrong with a proxy: its own requirements break, and no others.

A fault is judged by the checks of its requirements and a few others; one fault by the whole profile.

The proxy conforms, ours or its stand-in; the fault is in a relay before it. `test_transparency` and
`test_feedback_checks` hold that single checks catch single faults: here is what else such a fault sets off, and what it
must not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from copy import deepcopy
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from corrigible.conformance.checks import CHECKS
from corrigible.conformance.cli import main
from corrigible.conformance.model.outcome import Missing, NotApplicable
from corrigible.conformance.reference.api import Shop
from corrigible.conformance.reference.upstream import Upstream
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpClient

from .faults import Planted, explained, native, planted, success
from .faulty import Answer, Fault, Request, relay
from .made import sampled, told
from .stand_in import shop_fronted, shop_proxied

SLOW = {
    "transparency/latency",
    "transparency/open/look-up",
    "transparency/open/request",
    "transparency/open/long",
    "transparency/success/large",
    "transparency/error/large",
    "transparency/request/large",
    "trust/injection",
    "exposure/framing/one-way",
    "exposure/framing/head",
    "exposure/others/body",
    "exposure/others/bomb",
}
"""They wait, or carry megabytes, or ask a thousand times. `test_exposure` has faults for those of exposure."""
QUICK = [one for one in CHECKS if "http-json" in one.profiles and "proxy" in one.roles and one.id not in SLOW]
WHOLE = {"explains without being asked"}
"""The fault that is judged by every check."""
ALWAYS = {
    *("core/absent-on-success", "core/type", "operations/valid", "retry/bounded", "trust/no-secret"),
    *("negotiation/vary", "transparency/success/status-line", "transparency/annotated/members"),
}
"""A few checks that judge every fault, whatever it is to break."""
SEEDS = count(9000)
"""Every relay has callers of its own, so that no loop goes on from one fault to the next."""

Edit = Callable[[dict[str, Any]], object]


def feedback(edit: Edit) -> Fault:
    """Change the feedback of every annotated answer."""

    def changed(answer: Answer) -> Answer:
        said = re.search(rb'"recovery_feedback":(\{.*)', answer.body, re.DOTALL)
        if said is None:
            return answer
        text = said[1].decode("utf-8", "surrogatepass")
        member, end = json.JSONDecoder().raw_decode(text)
        edit(member)
        made = json.dumps(member, ensure_ascii=False, separators=(",", ":")) + text[end:]
        return answer.with_body(answer.body[: said.start(1)] + made.encode("utf-8", "surrogatepass"))

    return explained(changed)


def suggestions(edit: Edit) -> Fault:
    def each(member: dict[str, Any]) -> None:
        for one in member["suggestions"]:
            edit(one)

    return feedback(each)


def offering_again() -> Edit:
    """Lead with the alternative that was tried, where the next one should."""
    tried: list[dict[str, Any]] = []

    def edit(member: dict[str, Any]) -> None:
        if member.get("loop", {}).get("action") == "next_alternative" and tried:
            again = deepcopy(tried[0])
            unguarded(again)
            member["suggestions"].insert(0, again)
        elif (first := member["suggestions"][0]).get("group", {}).get("relation") == "one_of":
            tried[:] = [deepcopy(first)]

    return edit


def unguarded(one: dict[str, Any]) -> None:
    if "patch" in one:
        one["patch"] = [op for op in one["patch"] if op["op"] != "test"]


def inventing(one: dict[str, Any]) -> None:
    """Put a currency that nobody takes, and say so."""
    for op in one.get("patch", ()):
        if op["op"] == "replace" and op["path"] == "/body/currency":
            op["value"] = one["parameters"]["currency"] = "xau"


def unescaped(one: dict[str, Any]) -> None:
    """Write names into pointers as they are."""
    for said in (*one.get("patch", ()), *one.get("placeholders", ())):
        for name in ("path", "from", "pointer"):
            if name in said:
                said[name] = said[name].replace("~1", "/").replace("~0", "~")


def unescaped_questions(one: dict[str, Any]) -> None:
    unescaped({"placeholders": one.get("placeholders", ())})


def harmless(one: dict[str, Any]) -> None:
    one.setdefault("safety", {})["side_effects"] = "none"


def leaking(request: Request, answer: Answer) -> Answer:
    """Greet a caller by the key."""
    key = request.header("x-api-key")
    if key is None or b'"recovery_feedback":' not in answer.body:
        return answer
    head, mark, rest = answer.body.partition(b'"recovery_feedback":')
    return answer.with_body(head + mark + rest.replace(b'"message":"', b'"message":"%s: ' % key.encode(), 1))


def helpful(answer: Answer) -> Answer:
    if not answer.body.startswith(b"{") or not answer.body.endswith(b"}") or answer.body == b"{}":
        return answer
    said = b'"recovery_feedback":{"type":"confidence_signal","message":"Fine.","suggestions":[]},'
    return answer.with_body(answer.body.replace(b"{", b"{" + said, 1))


def always_asking(request: Request) -> Request:
    kept = tuple(one for one in request.headers if one[0].lower() != "prefer")
    return replace(request, headers=(*kept, ("Prefer", "recovery-feedback=reflective")))


def numbered() -> Edit:
    numbers = count()
    return lambda member: member.update(message=f"Refusal number {next(numbers)}.")


FAULTS: tuple[Planted, ...] = (
    planted(
        "says another status", explained(lambda a: replace(a, status=400) if a.status == 422 else a), "TRN-03", "COR-09"
    ),
    planted("invents a value", suggestions(inventing), "OPS-05", "COR-11", "COR-14", "SEC-09"),
    planted("repeats a key", Fault(whole=leaking), "SEC-05"),
    planted("offers again what was tried", feedback(offering_again()), "SEC-08"),
    planted(
        "claims verification",
        suggestions(lambda one: one.update(verification={"status": "verified", "method": "dry_run"})),
        "SEC-09",
    ),
    planted(
        "does not say what is lost", suggestions(lambda one: one.pop("safety", None)), "OPS-09", "OPS-13", "OPS-14"
    ),
    planted("explains successes", native(helpful, success), "COR-07", "TRN-01"),
    planted(
        "explains without being asked",
        Fault(request=always_asking),
        *("COR-08", "NEG-01", "NEG-02", "NEG-04", "SEC-08", "TRN-12"),
    ),
    planted("forgets to escape pointers", suggestions(unescaped), "COR-14", "OPS-01", "OPS-02", "OPS-05", "SEC-09"),
    planted("forgets to escape the places it asks for", suggestions(unescaped_questions), "OPS-05"),
    planted("calls writes harmless", suggestions(harmless), "OPS-12"),
    planted("forgets guards", suggestions(unguarded), "OPS-03"),
    planted("throws dice", feedback(numbered()), "COR-10", "NEG-05"),
)


@pytest.fixture(scope="module")
def stand_in() -> Iterator[Subject]:
    with shop_fronted() as subject:
        yield subject


@pytest.mark.parametrize("fault", sampled(FAULTS, lambda fault: min(fault.breaks)[:7]))
def test_a_fault_breaks_its_own_requirements_and_no_others(fault: Planted, stand_in: Subject) -> None:
    found: dict[str, list[str]] = {}
    with ExitStack() as stack:
        conforming = stack.enter_context(shop_proxied()) if fault.name in WHOLE else stand_in
        port = stack.enter_context(relay(conforming.wire.port, fault.fault))
        subject = replace(conforming, target=HttpClient(f"http://127.0.0.1:{port}"), seed=next(SEEDS), trace=[])
        about = QUICK if fault.name in WHOLE else fault.about(QUICK, ALWAYS)
        for check in about:
            with suppress(NotApplicable, Missing):
                for one in told(check.run(subject)):
                    found.setdefault(one.requirement, []).append(f"{check.id}: {one.message}")
    assert found.keys() == fault.breaks, {name: said[:2] for name, said in found.items()}


MITMDUMP = "mitmdump --quiet --mode reverse:{upstream} --listen-host 127.0.0.1 --listen-port {port}"
A_PART = ["core/present", "core/actions", "core/mends", "negotiation/*", "transparency/success/status-line"]


def test_somebody_elses_proxy_hears_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "mitmdump.yaml"
    config.write_text(json.dumps({"subjects": {"http-json": {"start": MITMDUMP}}}))
    arguments = [word for one in A_PART for word in ("--only", one)]
    assert main(["check", "--config", str(config), *arguments]) == 1
    said = capsys.readouterr().out
    assert "None of 40 refused requests was answered with recovery_feedback." in said
    assert "Traceback" not in said and "crashed" not in said and "NOT RUN" not in said


def test_a_bare_api_of_which_nothing_is_known_hears_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    with Upstream(Shop()) as shop:
        assert main(["check", "--target", shop.url]) == 2
    said = capsys.readouterr().out
    assert "NOT RUN" in said and "needs a description to make requests from: --spec FILE" in said
