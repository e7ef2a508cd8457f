"""A list of patterns finds what its patterns find one after the other, whatever the text."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from corrigible.adapters.formats.message.pattern_list import PatternList
from tests._support.rows import rows

AROUND = st.sampled_from(
    ["", " ", ".", "a", "9", "(", "\n", "\x1c", "é", "\u017f", "\u212a", "must be ", " characters", "'"]
)


def one_after_the_other(patterns: PatternList, text: str) -> tuple[int, tuple[int, int]] | None:
    for number, pattern in enumerate(patterns.texts):
        match = re.search(pattern, text, re.IGNORECASE)
        if match is not None:
            return number, match.span()
    return None


def found(patterns: PatternList, text: str) -> tuple[int, tuple[int, int]] | None:
    match = patterns.search(text)
    return None if match is None else (match.number, match.match.span())


@rows(
    ("pattern", "text"),
    [
        (r"a(?!b)c?", "ac"),
        (r"(?<![(\[])x(?=[)\]]|$)", "(x"),
        (r"(?<![(\[])x(?=[)\]]|$)", "-x]"),
        (r"x(?!(?:a|[)])b)[)](?:y|z)", "x)z"),
        (r"[]x](?=\))", "])"),
        (r"\(?(?=a)a\)", "a)"),
        (r"^a{1,3}b{0,2}c{2}$", "aaaabbbcc"),
        (r"end$", "the end"),
        (r"end$", "the end\n"),
        (r"a\sb", "a\x1cb"),
        (r"\bk", "\u212a"),
        (r"(?-i:Ab)", "ab"),
    ],
)
def test_look_around_and_counters_count_in_the_end(pattern: str, text: str) -> None:
    patterns = PatternList("never", pattern)
    assert found(patterns, text) == one_after_the_other(patterns, text)


def test_the_first_pattern_counts_wherever_it_is_found() -> None:
    match = PatternList("b", "a").search("ab")
    assert match is not None
    assert (match.number, match.match[0]) == (0, "b")


def test_what_cannot_be_found_is_no_candidate() -> None:
    assert list(PatternList("a", "b").candidates("xyz")) == []
    assert list(PatternList("a", "b").candidates("xyzb")) == [1]
    assert list(PatternList("a", "b").candidates("é")) == [0, 1]
