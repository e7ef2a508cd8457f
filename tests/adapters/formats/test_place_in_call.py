"""The field of a gRPC message that a sentence means without its value."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.message.sent_values import absent_subject, places_around
from corrigible.adapters.formats.message.told_code import told_code, without_codes
from corrigible.adapters.formats.place_in_call import (
    field_named,
    place_of_lack,
    place_of_mismatch,
    reference_named,
)
from corrigible.adapters.formats.printed_in_call import (
    identity_printed,
    place_of_printed_text,
    place_of_python_call,
    without_printed,
)
from corrigible.adapters.formats.sent_places import places_in_texts, sent_places
from corrigible.adapters.vocabulary import Vocabulary
from corrigible.schema.exchange import Request
from tests._support.rows import rows


def call(body: Any) -> Request:
    return Request("/depot.v1.Depot/CreateCrate", "", body=body)


def declares(*names: str) -> Vocabulary:
    return Vocabulary(tuple(("body", name) for name in names))


@rows(
    ("message", "sent", "names", "place"),
    [
        ("name was not a string", {}, ("name", "size"), "/body/name"),
        ("crate lot id required", {"crate": "c1"}, ("crate", "lot"), "/body/lot"),
        ("Invalid CrateTimeoutSeconds.", {}, ("crateTimeout", "size"), "/body/crateTimeout"),
        ("call missing required crateKind field", {}, ("crateKind", "size"), "/body/crateKind"),
        ("a valid holding period is not set", {}, ("crateHoldingPeriod", "size"), "/body/crateHoldingPeriod"),
        ("unknown depot kind", {"nearDepot": "x"}, ("nearDepot", "size"), "/body/nearDepot"),
        ("either name or id is required", {}, ("name", "id"), ""),
        ("undefined crate kind", {}, ("crateId", "kind"), "/body/kind"),
        ("undefined kind", {"kind": 9}, ("kind", "size"), "/body/kind"),
        ("undefined kind", {"kind": "KIND_UNSPECIFIED"}, ("kind",), "/body/kind"),
        ("undefined kind", {"kind": "KIND_WOOD"}, ("kind",), ""),  # it is one: the sentence misleads
        ("Invalid token ", {}, ("token", "owner"), "/body/token"),
        ("missing crate_size", {}, ("size", "crateSize"), "/body/crateSize"),
        ("nil request", {}, ("crate",), "/body/crate"),
        ("nil request", {}, ("crate", "size"), ""),
        ("nil request", {"crate": {"size": 1}}, ("crate",), ""),
        ("the depot must be open", {}, ("size", "kind"), ""),
        ("invalid state of the depot", {"size": 1}, ("size",), ""),
    ],
)
def test_a_field_is_named_without_a_value(message: str, sent: Any, names: tuple[str, ...], place: str) -> None:
    assert field_named(message, call(sent), declares(*names)) == place


@pytest.mark.parametrize(
    ("message", "sent", "names", "place"),
    [
        ("crate not found", {"crateId": "c1", "size": 2}, ("crateId", "size"), "/body/crateId"),
        ("crate not found", {"id": "c1"}, ("id",), "/body/id"),
        ("No such crate", {"cratename": "c1", "owner": "x"}, ("cratename", "owner"), "/body/cratename"),
        ("Crate  does not exist", {"owner": "x"}, ("owner", "cratename"), "/body/cratename"),
        ("", {"crateId": "c1"}, ("crateId",), "/body/crateId"),
        ("", {"crateId": "c1", "lot": "l1"}, ("crateId", "lot"), ""),  # which of them is not said
        ("crate not found", {"crateId": "c1", "crateKey": "k"}, ("crateId", "crateKey"), ""),
        ("depot is closed", {"crateId": "c1"}, ("crateId",), ""),
    ],
)
def test_what_is_not_there_is_what_the_noun_refers_to(
    message: str, sent: Any, names: tuple[str, ...], place: str
) -> None:
    assert reference_named(message, "GetCrate", call(sent), declares(*names), exists=False) == place


@pytest.mark.parametrize(
    ("message", "sent", "place"),
    [
        ("", {"depotId": "d1", "crateIdDesired": "main"}, "/body/crateIdDesired"),
        ("Failed to create crate:  ", {"depotId": "d1", "crateIdDesired": "c"}, "/body/crateIdDesired"),
        ("", {"depotId": "d1"}, ""),
    ],
)
def test_what_is_there_already_is_what_the_method_makes(message: str, sent: Any, place: str) -> None:
    declared = declares("depotId", "crateIdDesired", "size")
    assert reference_named(message, "CreateCrate", call(sent), declared, exists=True) == place


@pytest.mark.parametrize(
    ("message", "bare"),
    [
        ("undefined kind: CountRequest(c1,Vector(A, B),Set(Map()))", "undefined kind"),
        ("no such lot: Lot{crate: c1, size: 3} in depot", "no such lot in depot"),
        ("undefined kind: Kind(A, B)", "undefined kind: Kind(A, B)"),  # nothing of the request is in it
        ("no crate Crate(c1)", "no crate Crate(c1)"),  # one value is no request
        ("open Bracket(c1, 3", "open"),
    ],
)
def test_a_printed_request_is_no_place(message: str, bare: str) -> None:
    assert without_printed(message, call({"crate": "c1", "kind": ["A"]})) == bare


@pytest.mark.parametrize(
    ("message", "code", "rest"),
    [
        ("Failed to create crate: ALREADY_EXISTS", "ALREADY_EXISTS", "Failed to create crate:  "),
        ("NOT_FOUND: crate not found", "NOT_FOUND", " : crate not found"),
        ("rpc error: code = NotFound desc = crate c1", "NOT_FOUND", "rpc error:   desc = crate c1"),
        ("INTERNAL: Failed: NOT_FOUND: no lot", "NOT_FOUND", " : Failed:  : no lot"),
        ("Unexpected <class 'KeyError'>: 'top'", "NOT_FOUND", "Unexpected <class 'KeyError'>: 'top'"),
        ("INTERNAL: Invalid crate [a b]", "INVALID_ARGUMENT", " : Invalid crate [a b]"),
        ("rpc error: code = Unavailable desc = connection refused", "", ""),
        ("INTERNAL: NullPointerException", "", ""),
        ("Unexpected <class 'TypeError'>: invalid operand", "", ""),
        ("", "", ""),
    ],
)
def test_the_code_that_a_text_has_counts(message: str, code: str, rest: str) -> None:
    assert told_code(message) == code
    if code:
        assert without_codes(message) == rest


NESTED = Vocabulary(
    (("body", "crate"), ("body", "depot"), ("body", "crate", "spec"), ("body", "crate", "spec", "label"))
)


@pytest.mark.parametrize(
    ("sent", "place"),
    [
        ({"crate": {"spec": {}}}, "/body/crate/spec/label"),
        ({"crate": {"spec": {"label": ""}}}, "/body/crate/spec/label"),
        ({"depot": "d"}, "/body/crate"),
        ({"crate": {"spec": {"label": "x"}}}, ""),
    ],
)
def test_what_something_does_not_have_is_missing(sent: Any, place: str) -> None:
    assert place_of_lack("The crate does not have a label.", call(sent), lambda: NESTED) == place
    assert place_of_lack("The crate is full", call(sent), lambda: NESTED) == ""


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("Range() missing 1 required positional argument: 'high'", "/body/limits"),
        ("Range.__init__() got an unexpected keyword argument 'hihg'", "/body/limits"),
        ("`low <= high` must hold, but got (low=5.0, high=2.0).", "/body/limits"),
        ("Other() missing 1 required positional argument: 'high'", ""),
        ("low=7 is wrong", ""),
    ],
)
def test_what_python_calls_is_what_a_json_text_holds(message: str, place: str) -> None:
    request = call({"name": "n", "limits": '{"class": "Range", "low": 5.0, "high": 2.0}'})
    assert place_of_python_call(message, list(places_in_texts(request))) == place


@pytest.mark.parametrize(
    ("message", "subject", "around"),
    [
        ("Lot l1 does not exist in depot d1", "/body/name", ["/body/depot"]),
        ("Lot l1 not found in crate c1 in depot d1", "/body/name", ["/body/crate", "/body/depot"]),
        ("Depot d1 does not exist", "/body/depot", []),
        ("Lot  does not exist in depot d1", "", ["/body/depot"]),
        ("Lot l1 is full in depot d1", "", ["/body/depot"]),
    ],
)
def test_where_something_was_looked_for_is_not_what_is_absent(message: str, subject: str, around: list[str]) -> None:
    sent = list(sent_places(call({"name": "l1", "crate": "c1", "depot": "d1"})))
    assert absent_subject(message, sent) == subject
    assert sorted(places_around(message, sent, subject)) == around


@pytest.mark.parametrize(
    ("message", "sent", "names", "place"),
    [
        ("'' is not a valid DepotKind", {"name": "x"}, ("name", "kind"), "/body/kind"),
        ("Unexpected crate view type: None", {}, ("crateView", "depot"), "/body/crateView"),
        ("The list 'actions' must be non-empty.", {}, ("actions", "name"), "/body/actions"),
        ("Expecting value: line 1 column 1 (char 0)", {}, ("value", "limits"), ""),
    ],
)
def test_a_field_that_is_not_set_is_meant(message: str, sent: Any, names: tuple[str, ...], place: str) -> None:
    assert field_named(message, call(sent), declares(*names)) == place


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("requirement failed: label cannot be null for key: k", "/body/crate/spec/label"),
        ("KIND_LABEL requested, but no label provided.", "/body/crate/spec/label"),
        ("no such label was provided by the depot", ""),
        ("no weight specified", ""),
        ("depot is not set", "/body/depot"),
    ],
)
def test_what_was_not_given_is_missing(message: str, place: str) -> None:
    assert place_of_lack(message, call({"crate": {"spec": {}}}), lambda: NESTED) == place


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("Syntax error (line 1, pos 0)\n\n== SQL ==\nSELEC 1\n^^^\n", "/body/query"),
        ("Syntax error near 'SELEC'", ""),
        ("wrong\nx1\n", ""),
    ],
)
def test_a_text_that_is_printed_as_it_was_sent_is_the_place(message: str, place: str) -> None:
    sent = list(sent_places(call({"query": "SELEC 1", "name": "x1"})))
    assert place_of_printed_text(message, sent) == place


def test_of_a_field_inside_what_was_not_sent_the_outermost_is_missing() -> None:
    assert place_of_lack("no label provided", call({"depot": "d"}), lambda: NESTED) == "/body/crate"
    assert place_of_lack("no label provided", call({"crate": {}}), lambda: NESTED) == "/body/crate/spec"


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("not found: LotId{depot='main', lotId='lot-1'}", "/body/lot/lotId"),
        ('Lot "LotKey{depot=\'main\', lot=lot_id: "lot-1"\n}" not found', "/body/lot/lotId"),
        ("not found: LotId{depot='main', lotId='lot-2'}", ""),  # no such value was sent
        ("not found: CreateLot{depot='main', lotId='lot-1'}", ""),  # the call, not a name
        ("not found: LotId{}", ""),
    ],
)
def test_the_last_value_of_a_printed_identity(message: str, place: str) -> None:
    sent = list(sent_places(call({"depot": "main", "lot": {"lotId": "lot-1"}})))
    assert identity_printed(message, sent) == place


@rows(
    ("body", "message", "place"),
    [
        ({"depotName": "b"}, "wrong depot: depot name mismatch: expected a, got b", "/body/depotName"),
        ({"depot": {"name": "b"}}, "depot does not match: expected 'a' but got 'b'.", "/body/depot/name"),
        ({"depotName": "b", "crate": "b"}, "depot mismatch: expected a, got b", "/body/depotName"),
        ({"depotId": 7}, "depot id mismatch (expected 5, got 7)", "/body/depotId"),
        # what was got was not sent, or is another field's
        ({"depotName": "c"}, "depot name mismatch: expected a, got b", ""),
        ({"crate": "b"}, "depot name mismatch: expected a, got b", ""),
        ({"depotName": "b", "nearDepot": "b"}, "depot mismatch: expected a, got b", ""),
        ({"depotName": "b"}, "depot name b may not be used", ""),
        # who calls, what is allowed, a secret, a state
        ({"userName": "b"}, "user name mismatch: expected a, got b", ""),
        ({"principal": {"name": "b"}}, "name mismatch: expected a, got b", ""),
        ({"roleName": "b"}, "role name mismatch: expected a, got b", ""),
        ({"sessionId": "b"}, "session id mismatch: expected a, got b", ""),
        ({"depotPassword": "secret-b"}, "depot password mismatch: expected x, got secret-b", ""),
        ({"depotVersion": 3}, "depot version mismatch: expected 4, got 3", ""),
    ],
)
def test_the_place_of_a_value_that_is_not_the_expected_one(body: Any, message: str, place: str) -> None:
    assert place_of_mismatch(message, list(sent_places(call(body)))) == place
