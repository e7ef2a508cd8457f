"""Where feedback stands in a Kubernetes Status: the member, the causes, the warnings."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.adapters.apis.kubernetes.adapter import ADAPTER
from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.embed.member import dotted, embed_feedback
from corrigible.proxy.http.corrector import HttpCorrector, HttpOutcome
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

JSON = ("Content-Type", "application/json")
TWO = """\
match: {code: FieldValueInvalid}
suggest:
  - all:
      - action: MODIFY_PARAMS
        message: 'Say "three" \\ caf\u00e9.'
        patch: [{op: test, path: /body/spec/replicas, value: -1}, {op: replace, path: /body/spec/replicas, value: 3}]
      - action: MODIFY_PARAMS
        message: Drop the label.
        patch: [{op: remove, path: /body/metadata/labels/a~1b}]
"""
SEVERAL = f"""\
match: {{code: FieldValueRequired}}
suggest:
  - one_of:
      - {{action: MODIFY_PARAMS, message: {"m" * 130}0, parameters: {{a: 0}}}}
      - {{action: MODIFY_PARAMS, message: {"m" * 130}1, parameters: {{a: 1}}}}
      - {{action: MODIFY_PARAMS, message: Take b., patch: [{{op: add, path: /query/dryRun, value: "'All'"}}]}}
      - {{action: MODIFY_PARAMS, message: Take c., patch: [{{op: add, path: /headers/x, value: "'{"v" * 60}'"}}]}}
      - {{action: MODIFY_PARAMS, message: Take d., patch: [{{op: replace, path: /path, value: "'/x'"}}]}}
