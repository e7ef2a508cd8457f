"""A list of patterns finds what its patterns find one after the other, whatever the text."""

from __future__ import annotations

import re

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from corrigible.adapters.formats import error_message
from corrigible.adapters.formats.message import database, limits, member_names
from corrigible.adapters.formats.message.pattern_list import PatternList
from tests._support.rows import rows

MODULES = (error_message, database, limits, member_names)
LISTS = [one for module in MODULES for one in vars(module).values() if isinstance(one, PatternList)]
PATTERNS = [(patterns, text) for patterns in LISTS for text in patterns.texts]
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


def test_there_are_lists_to_look_at() -> None:
    assert len(LISTS) >= 8
    assert len(PATTERNS) >= 100


@pytest.mark.slow
@rows(("patterns", "text"), PATTERNS)
def test_a_text_that_a_pattern_matches_is_found(patterns: PatternList, text: str) -> None:
    @settings(max_examples=2, phases=[Phase.generate, Phase.shrink], database=None)
    @given(AROUND, st.from_regex(re.compile(text, re.IGNORECASE)), AROUND, st.sampled_from([str, str.upper, str.lower]))
    def check(before: str, inner: str, after: str, written: type[str]) -> None:
        message = before + written(inner[:2000]) + after
        assert found(patterns, message) == one_after_the_other(patterns, message)

    check()


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
