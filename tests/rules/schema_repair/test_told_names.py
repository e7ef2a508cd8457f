"""JSON in a text whose description lists the names in it."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.schema_repair.told_names import OF_LISTS, TOLD_NAMES, as_told, told_names

FILTERS = """JSON encoded filters (a `map[string][]string`). Available filters:
  - driver=<driver> Matches the driver.
  - `label=<key>` or `label=<key>:<value>` Matches labels.
- `reference`=(`<name>[:<tag>]`)
"""
NAMED = {TOLD_NAMES: ["driver", "label", "name"]}
LISTS = {OF_LISTS: True}
NO_LIST = "json: cannot unmarshal string into Go value of type []string"


@pytest.mark.parametrize(
    ("description", "wanted"),
    [
        (FILTERS, {TOLD_NAMES: ["driver", "label", "reference"], OF_LISTS: True}),
        ("- only=<one>", {}),
        ("driver=<driver>, label=<label>", {}),
        (None, {}),
    ],
)
def test_a_description_lists_names_line_by_line(description: Any, wanted: Any) -> None:
    assert told_names(description) == wanted


@pytest.mark.parametrize(
    ("value", "message", "wanted"),
    [
        ('{"drivr":["local"]}', '"drivr" is an invalid filter', '{"driver":["local"]}'),
        ('{"label": ["a"], "nmae": ["x"]}', "invalid filter 'nmae'", '{"label": ["a"], "name": ["x"]}'),
        ('{"drivr":["local"]}', "invalid filter", ""),  # which one is not said
        ('{"driver":["local"]}', 'invalid filter "driver"', ""),  # it is known
        ('{"drivr":["a"],"driver":["b"]}', 'invalid filter "drivr"', ""),  # that is taken
        ('{"colour":["red"]}', 'invalid filter "colour"', ""),
        ('["drivr"]', 'invalid filter "drivr"', ""),
        ("drivr=local", 'invalid filter "drivr"', ""),
        ('{"drivr":', 'invalid filter "drivr"', ""),
    ],
)
def test_the_only_name_a_slip_away_is_meant(value: str, message: str, wanted: str) -> None:
    assert as_told(value, message, NAMED) == wanted


@pytest.mark.parametrize(
    ("value", "message", "wanted"),
    [
        ('{"status":"running"}', NO_LIST, '{"status":["running"]}'),
        ('{"status":"running","label":["a"]}', NO_LIST, '{"status":["running"],"label":["a"]}'),
        ('{"status":"running"}', "unknown status", ""),
    ],
)
def test_a_text_becomes_the_list_that_the_description_tells(value: str, message: str, wanted: str) -> None:
    assert as_told(value, message, LISTS) == wanted
    assert as_told(value, message, {}) == ""
