"""Corrections in the words of tools: no pointer, no path that an argument stands for."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from corrigible.client.policy import Policy
from corrigible.client.toolset import Toolset
from tests._support.rows import rows

STRING = {"type": "string"}
ROOM = {
    "type": "object",
    "properties": {"name": STRING, "guests": {"type": "array", "items": {"type": "object"}}, "price list": STRING},
}
JSON = {"content": {"application/json": {"schema": ROOM}}}
PETS: dict[str, Any] = {
    "openapi": "3.1.0",
    "servers": [{"url": "/api"}],
    "paths": {
        "/hotels/{hotel}/rooms/{room}": {
            "parameters": [
                {"name": "hotel", "in": "path", "schema": STRING},
                {"name": "room", "in": "path", "schema": {"type": "integer"}},
            ],
            "put": {
                "operationId": "putRoom",
                "requestBody": JSON,
                "parameters": [
                    {"name": "dry", "in": "query", "schema": {"type": "boolean"}},
                    {"name": "page", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
                    {"name": "If-Match", "in": "header", "schema": STRING},
                ],
            },
            "get": {"operationId": "getRoom"},
        },
        "/hotels": {"get": {"operationId": "listHotels"}},
    },
}
SENT = {"hotel": "ritz", "room": 12, "body": {"name": "Suit", "guests": [{"age": "3"}]}, "dry": True}


def told(suggestion: dict[str, Any], arguments: dict[str, Any] = SENT, tool: str = "putRoom", **more: Any) -> list[str]:
    """Return what a model is told after the heading and the API's own words."""
    feedback = {
        "message": "Refused.",
        "suggestions": [{"action": "MODIFY_PARAMS", "parameters": {}, **suggestion}],
        **more,
    }
    answer = httpx.Response(422, json={"detail": "no", "recovery_feedback": feedback})
    transport = httpx.MockTransport(lambda _: answer)
    text = Toolset(PETS, "http://127.0.0.1:1", transport=transport).call(tool, arguments).text
    assert re.search(r"/(body|query|headers|path|method)\b", text) is None
    return text.splitlines()[3:]


def replaced(path: str, value: Any) -> dict[str, Any]:
    return {"patch": [{"op": "replace", "path": path, "value": value}]}


def put(**changed: Any) -> str:
    return str({**SENT, **changed}).replace("'", '"').replace("True", "true")


@pytest.mark.parametrize(
    ("path", "value", "line", "changed"),
    [
        ("/body/name", "Suite", 'body.name: "Suit" -> "Suite"', {"body": {"name": "Suite", "guests": [{"age": "3"}]}}),
        ("/body/guests/0/age", 3, 'body.guests[0].age: "3" -> 3', {"body": {"name": "Suit", "guests": [{"age": 3}]}}),
        ("/path", "/api/hotels/ritz/rooms/13", "room: 12 -> 13", {"room": 13}),
        ("/query/dry", "false", "dry: true -> false", {"dry": False}),
    ],
)
def test_an_edit_is_one_of_arguments(path: str, value: Any, line: str, changed: dict[str, Any]) -> None:
    lines = told(replaced(path, value))
    assert lines[:2] == ["Correction:", f"  {line}"]
    assert lines[2].startswith("Call putRoom with ")
    for name, new in changed.items():
        assert f'"{name}": {str(new).replace(chr(39), chr(34)).replace("False", "false")}' in lines[2]


def test_names_that_are_no_words_are_quoted() -> None:
    added = {"patch": [{"op": "add", "path": "/body/price list", "value": 1}]}
    assert told(added)[1] == '  body["price list"]: -> 1'


def test_a_misspelt_member_is_moved() -> None:
    moved = {"patch": [{"op": "move", "from": "/body/name", "path": "/body/nom"}]}
    assert told(moved)[1] == "  body.name: move to body.nom"
    two = [{"op": "remove", "path": "/body/name"}, {"op": "add", "path": "/body/a", "value": "Suit"}]
    two.append({"op": "add", "path": "/body/b", "value": "Suit"})
    lines = ['  body.name: "Suit" -> (removed)', '  body.a: -> "Suit"', '  body.b: -> "Suit"']
    assert told({"patch": two})[1:4] == lines


