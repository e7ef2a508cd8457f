"""The judge tells right answers, harm and wrong questions apart; the recorder keeps what a server answered."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.conformance.reference.upstream import Received, Script, Upstream, answer
from corrigible.schema.exchange import Request
from tests._support.rows import rows

from . import case as case_module
from . import record, replay
from .case import Call, Case, document
from .judge import Episode, Reply, Verdict, follow, is_offered, is_same, judge, kind_of, wrong_edits

SENT = Call(method="POST", path="/things", body={"nmae": "a"})
RIGHT = Call(method="POST", path="/things", body={"name": "a"})
OTHER = {"op": "replace", "path": "/body/nmae", "value": "b"}
RENAMED = {"op": "move", "from": "/body/nmae", "path": "/body/name"}


def feedback(*suggestions: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"type": "recovery_guidance", "message": "m", "recovery": "correctable", **members} | {
        "suggestions": list(suggestions)
    }


def edit(operation: dict[str, Any], **safety: bool) -> dict[str, Any]:
    return {"action": "MODIFY_PARAMS", "parameters": {}, "patch": [operation], "safety": safety}


def question(pointer: str) -> dict[str, Any]:
    return {
        "action": "MODIFY_PARAMS",
        "parameters": {},
        "applicability": "HAS_PLACEHOLDERS",
        "placeholders": [{"pointer": pointer, "ask": "user", "schema": {}}],
    }


END = {"action": "NO_RECOVERY_AVAILABLE", "parameters": {}}


def followed(cls: str, *answers: dict[str, Any] | None, ask_at: list[str] | None = None) -> tuple[Case, Episode]:
    """Return what follows from one answer after the other; after the last one nothing is recorded."""
    case = Case.model_validate(
        {"name": "x", "kind": "x", "class": cls, "request": SENT, "right": [RIGHT], "ask_at": ask_at or ["/body/name"]}
    )
    waiting = list(answers)

    def send(request: Request) -> Reply | None:
        return Reply(400, waiting.pop(0)) if waiting else None

    return case, follow(document(SENT.wire({})), send)


@rows(
    ("cls", "answers", "expected"),
    [
        ("auto", [feedback(edit(RENAMED))], Verdict(True)),
        ("auto", [None], Verdict(False)),
        ("auto", [feedback(edit(OTHER))], Verdict(False, harm=True)),
        ("auto", [feedback(edit(OTHER, changes_intent=True))], Verdict(False, flagged_harm=True)),
        ("auto", [feedback(edit(OTHER)), None], Verdict(False)),  # refused again: nothing was done
        ("auto", [feedback(edit(RENAMED, requires_confirmation=True))], Verdict(True, confirmed=True)),
        ("auto", [feedback(edit(OTHER, requires_confirmation=True))], Verdict(False, asked_wrong=True)),
        ("flagged", [feedback(edit(RENAMED))], Verdict(False, harm=True)),
        ("flagged", [feedback(edit(RENAMED, changes_intent=True))], Verdict(True)),
        ("flagged", [feedback(question("/body/name"))], Verdict(True)),
        ("either", [feedback(question("/body/name"))], Verdict(True)),
        ("either", [feedback(question("/body/size"))], Verdict(False, asked_wrong=True)),
        ("ask", [feedback(question("/body/name"))], Verdict(True)),
        ("ask", [feedback(question("/query/page"))], Verdict(False, asked_wrong=True)),
        ("ask", [feedback(edit(RENAMED))], Verdict(False, harm=True)),
        ("ask", [feedback(END, recovery="terminal")], Verdict(False)),
        ("never", [feedback(END, recovery="terminal")], Verdict(True)),
        ("never", [feedback(edit(RENAMED))], Verdict(False, harm=True)),
        ("already", [None], Verdict(False)),
        ("wait", [feedback(question("/body/name"))], Verdict(False)),
    ],
)
def test_what_is_right_and_what_is_harm(cls: str, answers: list[dict[str, Any] | None], expected: Verdict) -> None:
    assert judge(*followed(cls, *answers, ask_at=["/body/name"])) == expected


WAIT = {"action": "WAIT_AND_RETRY", "parameters": {}}
ADDED = {"op": "add", "path": "/body/name", "value": "a"}


@rows(
    ("cls", "answers", "kind", "offered", "wrong"),
    [
        ("auto", [feedback(edit(RENAMED))], "unasked", True, 0),
        ("auto", [feedback(edit(OTHER))], "unasked", False, 1),
        ("auto", [feedback(edit(OTHER)), None], "silence", False, 1),  # the server only refused it
        ("auto", [feedback(edit(ADDED)), feedback(edit({"op": "remove", "path": "/body/nmae"}))], "unasked", True, 0),
        ("auto", [feedback(edit(ADDED)), feedback(question("/body/size"))], "question", False, 0),  # one step of two
        ("auto", [feedback(edit(ADDED))], "unasked", False, 1),
        ("auto", [feedback(edit(RENAMED, requires_confirmation=True))], "to confirm", True, 0),
        ("auto", [feedback(edit(OTHER, requires_confirmation=True))], "to confirm", False, 0),
        ("ask", [feedback(question("/body/name"))], "question", False, 0),
        ("never", [feedback(END, recovery="terminal")], "statement", False, 0),
        ("never", [feedback(edit(OTHER))], "unasked", False, 1),
        ("wait", [feedback(WAIT, recovery="transient", retry={"after_seconds": 1.0})], "wait", True, 0),
        ("wait", [None], "silence", False, 0),
    ],
)
def test_kinds_of_answers_and_edits_that_are_wrong(
    cls: str, answers: list[dict[str, Any] | None], kind: str, offered: bool, wrong: int
) -> None:
    case, episode = followed(cls, *answers)
    assert (kind_of(episode), is_offered(case, episode), wrong_edits(case, episode)) == (kind, offered, wrong)


def test_a_step_that_mends_one_fault_of_several_is_no_wrong_edit() -> None:
    case, episode = followed("ask", feedback(edit(RENAMED)), feedback(question("/body/size")))
    nothing_is_right = case.model_copy(update={"right": []})
    assert wrong_edits(nothing_is_right, episode) == 1
    assert wrong_edits(nothing_is_right.model_copy(update={"steps": case.right}), episode) == 0


def test_a_number_is_the_same_with_a_point() -> None:
    sent = Request("POST", "/vectors", {}, {}, {"at": [1, 0.5]})
    assert is_same(sent, dataclasses.replace(sent, body={"at": [1.0, 0.5]}))
    assert not is_same(sent, dataclasses.replace(sent, body={"at": [1.5, 0.5]}))


def test_a_recorded_server_is_replayed_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    things: dict[str, Any] = {}

    def api(received: Received) -> Script:
        sent = received.sent
        name = sent.target.rpartition("/")[2]
        if sent.method == "GET":
            return answer(200, things[name]) if name in things else answer(404, {"error": "not found"})
        body = json.loads(sent.body)
        if "name" not in body:
            return answer(400, {"error": "name is required"})
        if body["name"] in things:
            return answer(409, {"error": f"'{body['name']}' already exists"})
        things[body["name"]] = body
        return answer(201, body)

    for module in (case_module, record, replay):
        monkeypatch.setattr(module, "FOLDER", tmp_path)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "openapi.json").write_bytes(orjson.dumps(DESCRIPTION))
    (tmp_path / "truth.py").write_text(TRUTH, "utf-8")
    with Upstream(api) as server:
        arguments = ["shop", "--url", server.url, "--truth", str(tmp_path / "truth.py")]
        assert record.main([*arguments, "--verify"]) == 0
        things.clear()
        assert record.main(arguments) == 0
    assert record.main(["shop"]) == 0
    output = capsys.readouterr().out
    assert "judged otherwise" not in output and "NOT AS THE TRUTH SAYS" not in output
    stranger = case_module.load("shop")
    assert output.splitlines()[-1] == "| Shop 1 (by hand; Python) | 1 of 1, 1 of 1 | 1 of 1, 1 of 1 | 0 | 0 | 0 | 0 |"
    assert list(stranger.cases[1].exchanges[0].lookups) == ["GET /things/a1001"]
    assert "authorization" not in (tmp_path / "shop" / "cases.json").read_text("utf-8").lower()


THING = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "size": {}}}
ANY = {"default": {"description": "any"}}
DESCRIPTION = {
    "openapi": "3.0.3",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/things": {
            "post": {"requestBody": {"content": {"application/json": {"schema": THING}}}, "responses": ANY},
        },
        "/things/{name}": {
            "get": {
                "parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": ANY,
            },
        },
    },
}
TRUTH = """
ABOUT = dict(server="Shop", version="1", framework="by hand", language="Python", licence="MIT", date="2026-11-22",
             description="openapi.json")
post = lambda body: dict(method="POST", path="/things", body=body, auth="Bearer x")
CASES = [
    dict(name="misspelt", kind="misspelt", cls="auto", note="", setup=[], at=[], term=False,
         req=post({"nmae": "a{n}"}), fix=[post({"name": "a{n}"})]),
    dict(name="exists", kind="duplicate", cls="already", note="", at=[], term=False, setup=[post({"name": "a{n}"})],
         req=post({"name": "a{n}"}), fix=[]),
]
"""
