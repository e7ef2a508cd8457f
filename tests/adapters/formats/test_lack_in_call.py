"""The field of a gRPC call that was not sent, where a sentence gives the condition under which it is required."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.lack_in_call import place_of_condition, required_beside
from corrigible.adapters.formats.likely_fields import likely_fields
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.vocabulary import Vocabulary
from corrigible.schema.exchange import Request

DECLARED = Vocabulary(
    (
        ("body", "crate"),
        ("body", "kind"),
        ("body", "sealing"),
        ("body", "crate", "kind"),
        ("body", "crate", "sealingProperty"),
        ("body", "crate", "sealingProperty", "text"),
        ("body", "crate", "weight"),
        ("body", "crate", "label"),
    )
)
CLOSED: Any = {"crate": {"kind": "closed"}}
WEIGHED: Any = {"crate": {"kind": "closed", "sealingProperty": {"text": "x"}, "weight": 5}}


@pytest.mark.parametrize(
    ("body", "message", "place"),
    [
        (CLOSED, "invalid box: sealing_config is required with closed crates", "/body/crate/sealingProperty"),
        (CLOSED, "sealings are required when kind is closed", "/body/crate/sealingProperty"),
        (CLOSED, "The weight must be set if the kind is 'closed'.", "/body/crate/weight"),
        # there already, no name like it, several
        (WEIGHED, "sealing_config is required with closed crates", ""),
        (CLOSED, "wheel_config is required with closed crates", ""),
        (CLOSED, "weight and label are required with closed crates", ""),
        # the condition is no value that was sent, or that of several fields
        (CLOSED, "sealing_config is required with open crates", ""),
        ({"kind": "closed", **CLOSED}, "sealing_config is required with closed crates", ""),
        (CLOSED, "sealing_config is required", ""),
        (CLOSED, "closed crates are not taken", ""),
    ],
)
def test_what_is_required_with_a_value_is_looked_for_beside_it(body: Any, message: str, place: str) -> None:
    request = Request("/depot.v1.Depot/CreateCrate", "", body=body)
    assert required_beside(message, request, DECLARED, list(sent_places(request))) == place


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("wheels are required with closed crates", "/body/crate/kind"),
        ("wheels are required when the kind is closed", "/body/crate/kind"),
        ("wheels are required with open crates", ""),
        ("the kind closed is not known", ""),
    ],
)
def test_the_value_of_a_condition_is_never_asked_for(message: str, place: str) -> None:
    request = Request("/depot.v1.Depot/CreateCrate", "", body=CLOSED)
    sent = list(sent_places(request))
    assert place_of_condition(message, sent) == place
    asked = likely_fields(message, request, DECLARED, sent)
    assert not place or place not in asked
