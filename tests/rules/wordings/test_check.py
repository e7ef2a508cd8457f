"""A mistake in a row is told with its file, its line and what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from corrigible.rules.errors import AuthoringError
from corrigible.rules.pack.load import load_pack
from corrigible.rules.wordings import Kind, read
from corrigible.rules.wordings.check import check_language
from corrigible.rules.wordings.rows import read_language
from tests._support.rows import rows

HEAD = """\
language: xx
parts: {must: must|has to}
types: {integer: [number]}
rows:
"""
ROW = """\
  - id: missing.needed
    pattern: '{field} <must> be there'
    example: the name has to be there
    gives: {field: name}
    counter: the name is there
"""
MANIFEST = """\
name: shop
title: Shop
version: 1.0.0
api: {name: Shop API}
license: Apache-2.0
wordings:
"""


def language(folder: Path, rows: str, head: str = HEAD) -> Path:
    file = folder / "xx.yaml"
    file.write_text(head + rows)
    return file


def test_a_right_file_has_no_mistakes(tmp_path: Path) -> None:
    rows = check_language(language(tmp_path, ROW))
    assert [(row.id, row.kind) for row in rows.rows] == [("xx.missing.needed", Kind.MISSING)]


@rows(
    ("wrong", "right", "line", "problem"),
    [
        ("id: mising.needed", "id: missing.needed", 5, '"mising" is no kind; did you mean "missing"?'),
        ("id: needed", "id: missing.needed", 5, "an id is a kind, a point and a name in lower case"),
        ("{feild}", "{field}", 6, '{feild} is no slot; did you mean "field"?'),
        ("<mst>", "<must>", 6, '<mst> is no part of the language; did you mean "must"?'),
        ("(be) there'", "be there'", 6, "groups are written (?:...)"),
        ("be There'", "be there'", 6, "patterns are written in lower case"),
        ("be there['", "be there'", 6, "no expression of RE2"),
        ("be gone'", "be there'", 7, "does not match its example: the name has to be there"),
        ("{field: size}", "{field: name}", 8, "the pattern takes name as {field} of the first example, not size"),
        ("{limit: 1}", "{field: name}", 8, "{limit} is no slot of its pattern"),
        ("counter: the name must be there", "counter: the name is there", 9, "matches its counter-example"),
        ("contra: the name is there", "counter: the name is there", 9, 'did you mean "counter"?'),
        ("be there'\n    states: {maximum: '{limit}'}", "be there'", 7, "{limit} is no slot of its pattern"),
        ("be there'\n    states: {maximun: 5}", "be there'", 7, '"maximun" is no keyword; did you mean "maximum"?'),
        ("be there'\n    states: {maximum: five}", "be there'", 7, "maximum: 'five' is none of its values"),
        (f"be there{'a?' * 2000}'", "be there'", 6, "4,023 letters, and 4,000 are read: make several rows of it"),
        (f"be there{'(?:a{1,900}b)?' * 60}'", "be there'", 6, "it unfolds to more than there is room for"),
    ],
)
def test_a_mistake_has_a_line(wrong: str, right: str, line: int, problem: str, tmp_path: Path) -> None:
    assert ROW.count(right) == 1
    file = language(tmp_path, ROW.replace(right, wrong))
    with pytest.raises(AuthoringError) as raised:
        check_language(file)
    texts = [(one.place.line, one.problem) for one in raised.value.all_errors()]
    assert any(at == line and problem in text for at, text in texts), texts


@pytest.mark.parametrize("indent", ["    ", "      "])
def test_a_list_of_examples_stands_below_its_name_or_further_in(indent: str, tmp_path: Path) -> None:
    listed = f"example:\n{indent}- the name has to be there\n{indent}- the size must be there"
    file = language(tmp_path, ROW.replace("example: the name has to be there", listed))
    check_language(file)
    assert [row.id for row in read_language(file).rows().rows] == ["xx.missing.needed"]


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    rows = ROW.replace("{field}", "{feild}") + ROW.replace("<must>", "<mst>")
    with pytest.raises(AuthoringError) as raised:
        check_language(language(tmp_path, rows))
    assert [one.place.line for one in raised.value.all_errors()] == [6, 8, 10, 11]


@pytest.mark.parametrize(
    ("wrong", "right", "problem"),
    [
        ("language: yy", "language: xx", 'the name of the file, "xx"'),
        ("language: xx\nscript: latn", "language: xx", '"latn" is no script'),
        ("{must: must|<hass> to}", "{must: must|has to}", "<hass> is no part"),
        ("{whole: [number]}", "{integer: [number]}", "whole"),
    ],
)
def test_a_mistake_in_a_head_is_told(wrong: str, right: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match=r"xx\.yaml:\d") as raised:
        check_language(language(tmp_path, ROW, HEAD.replace(right, wrong)))
    assert problem in str(raised.value)


def test_a_pack_reads_sentences_of_its_api(tmp_path: Path) -> None:
    row = ROW.replace("<must> be there", "wants to be waved")
    (tmp_path / "pack.yaml").write_text(MANIFEST + row.replace("has to be there", "wants to be waved"))
    pack = load_pack(tmp_path)
    assert read("the size wants to be waved").said == ()
    [said] = read("the size wants to be waved", pack.wordings).said
    assert (said.kind, said.slots, said.row) == (Kind.MISSING, {"field": ("size",)}, "shop.missing.needed")


def test_a_mistake_in_the_rows_of_a_pack_has_a_line(tmp_path: Path) -> None:
    (tmp_path / "pack.yaml").write_text(MANIFEST + ROW.replace("<must>", "<must>{feld}"))
    with pytest.raises(AuthoringError, match=r'pack\.yaml:8: .*\{feld\} is no slot; did you mean "field"\?'):
        load_pack(tmp_path)
