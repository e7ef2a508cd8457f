"""Each row of each language matches its examples, gives their slots, and does not match its counter-examples."""

from __future__ import annotations

import pytest

from corrigible.rules.wordings import Kind, Language, languages
from corrigible.rules.wordings.reader import problems

_LANGUAGES = {one.name: one for one in languages()}


@pytest.mark.parametrize("language", _LANGUAGES.values(), ids=_LANGUAGES)
def test_rows_read_their_own_sentences(language: Language) -> None:
    assert [problem for _, _, problem in problems(language.rows())] == []


@pytest.mark.parametrize("language", _LANGUAGES.values(), ids=_LANGUAGES)
def test_every_kind_has_a_row(language: Language) -> None:
    assert set(Kind) - {row.kind for row in language.rows().rows} == set()
