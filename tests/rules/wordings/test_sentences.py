"""What servers say is read as what it complains of, and English texts are read in English alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from corrigible.rules.wordings import Kind, languages, read
from tests._support.rows import rows

_SENTENCES = yaml.load((Path(__file__).parent / "sentences.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader)
_LEAST = 0.97
"""The share of sentences that are read as their kind. `"x" is not allowed` may be said of a name and of a value."""


@rows("language", _SENTENCES)
def test_most_sentences_are_read_as_their_kind(language: str) -> None:
    pairs = [(Kind(kind), text) for kind, texts in _SENTENCES[language].items() for text in texts]
    missed = [f"{kind}: {text}" for kind, text in pairs if kind not in {said.kind for said in read(text).said}]
    assert len(pairs) >= 5
    assert len(missed) <= len(pairs) * (1 - _LEAST), missed


def test_every_language_of_the_project_is_tried() -> None:
    assert set(_SENTENCES) == set(languages())


@pytest.mark.parametrize(
    "text",
    [
        "The parameter 'die' must not be des",
        "error in use: no such file or directory",
        "on limit, or as is: the war is over",
        "Field 'es' in 'la' is required as 'de'",
    ],
)
def test_an_english_text_is_read_in_english_alone(text: str) -> None:
    assert {said.language for said in read(text).said} <= {"en"}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("O campo name não pode ser superior a 20 caracteres.", "pt"),
        ("El campo name no debe ser mayor que 20 caracteres.", "es"),
        ('Tipo de medio "text/plain" incompatible con la solicitud.', "es"),
        ("項目 'email' は必須です。", "ja"),
        ("参数 'email' 不能为空", "zh"),
    ],
)
def test_near_languages_are_told_apart(text: str, language: str) -> None:
    assert {said.language for said in read(text).said} == {language}


def test_values_end_where_the_letters_of_the_language_begin() -> None:
    said = read("order只能是asc、desc之一").of(Kind.VALUE)
    assert {tuple(one.states["enum"]) for one in said if "enum" in one.states} == {("asc", "desc")}
    said = read("orderはasc、descのいずれかで指定してください").of(Kind.VALUE)
    assert {tuple(one.states["enum"]) for one in said if "enum" in one.states} == {("asc", "desc")}


@rows(
    "text",
    [
        "All required fields are present.",
        "The job finished without errors.",
        "Uploaded 12 files, no errors found.",
        "The index already existed, nothing to do.",
        "Permission granted to user bob.",
        "Quota: 10 of 100 used",
        "Optional fields may be left empty.",
        "Deployment in progress (45%)",
        "The token is valid until 2030-01-01.",
        "This value was computed from the last 30 days.",
    ],
)
def test_what_went_well_complains_of_no_value(text: str) -> None:
    assert not read(text).of(Kind.VALUE, Kind.MISSING, Kind.UNKNOWN, Kind.MALFORMED, Kind.TOGETHER, Kind.APART)


def test_what_someone_may_not_do_is_read_as_no_wrong_value() -> None:
    assert [text for text in _SENTENCES["en"]["right"] if read(text).of(Kind.VALUE)] == []
