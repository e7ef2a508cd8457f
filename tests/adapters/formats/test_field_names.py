"""Names of fields in sentences of gRPC services: in lists, behind the field around, as keys of maps."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.field_names import (
    blank_told,
    field_quoted,
    map_key,
    nested_missing,
    nested_name,
    required_of_list,
)
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.vocabulary import ANY, Path, Vocabulary
from corrigible.schema.exchange import Request


def call(body: Any) -> Request:
    return Request("/depot.v1.Depot/CreateCrate", "", body=body)


FIELDS = Vocabulary((("body", "lotId"), ("body", "reason"), ("body", "depot"), ("body", "query")))


@pytest.mark.parametrize(
    ("message", "sent", "place"),
    [
        ("must provide required parameters: LotId,Reason,Depot", {"lotId": "1", "depot": "d"}, "/body/reason"),
        ("required fields: lot_id, reason AND one of (Query OR Names)", {"lotId": "1"}, "/body/reason"),
        ("missing required fields are not set: [lot_id reason]", {"reason": "r"}, "/body/lotId"),
        ("lot_id, reason and depot are required", {"lotId": "1", "reason": "", "depot": "d"}, "/body/reason"),
        ("Depot and Reason must be set", {"depot": "d"}, "/body/reason"),
        ("Depot and Reason must be set", {}, ""),  # two are missing
        ("Depot and Reason must be set", {"depot": "d", "reason": "r"}, ""),
        ("required parameters: size", {}, ""),
        ("depot must be set", {}, ""),  # no list
    ],
)
def test_the_only_field_of_a_list_that_was_not_sent(message: str, sent: dict[str, str], place: str) -> None:
    assert required_of_list(message, call(sent), FIELDS) == place


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("Hour Start is not in range [0-23]", "/body/plan/spec/0/hour/0/start"),
        ("invalid plan spec: Hour Start is not in range", "/body/plan/spec/0/hour/0/start"),
        ("bad value for hour.start", "/body/plan/spec/0/hour/0/start"),
        ("bad value for hourStart", "/body/plan/spec/0/hour/0/start"),
        ("invalid plan spec", "/body/plan/spec"),
        ("an hour to start", ""),
        ("happy hour starts", ""),
        ("Start Hour is wrong", ""),
        ("plan name is not known", ""),  # two plans have one
    ],
)
def test_a_name_behind_the_one_around_it(message: str, place: str) -> None:
    body = {"plan": {"spec": [{"hour": [{"start": 25}]}], "name": "a"}, "other": {"plan": {"name": "b"}}}
    assert nested_name(message, list(sent_places(call(body)))) == place


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("no mapping defined for attribute Custmer", "/body/attributes/fields/Custmer"),
        ("depot d-1 has no attribute 'Custmer'", "/body/attributes/fields/Custmer"),
        ("Custmer.name is not known", ""),
        ("label team and attribute Custmer are not known", ""),  # two are told
        ("label team is not known", "/body/labels/team"),
        ("the data is not known", ""),  # it is declared
    ],
)
def test_a_key_of_a_map(message: str, place: str) -> None:
    body = {"depot": "d-1", "attributes": {"fields": {"Custmer": {"data": "x"}}}, "labels": {"team": "red"}}
    paths: tuple[Path, ...] = (("depot",), ("attributes",), ("attributes", "fields"), ("labels",))
    paths = (*paths, ("attributes", "fields", ANY, "data"))
    declared = Vocabulary(tuple(("body", *one) for one in paths))
    assert map_key(message, list(sent_places(call(body))), declared) == place


def test_no_key_is_told_where_nothing_is_declared() -> None:
    assert map_key("team is unknown", list(sent_places(call({"labels": {"team": "red"}}))), Vocabulary()) == ""


@pytest.mark.parametrize(
    ("message", "body", "place"),
    [
        ('invalid lot : parsing "": invalid syntax', {"lots": ["1", ""]}, "/body/lots/1"),
        ("'' is no lot", {"lot": {"id": ""}}, "/body/lot/id"),
        ("'' is no lot", {"lot": {"id": ""}, "name": ""}, ""),
        ("'' is no lot", {"lot": {"id": "1"}}, ""),
        ("it's a lot, isn't it", {"lot": {"id": ""}}, ""),
    ],
)
def test_the_only_text_that_was_sent_empty(message: str, body: Any, place: str) -> None:
    assert blank_told(message, list(sent_places(call(body)))) == place


@pytest.mark.parametrize(
    ("phrase", "place"),
    [
        (("unknown", "plan", "kind"), "/body/plan/kind"),
        (("plan", "spec", "name"), "/body/plan/specName"),
        (("kind",), ""),
        (("other", "kind"), ""),
        (("plan", "size"), ""),
    ],
)
def test_a_field_that_was_not_sent_behind_the_one_around_it(phrase: tuple[str, ...], place: str) -> None:
    declared = Vocabulary(tuple(("body", *one) for one in (("plan",), ("plan", "kind"), ("plan", "specName"))))
    assert nested_missing(phrase, call({"plan": {"owner": "a"}}), declared) == place


@pytest.mark.parametrize(
    ("message", "place"),
    [("'lot_id' specification is not supported", "/body/lotId"), ("'size' is not supported", ""), ("lotId", "")],
)
def test_a_field_in_quotes(message: str, place: str) -> None:
    assert field_quoted(message, list(sent_places(call({"lotId": "1"})))) == place
