"""The member that a sentence says was not given, of a body that the description says nothing of."""

from __future__ import annotations

from typing import Any

from corrigible.adapters.formats.lack_in_body import undescribed_lack
from corrigible.adapters.vocabulary import Vocabulary
from corrigible.schema.exchange import Request
from tests._support.rows import rows

OPEN = Vocabulary((("path", "id"), ("body",)))
DESCRIBED = Vocabulary((("body",), ("body", "role")))


@rows(
    ("message", "body", "place"),
    [
        ("Status not specified", {"state": "on"}, "/body/status"),
        ("Member to be added not specified", {"membr": "p2"}, "/body/member"),
        ("The 'status' was not provided.", {"state": "on"}, "/body/status"),
        ("Status not specified", {"State": "on"}, "/body/Status"),
        ("Status not specified", {"status": None}, ""),
        ("Status not specified", {}, ""),
        ("Status not specified", ["on"], ""),
        ("Token not provided", {"state": "on"}, ""),
        ("Credentials not supplied", {"state": "on"}, ""),
        ("Body not given", {"state": "on"}, ""),
        ("Status not found", {"state": "on"}, ""),
        ("The status of the member not specified by the owner", {"state": "on"}, ""),
    ],
)
def test_the_noun_is_the_name(message: str, body: Any, place: str) -> None:
    assert undescribed_lack(message, Request("POST", "/x/1", body=body), OPEN) == place


def test_what_the_description_has_is_looked_for_elsewhere() -> None:
    request = Request("POST", "/x/1", body={"state": "on"})
    assert undescribed_lack("Status not specified", request, DESCRIBED) == ""
