"""The same services behind JSON: Connect, Twirp and grpc-gateway, described by their descriptors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.adapters.protobuf.field_schema import Constraints, gateway_paths
from corrigible.adapters.protobuf.service_description import ProtobufDescription
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.api_profile import match_operation
from corrigible.proxy.core.decision import Annotate, Decision
from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Exchange, Request
from corrigible.schema.reader import NeedsInput, Next, apply
from tests._support.repaired import agrees
from tests._support.rows import rows

PATH = "/guarded.v1.Things/Store"
GOOD: dict[str, Any] = {"name": "x", "parts": [{"code": "abc"}], "word": "w"}


@pytest.fixture(scope="module")
def engine(descriptor_set: Path) -> Engine:
    return build_engine([], descriptor_set)


def decided(engine: Engine, request: Request, status: int, answer: Any) -> Decision:
    asking = engine.decide(Exchange(request, status, {}, json.dumps(answer).encode(), "id", 0.0))
    with pytest.raises(StopIteration) as done:
        next(asking)
    decision: Decision = done.value.value
    return decision


CONNECT = {"code": "invalid_argument", "message": "no"}


@rows(
    ("change", "answer", "following"),
    [
        ({"colro": "COLOR_RED"}, CONNECT, {"color": "COLOR_RED"}),
        ({"color": "COLOR_RDE"}, CONNECT, {"color": "COLOR_RED"}),
        ({"color": "red"}, CONNECT, {"color": "COLOR_RED"}),
        ({"agreed": "true"}, CONNECT, {"agreed": True}),
        ({"languages": "en"}, CONNECT, {"languages": ["en"]}),
        (
            {"ratio": 7},
            {"code": 3, "message": "validation error:\n - ratio: value must be less than 1 [float.lte]", "details": []},
            None,
        ),
        ({"ratio": 7}, {"code": 3, "message": "invalid Thing.Ratio: value must be inside range [0, 1]"}, None),
        ({"ratio": 7}, {"code": "invalid_argument", "msg": "no", "meta": {"argument": "ratio"}}, None),
        (
            {"ratio": 7},
            {
                "error": {
                    "code": 400,
                    "message": "no",
                    "status": "INVALID_ARGUMENT",
                    "details": [
                        {
                            "@type": "type.googleapis.com/google.rpc.BadRequest",
                            "fieldViolations": [{"field": "ratio", "description": "too big"}],
                        }
                    ],
                }
            },
            None,
        ),
        # Connect without `debug`: BadRequest{fieldViolations: [{field: ratio, description: too big}]} as bytes
        (
            {"ratio": 7},
            CONNECT | {"details": [{"type": "google.rpc.BadRequest", "value": "ChAKBXJhdGlvEgd0b28gYmln"}]},
            None,
        ),
    ],
)
def test_the_same_repairs(change: Any, answer: Any, following: Any, engine: Engine) -> None:
    request = Request("POST", PATH, body={**GOOD, **change})
    decision = decided(engine, request, 400, answer)
    assert isinstance(decision, Annotate), decision
    outcome = apply(decision.feedback, request, confirm=agrees)
    if following is None:  # a share that is none is asked for, at its place
        assert isinstance(outcome, NeedsInput)
        assert [asked.pointer for asked in outcome.placeholders] == ["/body/ratio"]
        return
    assert isinstance(outcome, Next)
    assert outcome.request.body == {**GOOD, **following}


def test_names_as_the_proto_has_them(engine: Engine) -> None:
    request = Request("POST", PATH, body={**GOOD, "by_number": {"4": {"code": "a"}}})
    decision = decided(engine, request, 400, CONNECT)
    assert isinstance(decision, Annotate)
    outcome = apply(decision.feedback, request, confirm=agrees)
    assert isinstance(outcome, NeedsInput)
    assert [asked.pointer for asked in outcome.placeholders] == ["/body/by_number/4/code"]


@pytest.mark.parametrize("body", [{**GOOD, "left": None}, {**GOOD, "since": 3, "until": "4"}, {**GOOD, "color": 1}])
def test_other_spellings_of_json_are_right(body: Any, descriptor_set: Path, messages: Any) -> None:
    description = ProtobufDescription(messages.descriptors)
    assert description.schema_violations(Request("POST", PATH, body=body), PATH[1:]) == ()


@pytest.mark.parametrize("path", [PATH, f"/twirp{PATH}"])
def test_paths_name_methods(path: str, engine: Engine) -> None:
    found = match_operation(engine.profiles, Request("POST", path))
    assert found is not None and found.operation == PATH[1:]


def test_a_misspelt_path(engine: Engine) -> None:
    request = Request("POST", "/guarded.v1.Things/Stores", body=GOOD)
    decision = decided(engine, request, 404, {"code": "unimplemented", "message": "no"})
    assert isinstance(decision, Annotate)
    outcome = apply(decision.feedback, request, confirm=agrees)
    assert isinstance(outcome, Next)
    assert outcome.request.path == PATH


def file(name: str, text: Any) -> descriptor_pb2.FileDescriptorProto:
    made = descriptor_pb2.FileDescriptorProto(name=name)
    text(made)
    return made


def test_a_gateways_own_paths() -> None:
    from google.api import annotations_pb2, http_pb2

    def service(made: Any) -> None:
        made.package = "shop.v1"
        made.syntax = "proto3"
        made.dependency.append("google/api/annotations.proto")
        made.message_type.add(name="Order")
        orders = made.service.add(name="Orders")
        for name, rule in (
            ("Create", http_pb2.HttpRule(post="/v1/orders", body="*")),
            ("Update", http_pb2.HttpRule(patch="/v1/orders/{id}", body="*")),
            ("Import", http_pb2.HttpRule(post="/v1/orders:import", body="orders")),
        ):
            method = orders.method.add(name=name, input_type=".shop.v1.Order", output_type=".shop.v1.Order")
            method.options.Extensions[annotations_pb2.http].CopyFrom(rule)

    descriptors = Descriptors([file("shop.proto", service)])
    assert list(gateway_paths(descriptors.pool, descriptors.methods)) == [("POST /v1/orders", "/shop.v1.Orders/Create")]


def test_what_aips_call_required() -> None:
    from google.api import field_behavior_pb2

    def message(made: Any) -> None:
        made.package = "shop.v1"
        made.syntax = "proto3"
        made.dependency.append("google/api/field_behavior.proto")
        order = made.message_type.add(name="Order")
        for number, (name, kind) in enumerate((("customer", 9), ("count", 5)), start=1):
            field = order.field.add(name=name, number=number, type=kind, label=1)
            field.options.Extensions[field_behavior_pb2.field_behavior].append(field_behavior_pb2.REQUIRED)
        made.service.add(name="Orders").method.add(
            name="Create", input_type=".shop.v1.Order", output_type=".shop.v1.Order"
        )

    description = ProtobufDescription(Descriptors([file("shop.proto", message)]))
    found = description.schema_violations(Request("/shop.v1.Orders/Create", "", body={}), "shop.v1.Orders/Create")
    # A count of 0 may be meant.
    assert [(violation.pointer, violation.keyword) for violation in found] == [("/body/customer", "required")]
    assert description.facts("shop.v1.Orders/Create")["required"] == ["customer"]


def test_nothing_is_constrained_where_nobody_says_so() -> None:
    constraints = Constraints(descriptor_pool.DescriptorPool())
    field = descriptor_pb2.FieldDescriptorProto.DESCRIPTOR.fields_by_name["name"]
    assert (constraints.of_field(field), constraints.of_message(field.containing_type)) == ({}, {})
