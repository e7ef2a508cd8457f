"""Each row of each language matches its examples, gives their slots, and does not match its counter-examples."""

from __future__ import annotations

from corrigible.rules.wordings import Kind, languages
from corrigible.rules.wordings.check import check_language
from tests._support.rows import rows


@rows("language", languages())
def test_rows_read_their_own_sentences(language: str) -> None:
    check_language(languages()[language].path)


@rows("language", ["de", "en", "es", "fr", "it", "ja", "pt", "zh"])
def test_every_kind_has_a_row(language: str) -> None:
    """A language that is new begins with few."""
    assert set(Kind) - {row.kind for row in languages()[language].rows().rows} == set()