def test_parameters_without_a_patch_are_members_of_the_body() -> None:
    assert told({"parameters": {"name": "Suite"}})[1] == '  body.name: "Suit" -> "Suite"'


def test_a_header_is_its_argument() -> None:
    added = {"patch": [{"op": "add", "path": "/headers/if-match", "value": "v2"}]}
    assert told(added)[1] == '  If-Match: -> "v2"'


def test_a_header_that_is_no_argument_makes_no_call() -> None:
    lines = told({"patch": [{"op": "add", "path": "/headers/x-other", "value": "v2"}]})
    assert lines == ["Correction:", "  no tool here makes the corrected request: PUT /api/hotels/ritz/rooms/12"]


def test_another_operation_is_another_tool() -> None:
    patch = [{"op": "replace", "path": "/method", "value": "GET"}, {"op": "remove", "path": "/body"}]
    patch += [{"op": "remove", "path": "/query/dry"}]
    call = 'getRoom with {"hotel": "ritz", "room": 12}'
    assert told({"patch": patch}) == ["Correction:", f"  call another tool: {call}", f"Call {call}"]


def test_steps_are_calls_and_the_last_one_comes_then() -> None:
    step = {"method": "GET", "path": "/api/hotels"}
    lines = told({**replaced("/body/name", "Suite"), "steps": [step]})
    assert lines[1] == "  first call listHotels with {}"
    assert lines[-1].startswith('Then call putRoom with {"hotel"')
    lines = told({**replaced("/body/name", "Suite"), "steps": [{**step, "path": "/api/other"}]})
    assert lines[1] == "  first, and not by a tool: GET /api/other"
    assert lines[-1] == '  body.name: "Suit" -> "Suite"'


def test_what_is_lost_is_named_by_its_argument() -> None:
    safety = {"loses": ["/query/dry", "/body/guests/0", "/path"]}
    (heading, *_) = told({"patch": [{"op": "remove", "path": "/query/dry"}], "safety": safety})
    assert heading == "Correction, only if the user agrees (it loses dry, body.guests[0], hotel, room):"


@rows(
    ("pointer", "schema", "line"),
    [
        ("/body/note", {"type": "string"}, "body.note: ask the user for a value (string)"),
        ("/body/guests/-", None, "body.guests (a new element): ask the user for a value"),
        ("/query/page[size]", None, "page.size: ask the user for a value"),
        ("/query/dry", {"enum": ["true"]}, 'dry: ask the user for a value, one of "true"'),
        ("/headers/if-match", None, "If-Match: ask the user for a value"),
        (
            "/path",
            {"enum": ["/api/hotels/ritz/rooms/13", "/api/hotels/ritz/rooms/14"]},
            "room: ask the user for a value, one of 13, 14",
        ),
        (
            "/path",
            {"type": "string", "pattern": "^/api/hotels/ritz/rooms/-?[0-9]+$"},
            "room: ask the user for a value (integer)",
        ),
        (
            "/path",
            {"type": "string", "pattern": "^/api/hotels/[^/]+/rooms/12$"},
            "hotel: ask the user for a value (string)",
        ),
        ("/path", {"type": "string"}, "hotel, room: ask the user for a value"),
        ("/path", {"pattern": "^/"}, "another call: ask the user which one of the other tools does what was meant"),
        ("/method", {"enum": ["GET"]}, "another call: ask the user which one: getRoom"),
        ("/method", None, "another call: ask the user which one of the other tools does what was meant"),
        ("/query/other]", None, "other]: ask the user for a value"),
    ],
)
def test_a_question_is_about_an_argument(pointer: str, schema: dict[str, Any] | None, line: str) -> None:
    placeholder = {"pointer": pointer, "ask": "user", **({"schema": schema} if schema else {})}
    assert told({"placeholders": [placeholder], "message": "Give it."}) == ["Correction: Give it.", f"  {line}"]


