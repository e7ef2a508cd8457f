"""Members one level too high or too low: the value goes where the description has it, and is never dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from corrigible.adapters.openapi.description import Description
from corrigible.adapters.openapi.load import load
from corrigible.rules.schema_repair.repair import repair
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import NeedsInput, Next, apply


def closed(required: list[str], **properties: Json) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


TEXT: dict[str, Json] = {"type": "string"}
CONFIG = closed(["url"], url=TEXT, content_type={"type": "string", "enum": ["json", "form"]}, token=TEXT)
ADDRESS = closed(["city", "zip"], city=TEXT, zip={"type": "string", "pattern": "^[0-9]{5}$"})
CUSTOMER = closed(["name"], name=TEXT, nick=TEXT, address={"anyOf": [ADDRESS, {"type": "null"}]})
HOOK = closed(
    ["config", "channel"],
    config=CONFIG,
    channel=TEXT,
    active={"type": "boolean"},
    owner={"anyOf": [CUSTOMER, {"type": "null"}]},
)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Description:
    content = {"application/json": {"schema": HOOK}}
    paths = {"/hooks": {"post": {"operationId": "hook", "requestBody": {"content": content}, "responses": {}}}}
    folder = tmp_path_factory.mktemp("hooks")
    described = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}
    (folder / "hooks.json").write_text(json.dumps(described), "utf-8")
    return load(folder / "hooks.json", cache=folder)


def read(hooks: Description, body: dict[str, Any]) -> Next | NeedsInput | Any:
    request = Request("POST", "/hooks", body=body)
    found = [
        repair(violation, request, f"{at}.") for at, violation in enumerate(hooks.schema_violations(request, "hook"))
    ]
    said = [one for one in found if one is not None]
    kinds = {one.type for one in said}
    return apply(
        parse(
            {
                "type": "intent_disambiguation" if "intent_disambiguation" in kinds else "recovery_guidance",
                "message": "Refused.",
                "suggestions": [suggestion for one in said for suggestion in one.suggestions],
            }
        ),
        request,
    )


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            {"channel": "c", "url": "http://x", "content_type": "form"},
            {"channel": "c", "config": {"url": "http://x", "content_type": "form"}},
        ),
        (
            {"channel": "c", "url": "http://x", "config": {"content_type": "form"}},
            {"channel": "c", "config": {"url": "http://x", "content_type": "form"}},
        ),
        ({"config": {"url": "http://x", "channel": "c"}}, {"channel": "c", "config": {"url": "http://x"}}),
    ],
    ids=["into an object that is missing", "into one that is there", "out of one"],
)
def test_what_is_missing_there_goes_there(hooks: Description, body: dict[str, Any], wanted: dict[str, Any]) -> None:
    outcome = read(hooks, body)
    assert isinstance(outcome, Next)
    assert outcome.request.body == wanted


def test_into_an_object_that_may_be_null(hooks: Description) -> None:
    owner = {"name": "Ann", "city": "Bonn", "zip": "53111"}
    outcome = read(hooks, {"channel": "c", "config": {"url": "http://x"}, "owner": owner})
    assert isinstance(outcome, Next)
    assert outcome.request.body["owner"] == {"name": "Ann", "address": {"city": "Bonn", "zip": "53111"}}


@pytest.mark.parametrize(
    ("body", "first"),
    [
        ({"content_type": "form"}, "/body/config/content_type"),
        ({"config": {"url": "http://x", "active": False}}, "/body/active"),
    ],
    ids=["nothing is missing there", "nor above"],
)
def test_what_one_other_place_declares_is_moved_once_that_is_confirmed_and_never_left_out(
    hooks: Description, body: dict[str, Any], first: str
) -> None:
    outcome = read(hooks, {"channel": "c", "config": {"url": "http://x"}, **body})
    assert isinstance(outcome, NeedsInput) and outcome.confirm
    (offered,) = [one.suggestion for one in outcome.choices]
    assert [offered.patch[-1].op, offered.patch[-1].path] == ["move", first]


def test_under_a_name_that_everything_has_another_level_is_a_choice(hooks: Description) -> None:
    body, first = {"owner": {}, "name": "Ann"}, "/body/owner/name"
    outcome = read(hooks, {"channel": "c", "config": {"url": "http://x"}, **body})
    assert isinstance(outcome, NeedsInput)
    offered = [one.suggestion for one in outcome.choices if one.suggestion.patch]
    assert [offered[0].patch[-1].op, offered[0].patch[-1].path] == ["move", first]
    assert offered[1].patch[-1].op == "remove"


@pytest.mark.parametrize(
    "body",
    [{"content_type": "xml"}, {"zip": "53111"}, {"token": "t-1"}],
    ids=["a value that is none there", "two levels away", "a secret is never repeated"],
)
def test_what_does_not_fit_there_is_not_sent_there(hooks: Description, body: dict[str, Any]) -> None:
    outcome = read(hooks, {"channel": "c", "config": {"url": "http://x"}, **body})
    assert isinstance(outcome, NeedsInput)
    assert {one.op for choice in outcome.choices for one in choice.suggestion.patch} <= {"test", "remove"}