"""
NONE = "match: {code: FORBIDDEN}\nsuggest: [{action: ESCALATE, actor: somebody_else, message: Ask an administrator.}]\n"
BOTH = (
    "match: {code: FieldValueDuplicate}\nsuggest: [{action: MODIFY_PARAMS, message: Both., parameters: {a: 0, b: 1}}]\n"
)
WORDY = f"""\
match: {{code: FieldValueTooLong}}
suggest: [{{action: ESCALATE, actor: you, message: "Shorten it, {"word " * 21}, words word."}}]
"""
SENT = b'{"kind": "Deployment", "metadata": {"labels": {"a/b": "1"}}, "spec": {"replicas": -1}}'
CAUSE = '{"reason": "%s", "message": "Invalid value: -1: no", "field": "spec.replicas"}'
HEAD = '{"kind": "Status", "status": "Failure", "reason": "BadRequest", "code": 422'
NO_WARNINGS: list[str] = []


@pytest.fixture
def correct(write_pack: Callable[..., Path]) -> Callable[..., HttpOutcome]:
    rules = {"two": TWO, "several": SEVERAL, "none": NONE, "both": BOTH, "wordy": WORDY}
    folder = write_pack(manifest="redact: [/message, /details/causes]", **rules)
    (known,) = load_profiles([folder])
    corrector = HttpCorrector(Engine([replace(known, adapter=ADAPTER)]))

    def ask(
        native: str | bytes,
        *,
        status: int = 422,
        mode: Mode = Mode.REFLECTIVE,
        headers: Sequence[tuple[str, str]] = (JSON,),
    ) -> HttpOutcome:
        body = native if isinstance(native, bytes) else native.encode()
        preferred = ("Prefer", f"recovery-feedback={mode}")
        request = RequestHead("POST", "/apis/apps/v1/namespaces/t/deployments", [JSON, preferred])
        going = corrector.correct(
            HttpExchange(request, SENT, ResponseHead(status, headers), body), id="e1", started=1.0
        )
        return run_with_lookups_sync(going, lambda lookup: LookupAnswer(404))

    return ask


def rewritten(outcome: HttpOutcome) -> tuple[Any, list[str], str]:
    assert outcome.rewrite is not None, outcome
    warnings = [value for name, value in outcome.rewrite.headers if name == "Warning"]
    return json.loads(outcome.rewrite.body), warnings, outcome.rewrite.body.decode()


def status(reason: str = "FieldValueInvalid", more: str = "") -> str:
    return f'{HEAD}, "details": {{"name": "d" , "causes": [{CAUSE % reason}{more}] }} }}'


def test_a_status_gets_the_member_a_cause_and_a_warning_for_every_suggestion(
    correct: Callable[..., HttpOutcome],
) -> None:
    native = status()
    body, warnings, text = rewritten(correct(native))
    assert body["recovery_feedback"]["suggestions"][0]["patch"][1] == {
        "op": "replace", "path": "/body/spec/replicas", "value": 3,
    }  # fmt: skip
    assert body["details"]["causes"][1:] == [
        {"reason": "RecoveryFeedback", "message": 'Say "three" \\ caf?. (spec.replicas=3)', "field": "spec.replicas"},
        {"reason": "RecoveryFeedback", "message": "Drop the label. (remove metadata.labels[a/b])",
         "field": "metadata.labels[a/b]"},
    ]  # fmt: skip
    assert warnings == [
        '299 corrigible "Say \\"three\\" \\\\ caf?. (spec.replicas=3)"',
        '299 corrigible "Drop the label. (remove metadata.labels[a/b])"',
    ]
    added = "," + orjson.dumps(body["details"]["causes"][1:]).decode()[1:-1]
    tail = text[text.index(',"validation_errors"') : -1]
    assert text.replace(added, "").replace(tail, "") == native


def test_lines_are_short_and_few(correct: Callable[..., HttpOutcome]) -> None:
    body, warnings, _ = rewritten(correct(status("FieldValueRequired")))
    assert len(body["recovery_feedback"]["suggestions"]) == 5
    causes = body["details"]["causes"][1:]
    assert [(cause["message"], cause.get("field")) for cause in causes] == [
        ("m" * 117 + "...", "a"),
        ("m" * 117 + "...", "a"),
        ('Take b. (dryRun="All")', "dryRun"),
        ("Take c. (set /headers/x)", "spec.replicas"),
        ('Take d. (/path="/x")', "spec.replicas"),
    ]
    assert warnings == [
        f'299 corrigible "{"m" * 117}..."',
        '299 corrigible "Take b. (dryRun=\\"All\\")"',
        '299 corrigible "Take c. (set /headers/x)"',
    ]


def test_what_kubectl_prints_of_an_invalid_object_is_not_said_again(correct: Callable[..., HttpOutcome]) -> None:
    body, warnings, _ = rewritten(correct(status().replace("BadRequest", "Invalid")))
    assert [cause["reason"] for cause in body["details"]["causes"]] == ["FieldValueInvalid", *["RecoveryFeedback"] * 2]
    assert warnings == NO_WARNINGS


def test_a_long_line_ends_between_words(correct: Callable[..., HttpOutcome]) -> None:
    body, warnings, _ = rewritten(correct(status("FieldValueTooLong")))
    (line,) = [cause["message"] for cause in body["details"]["causes"][1:]]
    assert line == "Shorten it, " + "word " * 20 + "word..."
    assert warnings == [f'299 corrigible "{line}"']


def test_a_line_names_every_edit(correct: Callable[..., HttpOutcome]) -> None:
    body, warnings, _ = rewritten(correct(status("FieldValueDuplicate")))
    assert body["details"]["causes"][1] == {"reason": "RecoveryFeedback", "message": "Both. (a=0; b=1)", "field": "a"}
    assert warnings == ['299 corrigible "Both. (a=0; b=1)"']


@rows(
    ("native", "details"),
    [
        ('{"kind":"Status","status":"Failure","reason":"Forbidden","message":"no"}', {"causes": 1}),
        ('{"kind":"Status","status":"Failure","reason":"Forbidden","message":"no","details":{}}', {"causes": 1}),
        ('{"details":{"kind":"pods"},"kind":"Status","status":"Failure","reason":"Forbidden","message":"no"}',
         {"kind": "pods", "causes": 1}),
        ('{"kind":"Status","status":"Failure","reason":"Forbidden","message":"no","details":{"causes":[]}}',
         {"causes": 1}),
        ('{"kind":"Status","status":"Failure","reason":"Forbidden","message":"no","details":null}', None),
        ('{"kind":"Status","status":"Failure","reason":"Forbidden","message":"no","details":{"causes":null}}',
         {"causes": None}),
    ],
)  # fmt: skip
def test_details_and_causes_are_made_where_there_are_none(
    correct: Callable[..., HttpOutcome], native: str, details: Any
) -> None:
    body, warnings, text = rewritten(correct(native, status=403))
    if details is not None and details["causes"] == 1:
        details = {**details, "causes": [{"reason": "RecoveryFeedback", "message": "Ask an administrator."}]}
    assert body["details"] == details
    assert warnings == ['299 corrigible "Ask an administrator."']
    assert body["recovery_feedback"]["recovery"] == "terminal"
    rest = iter(text)
    assert all(char in rest for char in native)  # every byte of it, in its order


def test_native_warnings_stay(correct: Callable[..., HttpOutcome]) -> None:
    outcome = correct(status(), headers=[JSON, ("Warning", '299 - "deprecated"'), ("Audit-Id", "a")])
    assert rewritten(outcome)[1][0] == '299 - "deprecated"'


def test_the_other_modes(correct: Callable[..., HttpOutcome]) -> None:
    body, warnings, text = rewritten(correct(status(), mode=Mode.VERBOSE))
    assert (warnings, "recovery_feedback" in body, len(body["details"]["causes"])) == (NO_WARNINGS, False, 1)
    assert body["validation_errors"] == [
        {"code": "FieldValueInvalid", "message": "It is two.", "pointer": "/body/spec/replicas"}
    ]
    body, warnings, text = rewritten(correct(status(), mode=Mode.TRADITIONAL))
    assert (warnings, text) == (NO_WARNINGS, f'{HEAD}, "details": {{"name": "d" , "causes": [] }} }}')
    assert correct(status(), mode=Mode.NONE).rewrite is None


@rows(
    ("pointer", "field"),
    [
        ("/body/spec/containers/0/image", "spec.containers[0].image"),
        ("/body/data/my key", "data[my key]"),
        ("/body/metadata/labels/app.kubernetes.io~1name", "metadata.labels[app.kubernetes.io/name]"),
        ("/body/spec/list/-", "spec.list[-]"),
        ("/body/a-b", "a-b"),
        ("/query/dryRun", "dryRun"),
        ("/headers/content-type", ""),
        ("/path", ""),
        ("/body", ""),
        ("", ""),
    ],
)
def test_pointers_as_kubernetes_spells_them(pointer: str, field: str) -> None:
    assert dotted(pointer) == field


@rows("mode", [Mode.TRADITIONAL, Mode.VERBOSE, Mode.REFLECTIVE])
@rows(
    ("review", "takes"),
    [
        ({"response": {"uid": "u", "allowed": False}}, True),
        ({"response": {"uid": "u", "allowed": True}}, False),
        ({"response": {"uid": "u"}}, False),
        ({"response": None}, False),
        ({}, False),
    ],
)
def test_of_reviews_only_a_denial_is_explained(
    write_pack: Callable[..., Path], mode: Mode, review: dict[str, Any], takes: bool
) -> None:
    (known,) = load_profiles([write_pack(two=TWO)])
    engine = Engine([replace(known, adapter=ADAPTER)])
    request = Request("POST", "/apis/apps/v1/namespaces/t/deployments", body=json.loads(SENT))
    exchange = Exchange(request, 422, {"content-type": "application/json"}, status().encode())
    decision = run_with_lookups_sync(engine.decide(exchange), lambda lookup: LookupAnswer(404))
    assert isinstance(decision, Annotate)
    native = orjson.dumps({"kind": "AdmissionReview", **review})
    assert (embed_feedback(native, decision, mode) is not None) is takes
