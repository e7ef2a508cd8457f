"""The value that a text blames is at the only place with it whose name is like the words before it."""

from __future__ import annotations

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.reader.locate import locate_errors
from corrigible.adapters.formats.place_by_blame import place_by_blame
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.vocabulary import Vocabulary
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Request

REQUEST = Request("POST", "/trees", {"tree_number": "9"}, {}, {"compression": "rar", "note": "rar", "depth": 4})


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("Invalid tree index: 9. Tree index must be in range [0, 2].", "/query/tree_number"),
        ("Invalid tree index: 9", "/query/tree_number"),
        ("Cannot create a compressor using class rar", "/body/compression"),
        ("unsupported depth: 4", "/body/depth"),
        ("Invalid leaf index: 9", ""),  # the word is that of no such member
        ("Invalid tree index: 8", ""),  # that was not sent
        ("Cannot create the file rar", ""),
        ("The tree is 9 years old", ""),
    ],
)
def test_what_is_blamed(message: str, place: str) -> None:
    assert place_by_blame(message, list(sent_places(REQUEST))) == place


def test_the_limit_of_what_is_blamed_has_its_place() -> None:
    exchange = Exchange(REQUEST, 400, {}, b"")
    message = "Invalid tree index: 9. Tree index must be in range [0, 2]."
    (error,) = locate_errors(GenericFormat().read(exchange, {"msg": message}), exchange)
    assert (error.pointer, dict(error.stated)) == ("/query/tree_number", {"minimum": 0, "maximum": 2})


@pytest.mark.parametrize(
    ("text", "pointer", "constraint"),
    [
        ("Field not found: 'depht' on object example.Tree@1f2e", "/body/depht", "additionalProperties"),
        ("Property not known: 'depht' in the class Tree", "/body/depht", "additionalProperties"),
    ],
)
def test_a_member_that_an_object_of_the_server_lacks_is_unknown(text: str, pointer: str, constraint: str) -> None:
    exchange = Exchange(Request("POST", "/trees", body={"depht": 4}), 400, {}, b"")
    (error,) = GenericFormat().read(exchange, {"msg": text})
    assert (error.pointer, error.constraint) == (pointer, constraint)


@pytest.mark.parametrize(
    ("message", "declared", "pointer"),
    [
        ("Job is missing", (), ""),
        ("Job is missing", (("query", "job"),), "/query/job"),
        ("Owner is missing", (), "/query/owner"),
        ("Job is required", (), "/query/job"),
        ("Missing required parameter: job", (), "/query/job"),
    ],
)
def test_what_is_missing_may_be_the_thing_of_the_path(
    message: str, declared: tuple[tuple[str, ...], ...], pointer: str
) -> None:
    exchange = Exchange(Request("GET", "/jobs/7"), 400, {}, b"")
    told = Violation(message=message, pointer=f"/query/{message.split()[-1 if ':' in message else 0].lower()}")
    (error,) = locate_errors(
        [told._replace(constraint="required")], exchange, lambda: Vocabulary(declared), {"job_id": "7"}
    )
    assert error.pointer == pointer
