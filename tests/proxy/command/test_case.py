"""`corrigible pack case`: cases from recorded traffic, which lint and pass as they are."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
import yaml

from corrigible.proxy.cli import main

WritePack = Callable[..., Path]
Capture = pytest.CaptureFixture[str]
MANIFEST = (
    "idempotency_header: Idempotency-Key\nlookups: ['/v1/charges/{id}']\nsecret_parameters: [memo]\n"
    "operations: {POST /v1/refunds: CreateRefund}\n"
)
RULE = """\
match: {operation: CreateRefund, message: '^too much'}
lookup: {charge: {get: "'/v1/charges/' + request.body.charge"}}
suggest: [{message: m, parameters: {amount: charge.left}, changes_intent: true}]
"""
SECRETS = ("sk_live_abcdefgh", "hunter2hunter2", "4242424242424242", "remember-me", "of-a-header", "of-the-charge")

ANSWER_HEADERS = {"Set-Cookie": SECRETS[4], "Retry-After": "7", "X-ErrorType": "bad", "X-Request-Id": "r"}


def entry(method: str, path: str, sent: Any, status: int, answer: Any) -> dict[str, Any]:
    headers = {
        "Authorization": f"Bearer {SECRETS[0]}",
        "X-Api-Key": SECRETS[4],
        "Cookie": SECRETS[4],
        "User-Agent": "me",
        "Idempotency-Key": "k1",
        "X-Target": "Refunds",
        "X-Session-Token": SECRETS[4],
        "Sec-Fetch-Mode": "cors",
    }
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return {
        "request": {
            "method": method,
            "url": f"https://api.test{path}",
            "headers": [{"name": name, "value": value} for name, value in headers.items()],
            **({"postData": {"mimeType": "application/json", "text": json.dumps(sent)}} if sent else {}),
        },
        "response": {
            "status": status,
            "headers": [{"name": name, "value": value} for name, value in ANSWER_HEADERS.items()],
            "content": {"mimeType": "text/html" if isinstance(answer, str) else "application/json", "text": text},
        },
    }


SENT = {
    **{"charge": "ch_1", "amount": 500, "password": SECRETS[1], "card": {"number": int(SECRETS[2])}},
    **{"memo": SECRETS[3], "note": "4e21", "switch": "on"},
}
MESSAGE = f"too much: {SECRETS[3]} {SECRETS[1]} {SECRETS[0]}"
ENTRIES = [
    entry("GET", "/v1/charges/ch_1", None, 200, {"left": 300, "access_token": SECRETS[5]}),
    entry("POST", "/v1/refunds", SENT, 400, {"error": {"code": "bad", "message": MESSAGE}}),
    entry("POST", "/v1/refunds", SENT, 409, {"error": {"code": "other", "message": "else"}}),
    entry("POST", "/v1/refunds", SENT, 502, "<p>Bad gateway</p>"),
]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    file = tmp_path / "traffic.har"
    file.write_text(json.dumps({"log": {"version": "1.2", "entries": ENTRIES}}), "utf-8")
    return file


@pytest.fixture
def pack(write_pack: WritePack) -> Path:
    return write_pack(manifest=MANIFEST, over=RULE)


def run(capsys: Capture, *arguments: str | Path) -> tuple[int, str, str]:
    status = main(["pack", *map(str, arguments)])
    output = capsys.readouterr()
    return status, output.out, output.err


def test_cases_that_are_added_to_a_rule_lint_and_pass(capsys: Capture, pack: Path, recording: Path) -> None:
    file = pack / "over.cases.yaml"
    others = (
        "not written: 2 refusals that apex.over does not match; --no-match adds cases of what the rule is to leave "
    )
    others += "alone\n"
    added = run(capsys, "case", recording, "--rule", pack / "over")
    assert added == (0, f"{file}: 1 case added, 0 were there\n", others)
    silent = run(capsys, "case", recording, "--rule", pack / "over", "--no-match")
    assert silent == (0, f"{file}: 2 cases added, 0 were there\n", "not written: 1 refusal that apex.over matches\n")
    assert run(capsys, "lint", pack) == (0, "apex 2.1.0: 1 rule, 3 cases, 0 tables, no mistakes\n", "")
    assert run(capsys, "test", pack) == (0, f"{pack}: 3 passed, 0 failed\n", "")
    matched, other, page = yaml.safe_load(file.read_text("utf-8"))
    assert (matched["name"], matched["origin"], matched["source"]) == (
        "CreateRefund: 400 bad: too much: [redacted] [redacted] [redacted]",
        "recorded",
        "traffic.har",
    )
    assert matched["expect"]["suggestions"] == [
        {"action": "MODIFY_PARAMS", "parameters": {"amount": 300}, "safety": {"changes_intent": True}}
    ]
    assert matched["after"] == {"body": {**matched["request"]["body"], "amount": 300}}
    assert matched["request"]["headers"] == {"idempotency-key": "k1", "x-target": "Refunds"}
    assert matched["response"]["headers"] == {"retry-after": "7", "x-errortype": "bad"}
    assert other["no_match"] is True
    assert (pack / page["response"]["body_file"]).read_text("utf-8") == "<p>Bad gateway</p>"
    again = run(capsys, "case", recording, "--rule", pack / "over")
    assert again == (0, f"{file}: 0 cases added, 1 was there\n", others)
    assert run(capsys, "case", recording, "--rule", pack / "over", "--no-match")[1] == silent[1].replace(
        "2 cases added, 0", "0 cases added, 2"
    )


def test_of_refusals_that_are_not_matched_one_of_a_kind_is_enough(capsys: Capture, pack: Path, tmp_path: Path) -> None:
    file = tmp_path / "traffic.har"
    others = [entry("POST", "/v1/refunds", {"n": n}, 409, {"error": {"code": "other"}}) for n in range(5)]
    file.write_text(json.dumps({"log": {"entries": others}}), "utf-8")
    _, out, _ = run(capsys, "case", file, "--rule", pack / "over", "--no-match")
    assert out == f"{pack / 'over.cases.yaml'}: 1 case added, 4 were there\n"


def test_refusals_with_other_messages_or_bodies_are_kept(capsys: Capture, pack: Path, tmp_path: Path) -> None:
    file = tmp_path / "traffic.har"
    errors = [
        {"code": "other", "message": "no such charge"},
        {
            "code": "other",
            "message": "the charge is\nin dispute, and nothing of it can be given back before that has ended",
        },
        {"code": "other", "message": "no such charge", "param": "charge"},
        {"code": "other", "message": "no such charge"},
    ]
    entries = [entry("POST", "/v1/refunds", {"n": n}, 409, {"error": error}) for n, error in enumerate(errors)]
    file.write_text(json.dumps({"log": {"entries": entries}}), "utf-8")
    cases = pack / "over.cases.yaml"
    assert (
        run(capsys, "case", file, "--rule", pack / "over", "--no-match")[1] == f"{cases}: 3 cases added, 1 was there\n"
    )
    assert [case["name"] for case in yaml.safe_load(cases.read_text("utf-8"))] == [
        "CreateRefund: 409 other: no such charge",
        "CreateRefund: 409 other: the charge is in dispute, and nothing of it can be given ...",
        "CreateRefund: 409 other: no such charge (2)",
    ]
    assert (
        run(capsys, "case", file, "--rule", pack / "over", "--no-match")[1] == f"{cases}: 0 cases added, 4 were there\n"
    )
    printed = [case["name"] for case in yaml.safe_load(run(capsys, "case", file)[1])]
    assert len(printed) == len(set(printed)) == 4


def test_no_secret_gets_into_a_case(capsys: Capture, pack: Path, recording: Path) -> None:
    by_name = [one for one in SECRETS if one != SECRETS[3]]  # only the pack knows that a memo is secret
    options: list[tuple[list[str], Sequence[str]]] = [([], by_name), (["--pack", str(pack)], SECRETS)]
    for words, secrets in options:
        status, out, err = run(capsys, "case", recording, *words)
        assert (status, [one for one in secrets if one in out + err]) == (0, [])
    assert "too much: [redacted] [redacted] [redacted]" in out
    run(capsys, "case", recording, "--rule", pack / "over")
    assert [one for one in SECRETS if one in (pack / "over.cases.yaml").read_text("utf-8")] == []


def test_by_the_rules_of_a_pack(capsys: Capture, pack: Path, recording: Path) -> None:
    _, out, err = run(capsys, "case", recording, "--pack", pack)
    assert [line for line in out.splitlines() if line.startswith("#")] == ["# apex/over.cases.yaml"]
    assert len(yaml.safe_load(out)) == 1
    assert err == "not written: 2 refusals that no rule of the pack matches\n"


def test_without_a_pack_nothing_is_claimed(capsys: Capture, recording: Path) -> None:
    cases = yaml.safe_load(run(capsys, "case", recording)[1])
    assert [(case["name"], case["expect"]) for case in cases] == [
        (f"POST /v1/refunds: 400 bad: too much: {SECRETS[3]} [redacted] [redacted]", {}),
        ("POST /v1/refunds: 409 other: else", {}),
        ("POST /v1/refunds: 502 Bad Gateway", {}),
    ]


def test_a_look_up_that_the_recording_does_not_have(capsys: Capture, pack: Path, tmp_path: Path) -> None:
    file = tmp_path / "short.har"
    file.write_text(json.dumps({"log": {"entries": ENTRIES[1:2]}}), "utf-8")
    for chosen in (("--pack", pack), ("--rule", pack / "over"), ("--rule", pack / "over", "--no-match")):
        status, out, err = run(capsys, "case", file, *chosen)
        assert (status, out) == (1, "")
        assert err.startswith("not written: CreateRefund: 400 bad: too much: [redacted]")
        assert err.endswith('the recording has no answer to "GET /v1/charges/ch_1"\n')
    assert not (pack / "over.cases.yaml").exists()
    file.write_text(json.dumps({"log": {"entries": ENTRIES[:1]}}), "utf-8")
    assert run(capsys, "case", file) == (1, "", f"{file}: no refusal in 1 exchanges\n")


def test_a_rule_that_is_not_there(capsys: Capture, pack: Path, recording: Path) -> None:
    status, out, err = run(capsys, "case", recording, "--rule", pack / "ovre")
    assert (status, out) == (2, "")
    assert err == f"--rule {pack / 'ovre'}: the pack has no rule ovre: corrigible pack new {pack / 'ovre'}\n"


def test_a_rule_that_is_still_the_template_gets_no_cases(capsys: Capture, pack: Path, recording: Path) -> None:
    assert run(capsys, "new", pack / "beyond")[0] == 0
    before = (pack / "beyond.cases.yaml").read_text("utf-8")
    status, out, err = run(capsys, "case", recording, "--rule", pack / "beyond")
    assert (status, out) == (2, "")
    assert err == f"--rule {pack / 'beyond'}: still the template: write it first, cases show what it does\n"
    assert (pack / "beyond.cases.yaml").read_text("utf-8") == before


def test_a_case_that_another_rule_matches_first_is_not_written(
    capsys: Capture, write_pack: WritePack, recording: Path
) -> None:
    other = "match: {operation: CreateRefund, code: bad, message: '^too much'}\n"
    other += "suggest: [{message: m, parameters: {a: 1}}]\n"
    pack = write_pack(manifest=MANIFEST, over=RULE, other=other)
    status, out, err = run(capsys, "case", recording, "--rule", pack / "over")
    assert (status, out) == (1, "")
    assert "not written: CreateRefund: 400 bad: too much: [redacted] [redacted] [redacted]: " in err
    assert "apex.other matches first, so apex.over is not used\n" in err
    assert not (pack / "over.cases.yaml").exists()


def test_silence_is_asked_of_a_rule(capsys: Capture, recording: Path, pack: Path) -> None:
    for chosen in ((), ("--pack", pack)):
        status, _, err = run(capsys, "case", recording, "--no-match", *chosen)
        assert (status, err) == (2, "--no-match needs --rule: the rule that does not match\n")


def test_a_credential_is_in_no_case_wherever_it_is_repeated(capsys: Capture, pack: Path, tmp_path: Path) -> None:
    """Of headers, the address, the query and other exchanges of the recording, escaped and in base64."""
    basic = base64.b64encode(b"merchant:s3same-op3n").decode()
    headers = {"Authorization": f"Basic {basic}", "X-Shop-Auth": "shop-auth-11", "Cookie": "sid=sid-of-the-cookie-1"}
    values = ["s3same-op3n", "shop-auth-11", "sid-of-the-cookie-1", "query-key-22", "login-answer-33", "p%C3%A4ss-word"]
    echoed = " ".join(
        [*values, quote(values[0]), base64.b64encode(f"x {values[3]} y".encode()).decode(), "p\u00e4ss-word"]
    )
    login = entry("POST", "/v1/login", {"password": "p\u00e4ss-word"}, 200, {"access_token": "login-answer-33"})
    refused = entry("POST", "/v1/refunds?key=query-key-22", SENT, 400, {"error": {"message": f"too much: {echoed}"}})
    refused["request"]["url"] = refused["request"]["url"].replace("https://", "https://merchant:s3same-op3n@")
    refused["request"]["headers"] = [{"name": name, "value": value} for name, value in headers.items()]
    file = tmp_path / "traffic.har"
    file.write_text(json.dumps({"log": {"entries": [login, ENTRIES[0], refused]}}), "utf-8")
    for chosen in ((), ("--pack", pack), ("--rule", pack / "over")):
        status, out, err = run(capsys, "case", file, *chosen)
        written = out + err + ((pack / "over.cases.yaml").read_text("utf-8") if "--rule" in chosen else "")
        assert status == 0
        assert [one for one in [*values, basic, "p\u00e4ss-word"] if one in unquote(written) or one in written] == []
        assert "too much: [redacted] [redacted]" in written


def test_a_look_up_that_was_refused_is_part_of_the_case(capsys: Capture, write_pack: WritePack, tmp_path: Path) -> None:
    rule = """\
        match: {operation: CreateRefund, message: '^too much'}
        lookup: {charge: {get: "'/v1/charges/' + request.body.charge", optional: true}}
        suggest:
          - if: charge == null
            message: Name another charge.
            ask: /body/charge
        """
    pack = write_pack(manifest=MANIFEST, over=rule)
    file = tmp_path / "traffic.har"
    for status, listed in ((404, None), (403, {"answer": {"status": 403, "body": {"error": "no"}}})):
        (pack / "over.cases.yaml").unlink(missing_ok=True)
        gone = entry("GET", "/v1/charges/ch_1", None, status, {"error": "no"})
        file.write_text(json.dumps({"log": {"entries": [gone, ENTRIES[1]]}}), "utf-8")
        assert run(capsys, "case", file, "--rule", pack / "over")[0] == 0
        (case,) = yaml.safe_load((pack / "over.cases.yaml").read_text("utf-8"))
        assert case["lookups"] == {f"GET /v1/charges/{case['request']['body']['charge']}": listed}


def test_a_case_that_no_longer_matches_without_personal_data_is_not_written(
    capsys: Capture, write_pack: WritePack, tmp_path: Path
) -> None:
    rule = "match: {code: bad}\nwhen: body.owner.startsWith('Wil')\nsuggest: [{message: m, ask: /body/owner}]\n"
    pack = write_pack(manifest=MANIFEST, over=rule)
    file = tmp_path / "traffic.har"
    refused = entry("POST", "/v1/refunds", {"owner": "Wilhelmina"}, 400, {"error": {"code": "bad", "message": "m"}})
    file.write_text(json.dumps({"log": {"entries": [refused]}}), "utf-8")
    status, out, err = run(capsys, "case", file, "--rule", pack / "over")
    assert (status, out) == (1, "")
    assert err.endswith("apex.over matches what was recorded, and not where personal data is replaced\n")
    assert "Wilhelmina" not in err
    assert not (pack / "over.cases.yaml").exists()


def test_a_case_that_depends_on_its_place_in_the_file_is_not_written(
    capsys: Capture, write_pack: WritePack, recording: Path
) -> None:
    rule = "match: {code: bad}\nsuggest: [{message: m, set: {/body/note: exchange.id}, changes_intent: true}]\n"
    pack = write_pack(manifest=MANIFEST, over=rule)
    status, out, err = run(capsys, "case", recording, "--rule", pack / "over")
    assert (status, out) == (1, "")
    assert "/suggestions/0/parameters/note: expected " in err


def test_operations_of_a_description(
    capsys: Capture, write_pack: WritePack, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORRIGIBLE_CACHE", str(tmp_path / "cache"))
    post = {"operationId": "refund", "responses": {"200": {"description": "made"}}}
    spec = tmp_path / "openapi.json"
    spec.write_text(
        json.dumps(
            {"openapi": "3.0.3", "info": {"title": "A", "version": "1"}, "paths": {"/v1/refunds": {"post": post}}}
        )
    )
    pack = write_pack(over="match: {operation: refund, code: bad}\nsuggest: [{message: m, ask: /body/note}]\n")
    assert run(capsys, "case", recording, "--rule", pack / "over")[0] == 1
    status, _, err = run(capsys, "case", recording, "--rule", pack / "over", "--spec", spec)
    assert (status, err.splitlines()[0]) == (
        0,
        f"the cases need the operations of the description: corrigible pack test --spec {spec}",
    )
    assert run(capsys, "test", pack, "--spec", spec)[1] == f"{pack}: 1 passed, 0 failed\n"
    assert run(capsys, "test", pack)[1] == f"{pack}: 0 passed, 1 failed\n"
