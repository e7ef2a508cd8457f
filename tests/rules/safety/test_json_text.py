"""Texts that are nearly JSON: where they stop being it, and what can be read without a guess."""

from __future__ import annotations

import json
from typing import Any

import pytest

from corrigible.rules.pointer import MISSING
from corrigible.rules.safety.json_text import LONGEST, closed_json, fault, repaired_json
from tests._support.rows import rows

BOM = "\ufeff"
DEEP = "[" * 100_000


@rows(
    ("text", "place"),
    [
        ("{a: 1}", (1, 2, "a member name in double quotes")),
        ('{"a" 1}', (1, 6, "a colon")),
        ('{\n  "a": 1\n  "b": 2}', (3, 3, "a comma, or the end of the object or list")),
        ('{"a": }', (1, 7, "a value")),
        ("\n{a: 1}", (2, 2, "a member name in double quotes")),
        ("[1,\n 2,]", (2, 4, "a value")),
        ('{"a": 1,\n }', (2, 2, "a member name in double quotes")),
        ('[{"a": 1, }]', (1, 11, "a member name in double quotes")),
        ('{"a": "b', (1, 7, "the end of the text that begins there")),
        ('{"a": "b\tc"}', (1, 9, "an escape in the place of a control character")),
        ('["\\x"]', (1, 3, "a valid escape")),
        ('["\\u12"]', (1, 4, "a valid escape")),
        ("{} {}", (1, 4, "the end of the body")),
        ("", (1, 1, "a value")),
        (f"{BOM}{{}}", (1, 1, "no byte order mark")),
        ("[NaN]", (1, 2, "a number")),
        ("\n[NaN]", (2, 2, "a number")),
        ('{"a": "NaN",\n "b": -Infinity}', (2, 7, "a number")),
        ('["\\"Infinity", Infinity]', (1, 16, "a number")),
        ("[0, 1]", None),
        ('{"a": 1, "a": 1e400}', None),
        (DEEP, None),
        (" " * (LONGEST - 1) + "{", (1, LONGEST + 1, "a member name in double quotes")),
        (" " * LONGEST + "{", None),
    ],
)
def test_where_a_text_stops_being_json(text: str, place: tuple[int, int, str] | None) -> None:
    assert fault(text) == place


@rows(
    ("text", "place"),
    [
        ('{"a": 1,\n }', (2, 2, "a member name in double quotes")),
        ("[1,\n 2,]", (2, 4, "a value")),
        ('[{"a": 1, }]', (1, 11, "a member name in double quotes")),
    ],
)
def test_where_newer_pythons_tell_the_comma(
    text: str, place: tuple[int, int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def loads(text: str, **hooks: Any) -> Any:
        raise json.JSONDecodeError("Illegal trailing comma before end of object", text, text.rindex(","))

    monkeypatch.setattr(json, "loads", loads)
    assert fault(text) == place


@rows(
    ("text", "value"),
    [
        ('{"a": [1, 2,], }', {"a": [1, 2]}),
        (f'{BOM}{{"a": 1}}', {"a": 1}),
        ('{"a": ",]", "b": "\\",}",\n}', {"a": ",]", "b": '",}'}),
        ("[12345.6789]", [12345.6789]),
        ("[0.123456789012345]", [0.123456789012345]),
        ('{"a": 1}' + " " * (LONGEST - 8), {"a": 1}),
        ('{"a": 1}' + " " * (LONGEST - 7), MISSING),
        ("[1,,]", MISSING),
        ('{"a": 1, "a": 2}', MISSING),
        ("[1e400]", MISSING),
        ("[-1e400]", MISSING),
        ("[0.1234567890123456]", MISSING),
        ("[NaN,]", MISSING),
        (f"{BOM}{BOM}[]", MISSING),
        ("{a: 1, $b : 'x'}", {"a": 1, "$b": "x"}),
        ("{'a': True, \"b\": [False, None,]}", {"a": True, "b": [False, None]}),
        ("['it\\'s \"q\"', \"True: 'x'\", '\\n']", ['it\'s "q"', "True: 'x'", "\n"]),
        ("{a: b}", MISSING),
        ("{a: 1, 'a': 2}", MISSING),
        ("{'a': 'it's'}", MISSING),
        ("['a\n']", MISSING),
        ("['a", MISSING),
        ("['\\x41']", MISSING),
        ("{a-b: 1}", MISSING),
        ("{NaN: 1}", MISSING),
        ("{True: 'x'}", MISSING),
        ("{False : 1, a: None}", MISSING),
        ("{'a': 1, None: 2}", MISSING),
        ("{'True': 1, True_: True}", {"True": 1, "True_": True}),
        (DEEP, MISSING),
    ],
)
def test_what_is_read_without_a_guess(text: str, value: Any) -> None:
    assert repaired_json(text) == value


@rows(
    ("text", "closers", "value"),
    [
        ('{"a": {"b": "3"}', "}", {"a": {"b": "3"}}),
        ('{"a": [{"b": "3"', "}]}", {"a": [{"b": "3"}]}),
        ('[1, {"a": null', "}]", [1, {"a": None}]),
        ('{"a": true\n', "}", {"a": True}),
        ('{"a": []', "}", {"a": []}),
        ('{"a": "]}"', "}", {"a": "]}"}),
        ('{"a": "\\""', "}", {"a": '"'}),
    ],
)
def test_what_lacks_only_its_end(text: str, closers: str, value: Any) -> None:
    closed = closed_json(text)
    assert closed == (value, closers)
    assert repaired_json(text) is MISSING


@rows(
    "text",
    [
        '{"a": 1}',
        '{"a": "b',  # inside a text
        '{"a": "b\\"',
        '{"a": 12',  # perhaps 123
        '{"a": 1.5e3',
        '{"a": tru',
        '{"a": "b",',
        '{"a":',
        '{"a"',  # a name without a value
        '{"a": "b", "c"',
        '{"a": {',
        "[",
        '{"a": [1}',
        '{"a": "b"}}',
        '"a"',
        "",
        '{"a": "b", "a": "c"',  # which of them?
        '{"a": "\\ud800"',
        "{'a': 'b'",
        '{a: "b"',
        '{"a": NaN, "b": "c"',
        "[" * 9 + '"a"',
        "[" * 3 + '"' + "a" * LONGEST + '"',
    ],
)
def test_what_lacks_more_or_nothing(text: str) -> None:
    assert closed_json(text) is None
