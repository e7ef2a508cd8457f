"""Messages of any shape are judged in steps that are linear in what they hold."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from corrigible.adapters.operation import ANY
from corrigible.adapters.protobuf.descriptors import Descriptors, load
from corrigible.adapters.protobuf.service_description import ProtobufDescription
from corrigible.rules.budget import Budget, within
from corrigible.schema.exchange import Json, Request
from tests._support.rows import rows

SHAPES: dict[str, Callable[[int], Json]] = {
    "unknown members": lambda n: {f"strange{i}": 1 for i in range(n)},
    "nearly known members": lambda n: {f"languagez{i}": 1 for i in range(n)},
    "messages": lambda n: {"parts": [{"strange": 1}] * n},
    "texts": lambda n: {"parts": [{}], "languages": [f"l{i}" for i in range(n)]},
    "many alike": lambda n: {"parts": [{}], "numbers": [*map(str, range(n))] * 2},
    "keys": lambda n: {"parts": [{}], "scores": {f"!{i}": 9 for i in range(n)}},
    "messages by key": lambda n: {"parts": [{}], "byNumber": {str(-i): {"strange": 1} for i in range(n)}},
}


@pytest.fixture(scope="module")
def description(descriptor_set: Path) -> ProtobufDescription:
    return ProtobufDescription(load(descriptor_set))


def judged(description: ProtobufDescription, body: Json) -> tuple[int, int]:
    """Return how many breaches are told, and the steps that took."""
    budget = Budget(10_000_000)

    def judge() -> Generator[None, None, int]:
        yield from ()
        request = Request("/guarded.v1.Things/Store", "", body=body)
        return len(description.schema_violations(request, "guarded.v1.Things/Store"))

    try:
        next(within(budget, judge()))
    except StopIteration as done:
        return done.value, budget.steps - budget.steps_left
    raise AssertionError("nothing is asked")


@rows("shape", SHAPES)
def test_steps_grow_no_faster_than_the_message(description: ProtobufDescription, shape: str) -> None:
    told, once = judged(description, SHAPES[shape](500))
    assert 0 < told <= 64
    assert once < 20_000
    assert judged(description, SHAPES[shape](2000))[1] <= 4.4 * once


def test_places_of_a_message_that_holds_its_own_kind_are_those_beside_what_was_sent() -> None:
    file = FileDescriptorProto(name="plan.proto", package="plan", syntax="proto3")
    node = file.message_type.add(name="Node")
    for number, (name, label) in enumerate((("left", 1), ("right", 1), ("inner", 3)), 1):
        node.field.add(name=name, number=number, label=label, type=11, type_name=".plan.Node", json_name=name)
    node.field.add(name="name", number=9, label=1, type=9, json_name="name")
    file.service.add(name="Plans").method.add(name="Run", input_type=".plan.Node", output_type=".plan.Node")
    plans = ProtobufDescription(Descriptors([file]))
    outermost = {("body", name) for name in ("left", "right", "inner", "name")}
    assert set(plans.vocabulary("plan.Plans/Run").places) == outermost
    deep: Json = {"name": "last"}
    for _ in range(7):
        deep = {"left": deep}
    places = set(plans.vocabulary("plan.Plans/Run", deep).places)
    assert ("body", *["left"] * 7, "right") in places
    assert ("body", "right", "left") not in places, "what holds it was not sent"
    many: Json = {"inner": [{"left": {}}] * 100_000}
    assert ("body", "inner", ANY, "left", "right") in plans.vocabulary("plan.Plans/Run", many).places


def test_a_document_without_what_proto2_requires_is_no_message() -> None:
    file = FileDescriptorProto(name="barn.proto", package="farm", syntax="proto2")
    field = FieldDescriptorProto
    file.message_type.add(name="Barn").field.add(
        name="doors", number=1, type=field.TYPE_INT32, label=field.LABEL_REQUIRED
    )
    file.service.add(name="Barns").method.add(name="Open", input_type=".farm.Barn", output_type=".farm.Barn")
    descriptors = Descriptors([file])
    assert descriptors.request_bytes("/farm.Barns/Open", {"doors": 2}) == b"\x08\x02"
    assert descriptors.request_bytes("/farm.Barns/Open", {}) is None