def test_a_choice_of_paths_may_be_one_of_calls() -> None:
    paths = {"enum": ["/api/hotels", "/api/none", "/api/hotels/ritz/rooms/13"]}
    lines = told(
        {"placeholders": [{"pointer": "/path", "ask": "agent", "schema": paths}]},
        {"hotel": "ritz", "room": 12},
        "getRoom",
    )
    assert lines == [
        "Correction:",
        '  another call: choose one: listHotels with {}; or getRoom with {"hotel": "ritz", "room": 13}',
    ]


def test_alternatives_say_that_the_first_is_only_one() -> None:
    group = {"group": {"id": "g", "relation": "one_of"}}
    one, two = ({"action": "MODIFY_PARAMS", "parameters": {}, **replaced("/body/name", name), **group} for name in "ab")
    answer = httpx.Response(422, json={"recovery_feedback": {"message": "Refused.", "suggestions": [one, two]}})
    tools = Toolset(PETS, "http://127.0.0.1:1", transport=httpx.MockTransport(lambda _: answer))
    lines = tools.call("putRoom", SENT).text.splitlines()
    assert lines[2:5] == ["Choose one correction:", '  1. body.name: "Suit" -> "a"', '  2. body.name: "Suit" -> "b"']
    assert lines[5].startswith("If the first is chosen, call putRoom with ")


def test_what_is_there_already_is_read_with_a_tool() -> None:
    end = {
        "action": "ALREADY_DONE",
        "message": "It is there.",
        "parameters": {"path": "/api/hotels/ritz/rooms/12", "n": 1},
    }
    assert told(end, recovery="terminal") == [
        "Already done, nothing is to be sent: It is there.",
        '  to read it, call getRoom with {"hotel": "ritz", "room": 12}',
        "  n: 1",
    ]


def test_the_path_of_a_call_that_others_have_to_make_is_nothing_to_read() -> None:
    end = {
        "action": "ESCALATE",
        "message": "Somebody may.",
        "parameters": {"actor": "somebody_else", "method": "DELETE", "path": "/api/hotels/ritz/rooms/12"},
    }
    said = told(end, recovery="terminal")
    assert said[-1] == '  path: "/api/hotels/ritz/rooms/12"'
    assert not any("call" in line for line in said[1:])


def test_a_correction_that_does_not_fit_is_told_by_its_places() -> None:
    patch = [
        {"op": "test", "path": "/body/name", "value": "other"},
        {"op": "replace", "path": "/body/name", "value": "b"},
        {"op": "move", "from": "/body/guests/0", "path": "/query/dry"},
        {"op": "remove", "path": "/body/guests"},
    ]
    assert told({"patch": patch}) == [
        "Correction:",
        '  body.name: -> "b"',
        "  body.guests[0]: move to dry",
        "  body.guests: -> (removed)",
    ]


def test_what_was_sent_before_is_told_as_calls() -> None:
    proved = {"applicability": "MACHINE_APPLICABLE", "verification": {"status": "verified", "method": "dry_run"}}
    steps = [{"method": "GET", "path": "/api/hotels"}, {"method": "POST", "path": "/api/keys", "body": {"a": 1}}]
    one = {"action": "MODIFY_PARAMS", "parameters": {}, **replaced("/body/name", "Suite"), "steps": steps, **proved}
    feedback = {"message": "Refused.", "suggestions": [one], "retry": {"after_seconds": 0.01}}
    answers = [httpx.Response(422, json={"recovery_feedback": feedback}), *[httpx.Response(200, json={})] * 3]
    received: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        received.append(f"{request.method} {request.url.raw_path.decode()}")
        return answers.pop(0)

    policy = Policy(on_refusal="confirm", confirm=lambda _: True, operations=lambda _: True)
    tools = Toolset(
        PETS, "http://127.0.0.1:1", transport=httpx.MockTransport(answer), query={"api_key": "7"}, policy=policy
    )
    assert tools.call("putRoom", SENT).text.splitlines() == [
        'Corrected and sent again: waited 0.01 s; called listHotels with {}; sent POST /api/keys body {"a": 1}; '
        'body.name: "Suit" -> "Suite"',
        "{}",
    ]
    room = "PUT /api/hotels/ritz/rooms/12?dry=true&api_key=7"
    assert received == [room, "GET /api/hotels?api_key=7", "POST /api/keys?api_key=7", room]
