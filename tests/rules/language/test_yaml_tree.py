"""YAML that is small to write and large or deep to read: said with its line, before anybody walks it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.openapi.document.yaml12 import read_yaml
from corrigible.rules.errors import AuthoringError
from corrigible.rules.language.yaml_source import read_source

READERS: tuple[Callable[[Path], object], ...] = (read_source, read_yaml)


def laughing(levels: int, each: int = 10) -> str:
    """Aliases of aliases: some bytes a level, ten times as many values."""
    return "a0: &a0 [1]\n" + "".join(
        f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * each)}]\n" for level in range(1, levels)
    )


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("text", "said"),
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
    tmp_path: Path, read: Callable[[Path], object], text: str, said: str
) -> None:
    file = tmp_path / "large.yaml"
    file.write_text(text)
    with pytest.raises(AuthoringError, match=said) as caught:
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
    began = time.process_time()
    with pytest.raises(AuthoringError):
        read_source(file)
    assert time.process_time() - began < 10
