"""Descriptions as canonical operations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corrigible.adapters.mapping.operation import CanonicalOperation
from corrigible.adapters.mapping.spec_file import read_spec
from corrigible.rules.errors import AuthoringError

STRANGERS = Path(__file__).parents[2] / "strangers"


def written(folder: Path, document: object, name: str = "api.json") -> Path:
    file = folder / name
    file.write_text(json.dumps(document), "utf-8")
    return file


def openapi(paths: object, schemas: object = None, **more: object) -> dict[str, object]:
    components = {"schemas": schemas or {}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "2"},
        "paths": paths,
        "components": components,
    } | more


def only(file: Path) -> CanonicalOperation:
    (document,) = read_spec(file)
    (operation,) = document.operations
    return operation


def answering(schema: object) -> dict[str, object]:
    content = {"application/json": {"schema": schema}}
    return {"/things": {"get": {"responses": {"200": {"description": "", "content": content}}}}}


def fields(operation: CanonicalOperation) -> dict[str, str]:
    return {one.pointer: one.type for one in (*operation.arguments, *operation.results)}


def test_arguments_and_results_have_pointers_types_and_what_is_required(tmp_path: Path) -> None:
    item = {
        "parameters": [{"in": "path", "name": "shop/id", "schema": {"type": "string"}, "description": "Which shop."}],
        "post": {
            "operationId": "createOrder",
            "deprecated": True,
            "tags": ["orders"],
            "parameters": [
                {"in": "query", "name": "dry", "schema": {"type": "boolean"}},
                {"in": "header", "name": "If-Match", "required": True, "schema": {"type": "string"}},
                {"in": "header", "name": "Authorization", "schema": {"type": "string"}},
                {"in": "cookie", "name": "session", "schema": {"type": "string"}},
            ],
            "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}},
            "responses": {
                "201": {
                    "description": "",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}},
                },
                "400": {"description": "", "content": {"application/json": {"schema": {"type": "object"}}}},
            },
        },
    }
    order = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "items": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "integer"}}}},
            "notes": {"type": "array", "items": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "state": {"type": "string", "enum": ["open", "paid"]},
        },
    }
    operation = only(written(tmp_path, openapi({"/shops/{shop/id}/orders": item}, {"Order": order})))
    assert (operation.api, operation.name, operation.key) == ("Shop 2", "createOrder", "POST /shops/{shop/id}/orders")
    assert (operation.deprecated, operation.tags, operation.schemas, operation.left_out) == (
        True,
        ("orders",),
        ("Order",),
        0,
    )
    assert {one.pointer: (one.type, one.required) for one in operation.arguments} == {
        "/path/shop~1id": ("string", True),
        "/query/dry": ("boolean", False),
        "/header/if-match": ("string", True),
        "/body/items": ("array", True),
        "/body/items/*/price": ("integer", False),
        "/body/notes": ("array", False),
        "/body/notes/*": ("string", False),
        "/body/labels": ("object", False),
        "/body/labels/*": ("string", False),
        "/body/state": ("string", False),
    }
    by_pointer = {one.pointer: one for one in operation.arguments}
    assert by_pointer["/path/shop~1id"].description == "Which shop."
    assert by_pointer["/body/state"].enum == ("open", "paid")
    assert {one.pointer for one in operation.results} == {
        one.pointer.replace("/body", "/result") for one in operation.arguments if one.pointer.startswith("/body")
    }


def test_a_schema_that_refers_to_itself_ends_and_is_counted(tmp_path: Path) -> None:
    node = {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/components/schemas/Node"}}}
    operation = only(written(tmp_path, openapi(answering({"$ref": "#/components/schemas/Node"}), {"Node": node})))
    assert fields(operation) == {"/result/name": "string", "/result/next": "object"}
    assert operation.left_out == 1


def test_a_wide_schema_is_read_up_to_a_bound_and_the_rest_is_counted(tmp_path: Path) -> None:
    wide = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(2_500)}}
    operation = only(written(tmp_path, openapi(answering(wide))))
    assert (len(operation.results), operation.left_out) == (2_000, 500)


THING = {"type": "object", "properties": {"id": {"type": "string"}}}
PARTS = {"allOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {}}}]}
ID_OR_THING = {"properties": {"to": {"anyOf": [{"type": "string"}, THING]}}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "array", "items": THING}, {"/result/*/id": "string"}),
        ({"type": "string"}, {"/result": "string"}),
        (PARTS, {"/result/a": "integer", "/result/b": ""}),
        (ID_OR_THING, {"/result/to": "string"}),  # the object comes only where it is asked for
        ({"properties": {"a": {"type": ["null", "integer"]}}}, {"/result/a": "integer"}),
    ],
)
def test_results_of_all_forms(tmp_path: Path, schema: object, expected: dict[str, str]) -> None:
    assert fields(only(written(tmp_path, openapi(answering(schema))))) == expected


def test_swagger_2_is_converted() -> None:
    (document,) = read_spec(STRANGERS / "acapy/swagger.json")
    assert len(document.operations) == 182
    create = next(one for one in document.operations if one.key == "POST /connections/create-invitation")
    assert {"/query/alias", "/body/my_label"} <= {one.pointer for one in create.arguments}
    assert {"/result/connection_id", "/result/invitation_url"} <= {one.pointer for one in create.results}


def test_descriptors_are_read_by_the_names_of_proto_json() -> None:
    (document,) = read_spec(STRANGERS / "containerd/descriptors.binpb", "containerd")
    create = next(
        one for one in document.operations if one.name == "containerd.services.containers.v1.Containers/Create"
    )
    assert (create.method, create.path) == ("POST", "/containerd.services.containers.v1.Containers/Create")
    assert fields(create)["/body/container/createdAt"] == "string"
    assert fields(create)["/body/container/labels/*"] == "string"


def test_comments_of_proto_files_are_descriptions(tmp_path: Path) -> None:
    file = tmp_path / "shop.proto"
    file.write_text(
        'syntax = "proto3"; package shop;\n'
        "message Order {\n  // In cents.\n  int64 price = 1;\n repeated Order parts = 2;}\n"
        "service Shop {\n  // Sells something.\n  rpc Sell(Order) returns (Order) { option deprecated = true; }\n}\n"
    )
    operation = only(file)
    assert (operation.description, operation.deprecated, operation.left_out) == ("Sells something.", True, 2)
    price = operation.arguments[0]
    assert (price.pointer, price.type, price.description) == ("/body/price", "string", "In cents.")


def test_what_proto_json_writes_as_text_is_text(tmp_path: Path) -> None:
    file = tmp_path / "shop.proto"
    kinds = ("int64", "fixed64", "uint64", "int32", "double", "repeated sint64", "map<string, uint64>")
    members = " ".join(f"{kind} f{number} = {number};" for number, kind in enumerate(kinds, 1))
    file.write_text(
        'syntax = "proto3"; package shop; import "google/protobuf/wrappers.proto";'
        f"message Order {{ {members} google.protobuf.Int64Value f8 = 8; }}"
        "service Shop { rpc Sell(Order) returns (Order); }"
    )
    kinds_read = {one.pointer.removeprefix("/body/"): (one.type, one.format) for one in only(file).arguments}
    assert kinds_read == {
        **{"f1": ("string", "int64"), "f2": ("string", "uint64"), "f3": ("string", "uint64")},
        **{"f4": ("integer", ""), "f5": ("number", ""), "f6": ("array", ""), "f6/*": ("string", "int64")},
        **{"f7": ("object", ""), "f7/*": ("string", "uint64"), "f8": ("string", "int64")},
    }


TOOL = {
    "tool_name": "Weather",
    "tool_description": "The weather",
    "api_list": [
        {
            "name": "Current",
            "url": "https://weather.example/v1/current/{city}",
            "description": "The weather now",
            "method": "GET",
            "required_parameters": [{"name": "city", "type": "STRING", "description": "A city", "default": "Oslo"}],
            "optional_parameters": [{"name": "days", "type": "NUMBER", "description": "", "default": ""}],
            "schema": {"data": {"temperature": "float", "tags": ["str"]}},
        }
    ],
}


def test_a_tool_of_toolbench_is_an_api(tmp_path: Path) -> None:
    operation = only(written(tmp_path, TOOL))
    assert (operation.api, operation.name, operation.path) == ("Weather", "Current", "/v1/current/{city}")
    assert fields(operation) == {
        "/path/city": "string", "/query/days": "number",
        "/result/data": "object", "/result/data/temperature": "number", "/result/data/tags": "array",
    }  # fmt: skip


def test_the_apis_that_queries_of_toolbench_list_are_read_once(tmp_path: Path) -> None:
    listed = {
        "category_name": "Weather",
        "tool_name": "Weather",
        "api_name": "Current",
        "api_description": "Now",
        "method": "GET",
    }
    queries = [{"query": f"q{at}", "api_list": [listed], "relevant APIs": [["Weather", "Current"]]} for at in range(2)]
    operation = only(written(tmp_path, queries))
    assert (operation.api, operation.name, operation.path, operation.tags) == (
        "Weather",
        "Current",
        "/Weather/Current",
        ("Weather",),
    )


@pytest.mark.parametrize(
    ("document", "problem"),
    [({"info": {}}, '"paths" is missing'), ([{"a": 1}], '"paths" is missing'), ("text", '"paths" is missing')],
)
def test_what_describes_nothing_is_refused_with_its_file(tmp_path: Path, document: object, problem: str) -> None:
    file = written(tmp_path, document)
    with pytest.raises(AuthoringError, match=problem) as caught:
        read_spec(file)
    assert str(file) in str(caught.value)


def test_a_folder_without_a_description_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match="no description in this folder"):
        read_spec(tmp_path)
