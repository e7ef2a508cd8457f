"""Pointers into documents, and the bracket notation of forms."""

from __future__ import annotations

from typing import Any

from corrigible.rules.pointer import (
    MISSING,
    escape,
    is_among,
    parameter_pointer,
    resolve,
    segments,
    through_arrays,
)
from corrigible.schema.document import parameter_segments
from tests._support.rows import rows

DOCUMENT = {"a": [{"b": None}, [1, 2]], "": 0, "x/y": {"~": 1}, "0": "zero"}


@rows(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/a/0/b", None),
        ("/a/1/1", 2),
        ("/", 0),
        ("/x~1y/~0", 1),
        ("/0", "zero"),
        ("/a/2", MISSING),
        ("/a/-1", MISSING),
        ("/a/-", MISSING),
        ("/a/b", MISSING),
        ("/a/0/b/c", MISSING),
        ("/a/1/1/0", MISSING),
        ("/a/²", MISSING),
        ("/a/" + "9" * 5000, MISSING),
    ],
)
def test_resolve(pointer: str, value: Any) -> None:
    assert resolve(DOCUMENT, pointer) is value or resolve(DOCUMENT, pointer) == value


@rows("name", ["", "a", "a/b", "~", "~1", "/~0", "ü", "a b"])
def test_escaping_goes_both_ways(name: str) -> None:
    assert segments(f"/{escape(name)}/x") == [name, "x"]


@rows(
    ("pointer", "elements"),
    [
        ("/a", []),
        ("/a/0", ["/a/0"]),
        ("/a/0/b", ["/a/0"]),
        ("/a/1/0", ["/a/1", "/a/1/0"]),
        ("/a/-", ["/a/-"]),
        ("/a/7/b/0", ["/a/7"]),
        ("/x~1y/~0", []),
    ],
)
def test_the_elements_a_pointer_leads_through(pointer: str, elements: list[str]) -> None:
    assert list(through_arrays(DOCUMENT, pointer)) == elements


@rows(
    ("name", "parts", "pointer"),
    [
        ("amount", ["amount"], "/body/amount"),
        ("card[number]", ["card", "number"], "/body/card/number"),
        ("items[0][price]", ["items", "0", "price"], "/body/items/0/price"),
        ("items[]", ["items", ""], "/body/items"),
        ("a/b[c~d]", ["a/b", "c~d"], "/body/a~1b/c~0d"),
        ("", [""], ""),
    ],
)
def test_bracket_notation(name: str, parts: list[str], pointer: str) -> None:
    assert (parameter_segments(name), parameter_pointer(name)) == (parts, pointer)


@rows(
    ("name", "is_secret"),
    [("cvc", True), ("card[cvc]", True), ("cvc[0]", True), ("card", False), ("card[brand]", False), ("[", False)],
)
def test_a_part_of_a_name_in_brackets_is_a_name(name: str, is_secret: bool) -> None:
    assert is_among(name, frozenset({"cvc"})) is is_secret
