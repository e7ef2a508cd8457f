"""`corrigible translate FILE`: offline, what would be sent, and why."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.cli import main

Capture = pytest.CaptureFixture[str]
MANIFEST = "lookups: ['/v1/{id}']\nmirror: /error\nredact: [/error/code]\n"
RULES = {
    "a": "match: {code: bad}\nwhen: request.method == 'PUT'\nsuggest: [{action: ESCALATE, actor: you, message: m}]\n",
    "b": """\
        match: {code: bad}
        lookup: {x: {get: "'/v1/' + request.body.id", optional: true}}
        suggest:
          - {if: x != null, action: MODIFY_PARAMS, message: m, parameters: {amount: x.left}}
        """,
    "c": "match: {status: 404}\nsuggest: [{action: ESCALATE, actor: you, message: m}]\n",
    "d": "match: {code: crash}\nwhen: request.body.absent == 1\n"
    "suggest: [{action: ESCALATE, actor: you, message: m}]\n",
}


def entry(
    path: str, status: int, answer: Any, method: str = "POST", body: Any = None, prefer: str = ""
) -> dict[str, Any]:
    headers = [{"name": "Prefer", "value": prefer}] if prefer else []
    return {
        "request": {"method": method, "url": f"https://api.test{path}", "headers": headers}
        | ({"postData": {"mimeType": "application/json", "text": json.dumps(body)}} if body else {}),
        "response": {"status": status, "content": {"mimeType": "application/json", "text": json.dumps(answer)}},
    }


ENTRIES = [
    entry(
        "/v1/x?a=b",
        400,
        {"error": {"code": "bad"}},
        body={"id": "y", "amount": 500},
        prefer="recovery-feedback=verbose",
    ),
    entry("/v1/y", 200, {"left": 300}, "GET"),
    entry("/v1/x", 400, {"error": {"code": "bad"}}, body={"id": "y", "amount": 500}),
    entry("/v1/x", 400, {"error": {"code": "bad"}}, body={"id": "z"}),
    entry("/v1/x", 400, {"error": {"code": "crash"}}, body={"id": "z"}),
]


@pytest.fixture
def said(write_pack: Callable[..., Path], tmp_path: Path, capsys: Capture) -> Callable[..., list[str]]:
    folder = write_pack(manifest=MANIFEST, **RULES)

    def run(entries: list[dict[str, Any]], *options: str) -> list[str]:
        file = tmp_path / "recorded.har"
        file.write_text(json.dumps({"log": {"entries": entries}}), "utf-8")
        assert main(["translate", str(file), "--pack", str(folder), *options]) == 0
        return capsys.readouterr().out.splitlines()

    return run


def test_what_would_be_sent(said: Callable[..., list[str]]) -> None:
    lines = said(ENTRIES[1:3])
    assert lines[0] == "2 POST /v1/x: 400 annotated: apex.b"
    body = json.loads("\n".join(lines[1:]))
    assert body["recovery_feedback"]["suggestions"][0]["parameters"] == {"amount": 300}
    assert body["error"]["recovery_feedback"] == body["recovery_feedback"]


def test_as_json_and_with_everything(said: Callable[..., list[str]]) -> None:
    answers = [json.loads(line) for line in said(ENTRIES, "--json", "--all")]
    assert [(one["status"], one["outcome"], one.get("reason")) for one in answers] == [
        (400, "annotated", "apex.b"),
        (200, "untouched", "not a refusal in a body that is looked at"),
        (400, "annotated", "apex.b"),
        (400, "untouched", "no rule matches"),
        (400, "untouched", 'apex.d: request.body.absent == 1: Key not found in map : "absent"'),
    ]
    assert list(answers[0]["body"]) == ["error", "validation_errors"]
    assert ["Vary", "Prefer"] in answers[2]["headers"]


def test_without_all_only_what_is_annotated(said: Callable[..., list[str]]) -> None:
    assert [json.loads(line)["name"] for line in said(ENTRIES, "--json")] == [
        "1 POST /v1/x?a=b",
        "3 POST /v1/x",
    ]


def test_explain_says_why_each_rule_did_or_did_not_speak(said: Callable[..., list[str]]) -> None:
    not_asked = [
        "  apex.c: not asked: status is 400, the rule listens for 404",
        "  apex.d: not asked: code is bad, the rule listens for crash",
    ]
    read = [
        "  operation: unknown (pack apex)",
        "  errors[0], as rules see it under `error`:",
        '    code: "bad"',
        '    message: ""',
        '    pointer: ""',
        '    param: ""',
    ]
    lines = said(ENTRIES[1:4], "--explain")
    assert lines[:12] == [
        "1 GET /v1/y: 200 untouched: not a refusal in a body that is looked at",
        "2 POST /v1/x: 400 annotated: apex.b",
        *read,
        not_asked[1],
        not_asked[0],
        "  apex.a: no match: when does not hold",
        "  apex.b: matched: look-up x: GET /v1/{id} answered",
    ]
    assert lines[-11:] == [
        "3 POST /v1/x: 400 untouched: no rule matches",
        *read,
        not_asked[1],
        not_asked[0],
        "  apex.a: no match: when does not hold",
        "  apex.b: no match: look-up x: GET /v1/{id} gave nothing; suggest[0].if does not hold; "
        "nothing under suggest holds",
    ]
    crash = said(ENTRIES[4:], "--explain")
    assert crash[-1] == '  FAULT apex.d: request.body.absent == 1: Key not found in map : "absent"'


@pytest.mark.parametrize(
    ("mode", "members"),
    [
        ("traditional", ["error"]),
        ("verbose", ["error", "validation_errors"]),
        ("reflective", ["error", "validation_errors", "recovery_feedback"]),
    ],
)
def test_modes(said: Callable[..., list[str]], mode: str, members: list[str]) -> None:
    (_, line) = said(ENTRIES[1:3], "--json", "--all", "--mode", mode)
    assert list(json.loads(line)["body"]) == members


def test_none_leaves_everything(said: Callable[..., list[str]]) -> None:
    outcomes = {json.loads(line)["outcome"] for line in said(ENTRIES[1:], "--json", "--all", "--mode", "none")}
    assert outcomes == {"untouched"}


def test_a_packed_answer_of_a_flow_file_is_shown_unpacked(
    write_pack: Callable[..., Path], tmp_path: Path, capsys: Capture
) -> None:
    from mitmproxy import http, io
    from mitmproxy.test import tflow, tutils

    packed = gzip.compress(b'{"error":{"code":"none"}}', mtime=0)
    headers = http.Headers([(b"content-type", b"application/json"), (b"content-encoding", b"gzip")])
    file = tmp_path / "flows"
    with file.open("wb") as out:
        response = tutils.tresp(status_code=404, content=packed, headers=headers)
        writer = io.FlowWriter(out)  # type: ignore[no-untyped-call]  # untyped in mitmproxy
        writer.add(tflow.tflow(req=tutils.treq(method=b"GET", path=b"/v1/x"), resp=response))
    folder = write_pack(manifest=MANIFEST, **RULES)
    assert main(["translate", str(file), "--pack", str(folder), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["body"]["recovery_feedback"]["suggestions"][0]["action"] == "ESCALATE"
    assert ["content-encoding", "gzip"] in said["headers"]


def test_the_description_alone_is_enough(tmp_path: Path, capsys: Capture) -> None:
    properties = {"amount": {"type": "integer", "maximum": 100}}
    schema = {"type": "object", "properties": properties}
    spec = {
        "openapi": "3.0.3",
        "info": {"title": "T", "version": "1"},
        "paths": {
            "/x": {
                "post": {
                    "requestBody": {"content": {"application/json": {"schema": schema}}},
                    "responses": {"400": {"description": "refused"}},
                }
            }
        },
    }
    (tmp_path / "openapi.json").write_text(json.dumps(spec), "utf-8")
    capture = {
        "request": {"method": "POST", "path": "/x", "body": {"amount": 500}},
        "response": {"status": 400, "body": {"error": "amount is too large"}},
    }
    file = tmp_path / "one.json"
    file.write_text(json.dumps(capture), "utf-8")
    assert main(["translate", str(file), "--spec", str(tmp_path / "openapi.json"), "--json"]) == 0
    (suggestion,) = json.loads(capsys.readouterr().out)["body"]["recovery_feedback"]["suggestions"]
    assert suggestion["parameters"] == {"amount": 100}


def test_nothing_that_is_added_is_told(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "empty.har"
    file.write_text(json.dumps({"log": {"entries": []}}), "utf-8")
    assert main(["translate", str(file)]) == 0
    output = capsys.readouterr()
    assert (output.out, output.err) == (
        "",
        "nothing is added to these 0 exchanges: --all shows them, --explain says why\n",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.har", "--pack", "recipe"], "gone.har: cannot be read: No such file or directory"),
        (["empty.har", "--pack", "recipe"], "empty.har:1: neither JSON nor a flow file: "),
        (["empty.har", "--pack", "recip"], 'did you mean "recipe"?'),
        (["empty.har", "--pack", "recipe", "--spec", "gone.yaml"], "gone.yaml: no such file"),
    ],
)
def test_called_wrongly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.har").touch()
    try:
        status = main(["translate", *arguments])
    except SystemExit as end:
        assert isinstance(end.code, int)
        status = end.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert said in err.splitlines()[-1]


def test_a_recording_moves_no_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nasty = "\x1b]0;owned\x07\x9b2J\u202e"
    document = {
        "case": nasty,
        "request": {"method": "POST", "path": f"/v1/{nasty}", "headers": {}, "body": {}},
        "response": {"status": 400, "headers": {}, "body": {"error": {"message": nasty, "code": nasty}}},
    }
    file = tmp_path / "recorded.json"
    file.write_text(json.dumps(document), "utf-8")
    for more in ([], ["--json"], ["--explain"]):
        assert main(["translate", str(file), "--pack", "stripe", "--all", *more]) == 0
    out, err = capsys.readouterr()
    assert not set("\x1b\x07\x9b\u202e") & set(out + err)


def test_secrets_of_a_target_are_left_out(said: Callable[..., list[str]]) -> None:
    entries = [entry("/v1/x?api_key=abc&a=1", 404, {"error": {"code": "other"}}, "GET")]
    assert said(entries)[0] == "1 GET /v1/x?api_key=[redacted]&a=1: 404 annotated: apex.c"
    assert json.loads(said(entries, "--json")[0])["name"] == "1 GET /v1/x?api_key=[redacted]&a=1"
