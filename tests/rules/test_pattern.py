"""Patterns of RE2 take a bounded memory, however many texts they are searched for."""

from __future__ import annotations

import random
import re
import string
import subprocess
import sys

import pytest
import re2

from corrigible.rules.pattern import Pattern, PatternSet, compiled

_WORDS = ("order", "customer", "is", "not", "allowed", "already", "must", "be", "one", "of", "closed", "value")


def _texts(count: int) -> list[str]:
    dice = random.Random(5)
    strange = ["".join(dice.choices(string.ascii_letters, k=9)) for _ in range(count)]
    return [" ".join(dice.choices([*_WORDS, one], k=12)) for one in strange]


@pytest.mark.parametrize("count", [1, 7, 60, 900])
def test_a_set_finds_what_each_pattern_alone_finds(count: int) -> None:
    dice = random.Random(count)
    patterns = [
        rf"\b{dice.choice(_WORDS)}\b(?: \w+){{0,{number % 9}}} {dice.choice(_WORDS)}" for number in range(count)
    ]
    patterns[-1] += "|x" * 3000
    found, ours = PatternSet(patterns), [re.compile(one, re.ASCII) for one in patterns]
    for text in [*_texts(40), "", "x"]:
        alone = [number for number, one in enumerate(ours) if one.search(text) is not None]
        assert sorted(found.matches(text.encode())) == alone


def test_a_set_may_ignore_upper_and_lower_case() -> None:
    assert PatternSet(["not found", "gone"], case_sensitive=False).matches(b"NOT Found") == [0]
    assert PatternSet(["not found", "gone"]).matches(b"NOT Found") == []


@pytest.mark.parametrize("make", [PatternSet, lambda texts: [Pattern(one) for one in texts]])
def test_a_pattern_that_needs_more_memory_than_others_is_taken(make: object) -> None:
    long = r"(?i)\pL{1,150}: no"
    with pytest.raises(re2.error):
        options = re2.Options()
        options.max_mem, options.log_errors = 1 << 20, False
        re2.compile(long, options)
    assert callable(make) and make([long, "b"])


@pytest.mark.parametrize(
    "pattern", [r"(?:^|\W)(?P<said>\w+ (?P<word>is|be) (?P<other>\S+))(?:\W|$)", r"^(?P<first>\w+)", "(?P<last>d)$"]
)
def test_a_pattern_that_keeps_no_states_finds_the_same(pattern: str) -> None:
    kept, other = Pattern(pattern), Pattern(pattern, keeps_states=False)
    sure = ["order is not closed", "\n😀 it must be é", "\ud800 order is x", "", *_texts(300)]
    texts = [one.encode("utf-8", "surrogatepass") for one in (*sure, " ".join(sure[4:40]))]
    found = [kept.spans(text, at) for text in texts for at in (0, 1, len(text))]
    assert found == [other.spans(text, at) for text in texts for at in (0, 1, len(text))]
    assert None in found and any(found)


def test_patterns_of_answers_are_not_all_kept() -> None:
    for number in range(1, 200):
        compiled(f"^[a-z]{{1,{number}}}$")
    assert compiled.cache_info().currsize <= 16


_MEASURED = """
import ctypes
from itertools import islice, permutations
from corrigible.rules.pattern import Pattern, PatternSet
from tests.rules.test_pattern import _texts, _WORDS
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (*"abcdefg", "used", "free", "keep")]
libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info
patterns = [rf"{one}\\b.*{other}.*\\b{third}" for one, other, third in islice(permutations(_WORDS, 3), 0, None, 7)]
found, single = PatternSet(patterns), Pattern("(?:o|e).{12}(?:a|d).{9}$")
texts = _texts(3000)
before = libc.mallinfo2().used
for text in texts:
    found.matches(text.encode())
    single.search(text)
print(libc.mallinfo2().used - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="what malloc has handed out is asked of glibc")
def test_what_is_learned_of_texts_has_a_bound() -> None:
    """One set that may take 64 MB takes 30 MB of these texts."""
    said = subprocess.run([sys.executable, "-c", _MEASURED], capture_output=True, text=True, check=True).stdout
    assert int(said) < 4 << 20
