"""Sentences of gRPC services without details, read by their descriptors: which field they are about."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.proxy.build import build_engine
from corrigible.proxy.grpc.corrector import GrpcCorrector
from corrigible.proxy.grpc.forwarder import CallResult
from corrigible.proxy.runtime.lookup_runner import NO_ANSWER, run_with_lookups_sync
from corrigible.schema.feedback import Feedback, parse
from tests._support.rows import rows

INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION, ABORTED = 3, 5, 9, 10
STRING, MESSAGE = 9, 11
MESSAGES: dict[str, list[tuple[str, str]]] = {
    "Motor": [("name", ""), ("power", "")],
    "Crate": [("id", ""), ("label", ""), ("motor", "Motor"), ("plan", "")],
    "CreateCrate": [("crate", "Crate"), ("crates", "Crate*")],
    "UpdateCrate": [("crate", "Crate"), ("update_mask", "")],
    "DropCrate": [("crate_id", ""), ("reason", "")],
    "ListCrates": [("page", ""), ("cursor", ""), ("since", ""), ("until", "")],
    "OpenDepot": [("depot_name", ""), ("street", "Street")],
    "Street": [("city", "")],
    "Nothing": [],
}


def _descriptors() -> Descriptors:
    file = FileDescriptorProto(name="depot.proto", package="depot.v1", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields, 1):
            is_list, kind = kind.endswith("*"), kind.rstrip("*")
            added = message.field.add(name=field, number=number, label=3 if is_list else 1)
            added.type = MESSAGE if kind else STRING  # type: ignore[assignment]
            if kind:
                added.type_name = f".depot.v1.{kind}"
    service = file.service.add(name="Depot")
    for name in MESSAGES:
        service.method.add(name=name, input_type=f".depot.v1.{name}", output_type=".depot.v1.Nothing")
    return Descriptors([file])


DESCRIPTORS = _descriptors()


def feedback(method: str, body: dict[str, Any], code: int, message: str, *metadata: tuple[str, str]) -> Feedback | None:
    name = f"/depot.v1.Depot/{method}"
    data = DESCRIPTORS.request_bytes(name, body)
    assert data is not None
    corrector = GrpcCorrector(build_engine((), rpc=True), DESCRIPTORS)
    call = CallResult(name, metadata, data, code, message, ())
    outcome = run_with_lookups_sync(
        corrector.correct(call, id="a", started=0.0), lambda lookup: NO_ANSWER, corrector.limits
    )
    assert outcome.error is None
    return None if outcome.feedback is None else parse(outcome.feedback)


CRATE = {"id": "c-1", "label": "green"}


@rows(
    ("method", "body", "message", "places"),
    [
        # names as the structures of Go have them
        ("CreateCrate", {"crate": {"id": "c"}}, "Crate.Label required", ["/body/crate/label"]),
        (
            "CreateCrate",
            {"crate": {"id": "c"}},
            "checking the crate: crate.Motor.Name must be set: invalid",
            ["/body/crate/motor"],
        ),
        (
            "CreateCrate",
            {"crate": {"id": "c", "motor": {"power": "9"}}},
            "crate.motor.name cannot be empty",
            ["/body/crate/motor/name"],
        ),
        (
            "CreateCrate",
            {"crate": {"id": "c", "plan": "p"}},
            "Crate.Label must be specified if Crate.Plan is specified",
            ["/body/crate/label"],
        ),
        ("CreateCrate", {"crate": {"label": "l"}}, "bad crate: crate.ID: value is required", ["/body/crate/id"]),
        ("DropCrate", {"crateId": "c"}, "reason argument missing: invalid", ["/body/reason"]),
        # no such field: what identifies is called an identifier
        # a mask
        (
            "UpdateCrate",
            {"crate": CRATE, "updateMask": "colour"},
            'unknown field "colour" in crate',
            ["/body/updateMask"],
        ),
        # two fields
        (
            "ListCrates",
            {"since": "9", "until": "1"},
            "until must not be before since",
            ["/body/until", "/body/since"],
        ),
        # what is identified by a value is not the value
        ("CreateCrate", {"crate": CRATE}, "label 'green' is invalid", ["/body/crate/label"]),
        # nothing but a name in words
        (
            "OpenDepot",
            {"depotName": "n", "street": {"city": "c"}},
            "the street exceeds the limit",
            ["/body/street", "/body/street/city", "/body/depotName"],
        ),
    ],
)
def test_the_field_that_a_sentence_is_about(method: str, body: dict[str, Any], message: str, places: list[str]) -> None:
    told = feedback(method, body, INVALID_ARGUMENT, message)
    assert told is not None
    assert [one.pointer for s in told.suggestions for one in s.placeholders] == places


def test_of_fields_that_exclude_each_other_the_caller_keeps_one() -> None:
    told = feedback("ListCrates", {"page": "1", "cursor": "x"}, INVALID_ARGUMENT, "only one of page, cursor may be set")
    assert told is not None
    removed = [op.path for s in told.suggestions for op in s.patch or () if op.op == "remove"]
    assert removed == ["/body/cursor", "/body/page"]
    assert all(s.changes_intent for s in told.suggestions)


@pytest.mark.parametrize("message", ['crate "": not found', "no crate with id ''", "unknown crate []"])
def test_an_identifier_that_was_left_empty_is_asked_for(message: str) -> None:
    told = feedback("DropCrate", {"reason": "old"}, NOT_FOUND, message)
    assert told is not None
    assert [one.pointer for s in told.suggestions for one in s.placeholders] == ["/body/crateId"]


@pytest.mark.parametrize("message", ["the crate was not found", 'crate "c-9" of "" not found'])
def test_an_identifier_that_was_given_was_not_left_empty(message: str) -> None:
    told = feedback("DropCrate", {"crateId": "c-9"}, NOT_FOUND, message)
    places = [one.pointer for s in told.suggestions for one in s.placeholders] if told is not None else []
    assert places in ([], ["/body/crateId"])


def test_a_state_that_forbids_a_call_is_told_without_an_edit() -> None:
    told = feedback("DropCrate", {"crateId": "c-1"}, FAILED_PRECONDITION, 'crate "c-1" must be empty')
    assert told is not None
    assert [(s.action, s.patch) for s in told.suggestions] == [("ESCALATE", ())]


UNKNOWN, INTERNAL = 2, 13


@rows(
    "message",
    [
        "Unexpected <class 'KeyError'>: 'ipv4:127.0.0.1:57364'",
        "Unexpected <class 'TypeError'>: unsupported operand type(s) for +: 'int' and 'str'",
        "rpc error: code = Unavailable desc = connection refused",
        "Exception calling application: connection to c-9 refused",
        "Exception calling application: database exception: c-9 not found",
        "runtime error: invalid memory address or nil pointer dereference",
        "connection to c-9 was lost: not found",
        "internal: bad state of c-9",
    ],
)
@rows("code", [UNKNOWN, INTERNAL])
def test_a_fault_without_a_code_is_not_about_the_request(message: str, code: int) -> None:
    assert feedback("DropCrate", {"crateId": "c-9"}, code, message) is None


@rows(
    ("code", "message"),
    [
        (NOT_FOUND, "crate has already been dropped"),
        (NOT_FOUND, "crate c-9 has been closed"),
        (NOT_FOUND, "crate c-9 is not running"),
        (NOT_FOUND, "Closed crate"),
        (UNKNOWN, "the depot is in maintenance"),
        (UNKNOWN, "only admins can drop crates"),
        (INTERNAL, "dropping crates is disabled"),
        (INTERNAL, "storage quota exceeded"),
        (UNKNOWN, "failed write: error while dropping: changing the order of crates is not yet supported"),
    ],
)
def test_a_state_under_another_code_is_told(code: int, message: str) -> None:
    told = feedback("DropCrate", {"crateId": "c-9", "reason": "worn"}, code, message)
    assert told is not None
    assert told.recovery == "terminal"
    assert [one.action for one in told.suggestions] == ["ESCALATE"]


def called(method: str, code: int, message: str) -> Feedback | None:
    corrector = GrpcCorrector(build_engine((), rpc=True), DESCRIPTORS)
    call = CallResult(f"/depot.v1.Depot/{method}", (), b"", code, message, ())
    outcome = run_with_lookups_sync(
        corrector.correct(call, id="a", started=0.0), lambda lookup: NO_ANSWER, corrector.limits
    )
    assert outcome.error is None
    return None if outcome.feedback is None else parse(outcome.feedback)


@pytest.mark.parametrize("message", ["unhandled", "Error in service handler!"])
def test_an_interceptor_that_fails_for_an_unknown_method(message: str) -> None:
    told = called("DropCrat", UNKNOWN, message)
    assert told is not None
    assert [op.value for s in told.suggestions for op in s.patch or () if op.op != "test"] == [
        "/depot.v1.Depot/DropCrate"
    ]
    of_another = (called("DropCrate", UNKNOWN, message), called("PaintShed", UNKNOWN, message))  # the first is there
    assert not any(s.patch for one in of_another if one is not None for s in one.suggestions)
    assert called("DropCrat", UNKNOWN, "cannot reach the store at 10.0.0.7") is None


_END_OF_DATA = "Data frame with END_STREAM flag received"


@rows(
    ("code", "message", "is_of_method"),
    [
        (INTERNAL, f"Stream removed ({_END_OF_DATA}) (RST_STREAM (Received RST_STREAM with error code 0))", True),
        (UNKNOWN, "Received http2 header with status: 405", True),
        (UNKNOWN, "unexpected HTTP status code received from server: 404 (Not Found); transport: ...", True),
        (
            UNKNOWN,
            'unexpected HTTP status code received from server: 200; received unexpected content-type "a/b"',
            True,
        ),
        (INTERNAL, "HTTP status code 404\ninvalid content-type: text/html\nheaders: Metadata(server=x)", True),
        (UNKNOWN, "Received HTTP status code 404", True),
        (UNKNOWN, "grpc-status header missing, mapped from HTTP status code 404", True),
        # what stands before a server refuses, or is not ready
        (UNKNOWN, "Received http2 header with status: 429", False),
        (UNKNOWN, "unexpected HTTP status code received from server: 503 (Service Unavailable)", False),
    ],
)
def test_what_a_client_makes_of_an_answer_that_is_no_grpc(code: int, message: str, *, is_of_method: bool) -> None:
    def methods(sent: str) -> list[Any]:
        told = called(sent, code, message)
        ops = [op for s in told.suggestions for op in s.patch or ()] if told is not None else []
        return [op.value for op in ops if op.op != "test" and op.path == "/method"]

    assert methods("DropCrat") == (["/depot.v1.Depot/DropCrate"] if is_of_method else [])
    assert methods("DropCrate") == []
    assert methods("PaintShed") == []


@pytest.mark.parametrize(
    ("body", "message", "place"),
    [
        ({"crateId": "c-9", "reason": "x"}, "Invalid state", None),
        ({"crateId": "c-9", "reason": "x"}, "the depot is closed", None),
    ],
)
def test_a_value_of_another_form_is_no_state(body: dict[str, Any], message: str, place: str | None) -> None:
    told = feedback("DropCrate", body, FAILED_PRECONDITION, message)
    assert told is not None
    assert [one.pointer for s in told.suggestions for one in s.placeholders] == ([place] if place else [])
    assert (told.recovery == "terminal") is (place is None)


@rows(
    "message",
    [
        "connection is closed",
        "upstream has been terminated: connection refused",
        "internal: the store is currently closing, try again",
        "response was cancelled",
    ],
)
@rows("code", [UNKNOWN, INTERNAL])
def test_a_fault_is_no_state(code: int, message: str) -> None:
    assert feedback("DropCrate", {"crateId": "c-9"}, code, message) is None


@pytest.mark.parametrize(
    ("message", "intent"), [("crate c-9 exists", True), ("crate c-9 doesn't exist", False), ("no crate c-9", False)]
)
def test_what_exists_is_told_from_what_does_not(message: str, intent: bool) -> None:
    told = feedback("DropCrate", {"crateId": "c-9"}, UNKNOWN, message)
    assert told is None or [s.changes_intent for s in told.suggestions] == [intent]


@rows(
    ("code", "message", "places"),
    [
        (FAILED_PRECONDITION, "crate 'c-1' does not exist", ["/body/crateId"]),
        (FAILED_PRECONDITION, "crateId must be at least 5 characters long", ["/body/crateId"]),
        (FAILED_PRECONDITION, "reason 'old' is not supported", ["/body/reason"]),
        (ABORTED, "the type of reason should be integer", ["/body/reason"]),
        # what exists, and what has to be done first, is a state
        (FAILED_PRECONDITION, "crate 'c-1' already exists", []),
        (FAILED_PRECONDITION, "crate 'c-1' must be closed before dropping", []),
        (ABORTED, "crate 'c-1' was changed meanwhile", []),
    ],
)
def test_a_value_is_asked_for_where_the_code_stands_for_a_state(code: int, message: str, places: list[str]) -> None:
    told = feedback("DropCrate", {"crateId": "c-1", "reason": "old"}, code, message)
    assert told is not None
    assert [one.pointer for s in told.suggestions for one in s.placeholders] == places
