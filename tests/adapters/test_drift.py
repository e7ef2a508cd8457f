"""Exchanges whose description is true, and the same with each lie that a description tells."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openapi_core")

from corrigible.adapters.drift import OpenApiJudge, ProtobufJudge
from corrigible.schema.exchange import Json, Request

PET: Json = {
    "type": "object",
    "required": ["id", "name", "secret"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "name": {"type": "string"},
        "secret": {"type": "string", "writeOnly": True},
        "kind": {"type": "string", "enum": ["cat", "dog"]},
        "born": {"type": "string", "format": "date-time", "nullable": True},
        "owner": {"nullable": True, "allOf": [{"$ref": "#/components/schemas/Owner"}]},
        "friends": {"type": "array", "maxItems": 20, "items": {"$ref": "#/components/schemas/Owner"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
        "shape": {"oneOf": [{"$ref": "#/components/schemas/Owner"}, {"type": "integer"}]},
    },
}
OWNER: Json = {"type": "object", "properties": {"mail": {"type": "string"}}}
DESCRIPTION: Json = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "https://pets.example/v1"}],
    "paths": {
        "/pets/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "get": {
                "operationId": "getPet",
                "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer"}}],
                "responses": {
                    "200": {
                        "description": "",
                        "content": {"application/*": {"schema": {"$ref": "#/components/schemas/Pet"}}},
                    },
                    "4xx": {"$ref": "#/components/responses/Problem"},
                },
            },
            "head": {"operationId": "headPet", "responses": {"200": {"$ref": "#/components/responses/Problem"}}},
        },
        "/pets": {
            "post": {
                "operationId": "addPet",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
                "responses": {"default": {"description": "whatever comes"}},
            }
        },
    },
    "components": {
        "schemas": {"Pet": PET, "Owner": OWNER},
        "responses": {
            "Problem": {
                "description": "",
                "content": {
                    "application/problem+json": {
                        "schema": {"required": ["title"], "properties": {"title": {"type": "string"}}}
                    }
                },
            }
        },
    },
}
GOOD: dict[str, Any] = {"id": 1, "name": "Rex"}
INTEGER = "is integer, and described as string"
MEDIA = "application/json"
PROBLEM = "application/problem+json"


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> OpenApiJudge:
    file = tmp_path_factory.mktemp("drift") / "pets.json"
    file.write_text(json.dumps(DESCRIPTION), "utf-8")
    return OpenApiJudge(file)


def said(judge: OpenApiJudge, body: bytes | None, status: int, media: str, *, request: Request) -> list[str]:
    judged = judge.judged(request, status, media, body)
    assert judged is not None
    return [f"{one.kind}: {one.text}" for one in judged.drifts]


def read(judge: OpenApiJudge, body: Any, status: int = 200, media: str = MEDIA, **query: str) -> list[str]:
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    return said(judge, data, status, media, request=Request("GET", "/v1/pets/1", query=query))


def test_a_true_description_is_left_alone(judge: OpenApiJudge) -> None:
    answers: list[Any] = [
        GOOD,
        {**GOOD, "born": None, "owner": None, "kind": "dog", "shape": 3},
        {**GOOD, "born": "2026-11-30T10:00:00Z", "friends": [{"mail": "x"}] * 20, "shape": {"mail": "x"}},
        {**GOOD, "labels": {"anna@example.com": "a"}, "free": {"a": "x", "other": 1}},
    ]
    assert [found for one in answers for found in read(judge, one)] == []
    assert read(judge, {"title": "gone", "status": 404}, 404, PROBLEM) == [
        "undocumented_member: `status` of the answer is not described"
    ]
    assert read(judge, {"title": "gone"}, 404, PROBLEM) == []
    assert said(judge, None, 200, "", request=Request("HEAD", "/pets/1")) == []
    assert said(judge, b"<a/>", 418, "text/xml", request=Request("POST", "/pets", body={"name": "x"})) == []
    assert read(judge, GOOD, limit="3") == []
    assert judge.judged(Request("GET", "/other"), 200, "application/json", b"{}") is None


def test_each_lie_is_found_with_its_place_and_without_values(judge: OpenApiJudge) -> None:
    secret = "hunter2"
    lies: list[tuple[Any, str]] = [
        ({"id": 1}, "missing: `name` of the answer is missing, and described as required"),
        ({**GOOD, "id": secret}, "type: `id` of the answer is string, and described as integer"),
        ({**GOOD, "name": None}, "type: `name` of the answer is null, and described as string"),
        ({**GOOD, "kind": secret}, "value: `kind` of the answer has a value that the description does not list"),
        ({**GOOD, "born": secret}, "value: `born` of the answer is not as described: date-time"),
        ({**GOOD, "friends": [{"mail": 1}] * 9}, f"type: `friends[].mail` of the answer {INTEGER}"),
        ({**GOOD, "labels": {secret: 1}}, f"type: `labels.*` of the answer {INTEGER}"),
        ({**GOOD, "shape": secret}, "value: `shape` of the answer has none of the described forms"),
        ({**GOOD, "colour": secret}, "undocumented_member: `colour` of the answer is not described"),
        ({**GOOD, "a b@c": secret}, "undocumented_member: `*` of the answer is not described"),
        ({**GOOD, "owner": {"name": secret}}, "undocumented_member: `owner.name` of the answer is not described"),
        ([GOOD], "type: The answer is array, and described as object"),
        (b"hunter2", "type: The answer has a body that is not JSON"),
        (b"", "missing: The answer has no body, and one is described"),
    ]
    for body, text in lies:
        assert read(judge, body) == [text]
    assert read(judge, GOOD, 500) == ["undocumented_status: The answer has the status 500, which is not described"]
    other = "undocumented_media_type: The answer has the type {}, which is not described"
    assert read(judge, b"x", media="text/html") == [other.format("text/html")]
    assert read(judge, b"x", media=f"<{secret}") == [other.format("of its body")]


def test_a_call_is_judged_where_the_api_took_it(judge: OpenApiJudge) -> None:
    many = "type: `query.limit` of the call is string, and described as integer"
    assert read(judge, GOOD, limit="many") == [many]
    assert read(judge, {"title": "no"}, 400, PROBLEM, limit="many") == []
    call = Request("POST", "/pets", headers={"content-type": "application/json"}, body={"name": 3, "colour": "red"})
    assert said(judge, b"", 201, "", request=call) == [
        "missing: `secret` of the call is missing, and described as required",
        "type: `name` of the call is integer, and described as string",
        "undocumented_member: `colour` of the call is not described",
    ]


def test_one_judge_alone_says_nothing(judge: OpenApiJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(judge, {"id": 1}) != []
    monkeypatch.setattr(judge, "_second_places", lambda *_: ())
    assert read(judge, {"id": 1}) == []


def test_messages_of_grpc_are_judged_by_descriptors(tmp_path: Path) -> None:
    pytest.importorskip("grpc_tools")
    text = """
        syntax = "proto3"; package pets.v1;
        enum Kind {{ KIND_UNSPECIFIED = 0; KIND_CAT = 1; {0} }}
        message Part {{ string code = 1; {1} }}
        message Pet {{ {2} name = 1; Kind kind = 2; repeated Part parts = 3; map<string, Part> by_name = 4; }}
        service Pets {{ rpc Get(Part) returns (Pet); }}
    """
    for name, lines in (("true", ("KIND_DOG = 2;", "int32 size = 2;", "string")), ("lie", ("", "", "int32"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pets.proto").write_text(text.format(*lines), "utf-8")
    true, lie = (ProtobufJudge(tmp_path / name / "pets.proto") for name in ("true", "lie"))
    factory: Any = importlib.import_module("google.protobuf.message_factory")
    kinds = true._methods["/pets.v1.Pets/Get"]
    part, pet = (factory.GetMessageClass(one) for one in (kinds.request_type, kinds.response_type))
    answer = pet(name="hunter2", kind=2, parts=[part(code="a", size=3)], by_name={"hunter2": part(code="b")})
    call = ("/pets.v1.Pets/Get", part(code="x", size=1).SerializeToString(), answer.SerializeToString())
    assert true.judged(call).drifts == []
    assert sorted(one.text for one in lie.judged(call).drifts) == [
        "`2` of the call is not described",
        "`kind` of the answer has a value that the description does not list",
        "`name` of the answer is of another type",
        "`parts[].2` of the answer is not described",
    ]
    broken = lie.judged((call[0], b"", b"\xff\xff")).drifts
    assert [one.text for one in broken] == ["The answer is no message of the type pets.v1.Pet"]
