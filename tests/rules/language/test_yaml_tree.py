"""YAML that is small to write and large or deep to read: said with its line, before anybody walks it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from corrigible.adapters.openapi.source_files import read_yaml
from corrigible.rules.errors import AuthoringError
from corrigible.rules.language.yaml_source import composed, read_source
from tests._support.rows import rows

READERS: tuple[Callable[[Path], object], ...] = (read_source, read_yaml)


def laughing(levels: int, each: int = 10) -> str:
    """Aliases of aliases: some bytes a level, ten times as many values."""
    return "a0: &a0 [1]\n" + "".join(
        f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * each)}]\n" for level in range(1, levels)
    )


@rows("read", READERS)
@rows(
    ("text", "expected_message"),
    [
        (laughing(10), "values, what aliases stand for written out"),
        (laughing(5000, 1), "nested deeper than"),
        ("a: &a [*a]\n", "nested deeper than"),
        ("[" * 100_000, "nested deeper than"),
        ("{a: " * 50_000, "nested deeper than"),
        ("- " * 100_000, "nested deeper than"),
        ("? " * 100_000, "nested deeper than"),
        ("".join(" " * level + "a:\n" for level in range(1200)), "nested deeper than"),
    ],
    ids=["aliases", "alias chain", "alias of itself", "brackets", "braces", "dashes", "keys", "indents"],
)
def test_what_is_too_much_is_an_error_with_a_line(
    tmp_path: Path, read: Callable[[Path], object], text: str, expected_message: str
) -> None:
    file = tmp_path / "large.yaml"
    file.write_text(text)
    with pytest.raises(AuthoringError, match=expected_message) as caught:
        read(file)
    assert caught.value.place.path == file


@pytest.mark.parametrize("read", READERS)
def test_aliases_and_brackets_in_measure_are_read(tmp_path: Path, read: Callable[[Path], object]) -> None:
    file = tmp_path / "usual.yaml"
    file.write_text(f'a: &a {{b: [1, 2]}}\nc: *a\nd: "{"[" * 2000}"\n')
    found = read(file)
    data: Any = getattr(found, "data", found)
    assert data["a"] == data["c"] == {"b": [1, 2]}
    assert len(data["d"]) == 2000


def test_reading_what_is_refused_does_not_grow_with_what_it_would_unfold_to(tmp_path: Path) -> None:
    """A hundred levels would be 10^100 values: that it comes back at all is the proof."""
    file = tmp_path / "laughing.yaml"
    file.write_text(laughing(90))
    with pytest.raises(AuthoringError):
        read_source(file)


DEEP_FOR_C = f'a: "{"[" * 1001}"\n'


@rows(
    ("text", "deepest", "most"),
    [
        ("", 1, 1),
        ("x", 1, 1),
        ("[1, 2]", 2, 3),
        ("{a: 1, b: 2}", 2, 5),
        ("[[1], [2]]", 3, 5),
        ("[[]]", 2, 2),
        ("a: &a [1, 2]\nb: *a\n", 3, 9),
        (DEEP_FOR_C + "b: [[1], [2], [3]]\n", 4, 99),
        ("[" * 990 + "]" * 990, 990, 990),
    ],
)
def test_what_just_fits(text: str, deepest: int, most: int) -> None:
    composed(text, Path("x.yaml"), deepest=deepest, most=most)


@rows(
    ("text", "deepest", "most", "expected_message"),
    [
        ("a: 1\nb: [1, 2, 3]\n", 9, 3, "2: more than 3 values, what aliases stand for written out"),
        ("\na: &a [1, 2]\nb: *a\n", 9, 8, "2: more than 8 values, what aliases stand for written out"),
        ("a: 1\nb:\n  - [1]\n", 2, 99, "3: nested deeper than 2 levels"),
        ("a: [1]\nb: [[1]]\n", 3, 99, "1: nested deeper than 3 levels"),
        ("a: 1\nb: &b [*b]\n", 9, 99, "2: nested deeper than 9 levels"),
        ("\n" + "[" * 1100, 950, 9999, "2: nested deeper than 950 levels"),
        (DEEP_FOR_C + "b: [\n[[1]]]\n", 3, 99, "3: nested deeper than 3 levels"),
    ],
)
def test_what_is_a_little_too_much(text: str, deepest: int, most: int, expected_message: str) -> None:
    with pytest.raises(AuthoringError) as caught:
        composed(text, Path("x.yaml"), deepest=deepest, most=most)
    assert str(caught.value) == f"x.yaml:{expected_message}"


def test_what_is_no_yaml_is_said_by_the_parser() -> None:
    with pytest.raises(yaml.YAMLError, match="expected the node content"):
        composed("a: [", Path("x.yaml"), deepest=9, most=9)
