"""Splicing: members are added, and every native byte stays where it was."""

from __future__ import annotations

import json
from typing import Any

from corrigible.proxy.embed.member import blank, span, splice
from tests._support.rows import rows

F = '"recovery_feedback":{"x":1}'


def added(text: str, *pointers: str) -> str:
    return splice(text.encode(), json.loads(text, strict=False), dict.fromkeys(pointers, (F.encode(),))).decode()


@rows(
    ("text", "after"),
    [
        ("{}", "{" + F + "}"),
        (" { \n } ", " { \n" + " " + F + "} "),
        ('{"a":1}', '{"a":1,' + F + "}"),
        ('{"a": 1 \n}\n', '{"a": 1 \n,' + F + "}\n"),
        ('{"a":1e400,"b":9223372036854775808,"a":1.10}', '{"a":1e400,"b":9223372036854775808,"a":1.10,' + F + "}"),
        ('{"s":"\\u0000\\ud83d\\ude00}\\"{"}', '{"s":"\\u0000\\ud83d\\ude00}\\"{",' + F + "}"),
        ('{"s":"\u00e9\u202e"}', '{"s":"\u00e9\u202e",' + F + "}"),
        ('{"a":{}}', '{"a":{},' + F + "}"),
        ('"{}"', '"{}"'),
        ("null", "null"),
    ],
)
def test_at_the_top(text: str, after: str) -> None:
    said = added(text, "")
    json.loads(said, strict=False)
    assert said.replace(" ", "") == after.replace(" ", "")
    assert said.replace("," + F, "").replace(F, "") == text


@rows(
    ("text", "pointer", "after"),
    [
        ('{"error":{"m":1}}', "/error", '{"error":{"m":1,' + F + "}}"),
        ('{"error": { } }', "/error", '{"error": { ' + F + "} }"),
        ('{"error":{"m":1} , "b":[{}]}', "/error", '{"error":{"m":1,' + F + '} , "b":[{}]}'),
        (
            '{"a":"}","error":{"m":"}"},"z":{"error":{}}}',
            "/error",
            '{"a":"}","error":{"m":"}",' + F + '},"z":{"error":{}}}',
        ),
        ('{"error":{"a":1},"error":{"b":2}}', "/error", '{"error":{"a":1},"error":{"b":2,' + F + "}}"),
        ('{"error":{"a":1},"error":{"b":2},"c":3}', "/error", '{"error":{"a":1},"error":{"b":2,' + F + '},"c":3}'),
        ('{"error":{"in":{"m":1}}}', "/error/in", '{"error":{"in":{"m":1,' + F + "}}}"),
        ('[{"m":1} ]', "/0", '[{"m":1,' + F + "} ]"),
        (
            '{"\u00e9":"\u4e2d","error":{"m":"\U0001f600"},"z":1}',
            "/error",
            '{"\u00e9":"\u4e2d","error":{"m":"\U0001f600",' + F + '},"z":1}',
        ),
        ('{"e":[{"m":1}]}', "/e/0", '{"e":[{"m":1,' + F + "}]}"),
        ('{"a/b":{"m":1}}', "/a~1b", '{"a/b":{"m":1,' + F + "}}"),
        ('{"\\u0065rror":{"m":1},"x":1}', "/error", '{"\\u0065rror":{"m":1,' + F + '},"x":1}'),
        ('{"error":"text"}', "/error", '{"error":"text"}'),
        ('{"error":null}', "/error", '{"error":null}'),
        ('{"other":{}}', "/error", '{"other":{}}'),
    ],
)
def test_mirrored(text: str, pointer: str, after: str) -> None:
    assert added(text, pointer) == after


def test_in_two_places_at_once() -> None:
    assert added('{"error":{}}', "", "/error") == '{"error":{' + F + "}," + F + "}"
    assert added('{"error":{"m":1},"b":2} ', "", "/error") == '{"error":{"m":1,' + F + '},"b":2,' + F + "} "


def test_nothing_to_add() -> None:
    assert splice(b'{"a":1}', {"a": 1}, {"": []}) == b'{"a":1}'


@rows(
    ("text", "pointers", "after"),
    [
        ('{"error":{"message":"no \\"x\\"","code":"c"}}', ["/error/message"], '{"error":{"message":"","code":"c"}}'),
        (
            '{"a": [1, 2] , "b": {"c": 1}, "d": 1e400, "e": true}',
            ["/a", "/b", "/d", "/e"],
            '{"a": [] , "b": {}, "d": null, "e": null}',
        ),
        ('{"a":"x","a":"y"}', ["/a"], '{"a":"x","a":""}'),
        ('{"a":1}', ["/b", "/a/b", "/a/0", "/0"], '{"a":1}'),
        ('[{"m":"x"},{"m":"y"}]', ["/1/m"], '[{"m":"x"},{"m":""}]'),
        ('{"error":"text"}', ["/error/message"], '{"error":"text"}'),
        ("{}", ["/a"], "{}"),
        ("[]", ["/0"], "[]"),
        ("[1]", ["/a", "/-"], "[1]"),
        ('{"a": "[1]"}', ["/a/0"], '{"a": "[1]"}'),
    ],
)
def test_blanking(text: str, pointers: list[str], after: str) -> None:
    assert blank(text, pointers) == after


@rows(
    ("pointer", "found"),
    [
        ("", '{"a": [10, "x"], "b": {} }'),
        ("/a", '[10, "x"]'),
        ("/a/1", '"x"'),
        ("/b", "{}"),
        ("/c", None),
        ("/a/2", None),
    ],
)
def test_spans(pointer: str, found: Any) -> None:
    text = '  {"a": [10, "x"], "b": {} }\n'
    place = span(text, pointer)
    assert (place and text[place.start : place.end]) == found
