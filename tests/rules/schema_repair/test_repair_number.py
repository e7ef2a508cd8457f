"""Numbers outside of their limits, and the nearest ones within."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.schema_repair.schema_violation import Place
from corrigible.rules.schema_repair.values import ONLY_ASKED, lowered, raised, repair_value
from tests._support.rows import rows

INTEGER = {"type": "integer"}


@rows(
    ("value", "schema", "wanted"),
    [
        (5, {"minimum": 50}, 50),
        ("5", {"minimum": 50}, 50),
        (5.5, {"minimum": 50.5}, 50.5),
        (-5, {"minimum": -3}, -3),
        (-5, {"minimum": 0}, None),  # none at all is not what a negative number means
        (-5, {"exclusiveMinimum": -1, **INTEGER}, None),
        (-5, {"minimum": -1}, None),  # -1 is no limit at all
        (-5, {"minimum": -1, "maximum": 100, **INTEGER}, None),
        (-5, {"exclusiveMinimum": -2, **INTEGER}, None),
        (-1.5, {"minimum": -1, "maximum": 1}, -1),
        (0, {"minimum": 0}, 0),
        (5, {"minimum": 10.5, **INTEGER}, 11),
        (5, {"exclusiveMinimum": 10, **INTEGER}, 11),
        (5, {"exclusiveMinimum": 10.5, **INTEGER}, 11),
        (10, {"minimum": 10, "exclusiveMinimum": 10, **INTEGER}, 11),
        (5, {"minimum": 20, "exclusiveMinimum": 10, **INTEGER}, 20),
        (5, {"minimum": 10, "multipleOf": 4}, 12),
        (5, {"minimum": 10, "multipleOf": 0}, 10),
        (5, {"exclusiveMinimum": 10, "type": "number"}, None),  # there is no least number above it
        (5, {"exclusiveMinimum": 10, "type": ["integer", "number"]}, None),
        (0, {"minimum": 1}, None),
        (-1, {"minimum": 1}, None),
        (5, {"maximum": 1}, None),
        (True, {"minimum": 50}, None),
        ("x", {"minimum": 50}, None),
        ("NaN", {"minimum": 50}, None),
        ("1e40", {"minimum": "2e40"}, 2 * 10**40),
        ("1e41", {"minimum": "2e40"}, None),
        ("1e-41", {"minimum": 1}, None),
    ],
)
def test_too_small(value: Any, schema: dict[str, Any], wanted: float | None) -> None:
    made = raised(value, schema, Place())
    assert [(one.value, type(one.value)) for one in made] == ([] if wanted is None else [(wanted, type(wanted))])
    assert all(one.assumption == "the least that is allowed is sent" for one in made)


@rows(
    ("value", "schema", "wanted"),
    [
        (500, {"maximum": 100}, 100),
        (500, {"maximum": 99.5, **INTEGER}, 99),
        (500, {"exclusiveMaximum": 100, **INTEGER}, 99),
        (500, {"exclusiveMaximum": 99.5, **INTEGER}, 99),
        (500, {"maximum": 100, "exclusiveMaximum": 50, **INTEGER}, 49),
        (500, {"maximum": 40, "exclusiveMaximum": 50, **INTEGER}, 40),
        (500, {"maximum": 100, "multipleOf": 30}, 90),
        (-1, {"maximum": -5}, -5),
        (0, {"maximum": -5}, -5),
        (0, {"maximum": -1}, None),
        (5, {"maximum": 1}, 1),
        (5, {"maximum": 0}, None),  # something was to be sent: nothing is not what that means
        (5, {"maximum": -1}, None),
        (500, {"exclusiveMaximum": 100}, None),
        ("x", {"maximum": 1}, None),
        (5, {}, None),
    ],
)
def test_too_large(value: Any, schema: dict[str, Any], wanted: float | None) -> None:
    made = lowered(value, schema, Place())
    assert [one.value for one in made] == ([] if wanted is None else [wanted])
    assert all(one.assumption == "the most that is allowed is sent" for one in made)


def test_spans_of_time() -> None:
    schema = {"formatMinimum": "1s", "formatMaximum": "1h"}
    assert repair_value("formatMaximum", "2h", schema, Place()) == [("1h", "the most that is allowed is sent")]
    assert repair_value("formatMinimum", "1ms", schema, Place()) == [("1s", "the least that is allowed is sent")]


@rows(
    "name",
    [
        *("done_percent", "percent", "latitude", "progressPercent", "done_ratio", "aspectRatio", "hour", "start"),
        *("year_end", "dayOfMonth", "backoffCoefficient", "zoom_factor", "sampleProbability"),
    ],
)
def test_a_measure_is_not_brought_within_its_limits(name: str) -> None:
    schema = {"type": "integer", "maximum": 100, "minimum": 10}
    assert lowered(150, schema, Place(name)) == []
    assert raised(3, schema, Place(name)) == []
    assert all(lowered(150, schema, Place(one)) != [] for one in ("limit", "hours", "timeoutSeconds", "restart"))


@rows("name", ["pages", "price", "unit_price", "unitPrice", "age", "bodyWeight"])
def test_what_a_thing_has_is_not_brought_within_limits(name: str) -> None:
    assert lowered(9000, {"maximum": 5000}, Place(name=name)) == []
    assert raised(5, {"minimum": 50}, Place(name=name)) == []
    assert [one.value for one in lowered(9000, {"maximum": 5000}, Place(name=name, reads=True))] == [5000]


@pytest.mark.parametrize("name", ["page", "pagesPerCall", "stage", "replicas", "costs_limit"])
def test_what_is_wished_is_brought_within_limits(name: str) -> None:
    assert [one.value for one in lowered(9000, {"maximum": 5000}, Place(name=name))] == [5000]


@pytest.mark.parametrize(("value", "least"), [(2, 0), (2, 0.0), (-3, 0)])
def test_what_is_outside_of_nought_to_one_is_on_another_scale(value: float, least: float) -> None:
    schema = {"minimum": least, "maximum": 1}
    assert lowered(value, schema, Place("learn_rate")) == raised(value, schema, Place("learn_rate")) == []
    assert lowered(2, {"exclusiveMinimum": 0, "maximum": 1}, Place("dropout")) == []
    assert [one.value for one in lowered(2, {"minimum": -1, "maximum": 1}, Place("gain"))] == [1]


def test_a_limit_that_does_not_say_what_is_wished_is_asked_about() -> None:
    assert lowered(100, {"maximum": 4, ONLY_ASKED: True}, Place("k")) == []
    assert raised(2, {"minimum": 5, ONLY_ASKED: True}, Place("trees")) == []
