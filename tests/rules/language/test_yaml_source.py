"""YAML with lines: what is read, and how each mistake is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from corrigible.rules.errors import AuthoringError
from corrigible.rules.language.yaml_source import read_source
from tests._support.rows import rows


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "x.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_keys_are_the_text_that_was_typed(tmp_path: Path) -> None:
    assert read_source(written(tmp_path, "on: {yes: 1, 2020-01-01: 2, null: 3, 7: 4}")).data == {
        "on": {"yes": 1, "2020-01-01": 2, "null": 3, "7": 4}
    }


@rows(
    ("text", "value"),
    [
        ("2024-01-02", "2024-01-02"),
        ("2024-99-99", "2024-99-99"),
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("'007'", "007"),
        ("0.5", 0.5),
        ("~", None),
        ("", None),
        ("[]", []),
        ("{}", {}),
    ],
)
def test_values_are_json(tmp_path: Path, text: str, value: object) -> None:
    found = read_source(written(tmp_path, f"a: {text}\n")).data["a"]
    assert (type(found), found) == (type(value), value)


def test_places_are_lines_of_keys_and_items(tmp_path: Path) -> None:
    source = read_source(written(tmp_path, "# a comment\na:\n  - x\n  - b:\n      c: 1\n"))
    lines = {
        trail: source.place(trail).line for trail in [(), ("a",), ("a", 0), ("a", 1), ("a", 1, "b"), ("a", 1, "b", "c")]
    }
    assert lines == {(): 2, ("a",): 2, ("a", 0): 3, ("a", 1): 4, ("a", 1, "b"): 4, ("a", 1, "b", "c"): 5}


def test_what_is_not_in_the_file_stands_where_its_container_does(tmp_path: Path) -> None:
    source = read_source(written(tmp_path, "a: 1\nb:\n  c: 2\n"))
    assert str(source.error(("b", "d", 3), "is missing")) == f"{source.path}:2: is missing"


@rows(
    ("text", "expected_message"),
    [
        ("a: 1\nb: 2\na: 3\n", '3: key "a" stands twice'),
        ("a:\n  b: 1\n  b: 1\n", '3: key "b" stands twice'),
        ("a: 'x\n", "2: found unexpected end of stream"),
        (
            "a: [1\nb: 2\n",
            "2: expected ',' or ']', but got ':'; a bracket is open, or a text with \":\" in it needs quotes",
        ),
        ("a: Is it so? yes: no\n", '1: a text with ": " in it needs quotes'),
        (
            "a:\n  b: Is it so\n    c: no\n",
            '3: a text with ": " in it needs quotes; or this line is indented too far: '
            "it continues the text of the line before",
        ),
        ("a:\n  - b: 1\n   c: 2\n", "3: indented unlike the lines before it, or a line before it is"),
        ("a:\n\t- b: 1\n", "2: a tab: lines are indented with blanks"),
        ("a: {b: c > 0 ? 1 : 2}\n", '1: a text with "?" in it needs quotes inside of brackets'),
        ("a: ? b\n", '1: a text that begins with "? " needs quotes'),
        ("a: @b\n", '1: a text that begins with "@" needs quotes'),
        ("a: 'it''s\n", "2: found unexpected end of stream"),
        ("a: 1\n---\nb: 2\n", "2: but found another document"),
        ("? [x]\n: 1\n", "1: a key must be plain text"),
        ("a: 1\nb: \x01\n", "2: character U+0001 is not allowed"),
        ("a: !!int abc\n", "1: invalid literal for int() with base 10: 'abc'"),
        ("a:\n  - .nan\n", "2: .nan is no number of JSON"),
        ("a: -.inf\n", "1: -.inf is no number of JSON"),
        ("a: !!python/name:os.system x\n", "1: unknown tag 'tag:yaml.org,2002:python/name:os.system'"),
        ("a: !mine x\n", "1: unknown tag '!mine'"),
        ("a: &x\n  - *x\n", "1: nested deeper than 100 levels"),
        ("a: *x\n", "1: found undefined alias 'x'; a text that begins with \"*\" needs quotes"),
    ],
)
def test_a_mistake_is_said_with_its_line(tmp_path: Path, text: str, expected_message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(AuthoringError) as caught:
        read_source(path)
    assert str(caught.value) == f"{path}:{expected_message}"


def test_files_that_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match=r"absent\.yaml: no such file$"):
        read_source(tmp_path / "absent.yaml")
    with pytest.raises(AuthoringError, match=r"x\.yaml: cannot be read: 'utf-8' codec can't decode byte 0xff"):
        read_source(written(tmp_path, b"a: \xff"))
    with pytest.raises(AuthoringError, match=r"[^:]*: cannot be read: .*[Dd]irectory"):
        read_source(tmp_path)
