"""Translations of recorded refusals are whole. What answers they get `make judge` counts (test_gates.py)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from corrigible.schema.exchange import Json
from tests._support.rows import check_rows

from .case import Recorded
from .translated import LANGUAGES, Translation, recorded_case, told, translations

_ENGLISH = re.compile(
    r"\b(?:the|is|not|of|be|must|invalid|bad|found|required|exception|already|cannot|allowed|with|failed"
    r"|unknown|permission|denied|unsupported|forbidden)\b"
    r"|[a-z](?:Error|Exception)\b",
    re.IGNORECASE,
)


def test_many_kinds_on_many_servers() -> None:
    rows = translations()
    assert len(rows) >= 72
    assert len({row.server for row in rows}) >= 30
    assert len({row.kind for row in rows}) >= 15
    assert len({(row.server, row.case) for row in rows}) == len(rows)
    assert sum(row.is_aside for row in rows) == 12


def test_translations_are_whole() -> None:
    check_rows(((f"{row.server}: {row.case}", row) for row in translations()), check_translation)


def check_translation(row: Translation) -> None:
    _, case = recorded_case(row)
    body = case.exchanges[0].response_body
    in_english = set(_texts(body))
    for english, others in row.sentences.items():
        assert any(english in text for text in in_english), english
        assert set(others) == set(LANGUAGES)
        assert not {english, ""} & set(others.values())
    assert all(any(code in text for text in in_english) for code in row.codes)
    for language in LANGUAGES:
        for text in _texts(told(case, row, language).exchanges[0].response_body):
            assert _ENGLISH.search(text) is None, text


def test_sentences_change_and_names_and_values_stay() -> None:
    row = Translation(
        server="x",
        case="y",
        kind="missing",
        sentences={"name is required": {"de": "name wird benötigt"}, "Bad Request": {"de": "Falsche Anfrage"}},
        codes={"REQUIRED": "E1"},
    )
    recorded = Recorded(
        method="POST",
        target="/x",
        headers=[],
        status=400,
        response_headers=[],
        response_body='{"code": "REQUIRED", "name": ["name is required", 5], "title": "400 Bad Request"}',
    )
    _, case = recorded_case(translations()[0])
    said = told(case.model_copy(update={"exchanges": [recorded]}), row, "de").exchanges[0].response_body
    assert json.loads(said) == {"code": "E1", "name": ["name wird benötigt", 5], "title": "400 Falsche Anfrage"}
    text = recorded.model_copy(update={"response_body": "REQUIRED: name is required"})
    assert told(case.model_copy(update={"exchanges": [text]}), row, "de").exchanges[0].response_body == (
        "E1: name wird benötigt"
    )


def _texts(body: str) -> Iterator[str]:
    try:
        answer: Json = json.loads(body)
    except ValueError:
        answer = body
    yield from _each_text(answer)


def _each_text(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _each_text(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _each_text(inner)
    elif isinstance(value, str):
        yield value
