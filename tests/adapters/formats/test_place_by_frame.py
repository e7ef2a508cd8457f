"""Plain sentences that call things by labels: the only thing that can be meant is the place, else none is."""

from __future__ import annotations

from typing import Any

from corrigible.adapters.formats.place_by_frame import missed_in_frame, place_in_frame
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.vocabulary import Vocabulary
from corrigible.schema.exchange import Request
from tests._support.rows import rows

USER = {"name": "x", "email": "a@b.co", "groupId": 7, "bookingStatus": "open", "type": "a"}
MEMBERS = (*USER, "password", "birth_date", "rewardId", "other")
DECLARED = Vocabulary((*(("body", one) for one in MEMBERS), ("query", "order_id"), ("query", "tag")))


def request(body: Any = USER, path: str = "/agents/a-1/members", **query: str) -> Request:
    return Request("POST", path, query=query, body=body)


@rows(
    ("message", "places"),
    [
        ("Name, email, and password are required", ["/body/password"]),
        ("ERROR: name, birth date and password are required.", ["/body/birth_date", "/body/password"]),
        ("Birth date is required", ["/body/birth_date"]),
        ("Request parameter 'tag' is missing", ["/query/tag"]),
        ("No order id provided", ["/query/order_id"]),
        ("Missing 'password' or 'name' in body", ["/body/password"]),
        ("Please provide a password", ["/body/password"]),
        ("'edited' resolution requires birth_date", ["/body/birth_date"]),
        ("MISSING_BIRTH_DATE", ["/body/birth_date"]),
        ("order-id-required", ["/query/order_id"]),
        # any of several would do
        ("Missing password or birth date", []),
        # it is there, so another thing is meant
        ("Name is required", []),
        ("Customer name is required", []),
        # none of it is known
        ("Phone and address are required", []),
        ("Name, phone and password are required", []),
        ("You are not allowed: a password is required", []),
    ],
)
def test_what_is_missed(message: str, places: list[str]) -> None:
    sent = list(sent_places(request()))
    assert list(missed_in_frame(message, request(), DECLARED, sent, {"id": "a-1"})) == places


@rows(
    ("message", "place"),
    [
        ("Invalid booking status", "/body/bookingStatus"),
        ("unknown action type", "/body/type"),
        ("Invalid Agent ID format", "/path"),
        ("Agent not found", "/path"),
        ("Group not found", "/body/groupId"),
        ("The e-mail has expired", "/body/email"),
        ("A user with this email already exists", "/body/email"),
        ("Taken. Use another name.", "/body/name"),
        ("EMAIL_EXISTS", "/body/email"),
        ("INVALID_BOOKING_STATUS : (expected one of ours)", "/body/bookingStatus"),
        ("INVALID_ARGUMENT", ""),
        # a member is not told by the last word of another thing
        ("User already exists", ""),
        ("Order not found", ""),
        ("Related agent is invalid", ""),
        ("Invalid credentials: bad email", ""),
    ],
)
def test_what_is_wrong(message: str, place: str) -> None:
    sent = list(sent_places(request()))
    assert place_in_frame(message, request(), sent, {"id": "a-1"}) == place


def test_two_of_a_name_are_none() -> None:
    asked = request({"start": {"name": "a"}, "end": {"name": "b"}})
    assert place_in_frame("Invalid name", asked, list(sent_places(asked)), {}) == ""


def test_long_texts_and_several_lines_are_not_read() -> None:
    sent = list(sent_places(request()))
    assert place_in_frame("Invalid name" + " x" * 200, request(), sent, {}) == ""
    assert missed_in_frame("password is required\nand more", request(), DECLARED, sent, {}) == ()
