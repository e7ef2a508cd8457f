"""The same refusal, said in another language than English, as servers of other countries say it.

Names of members, values and quoted texts stay; sentences and English codes do not. `translations.json` has the
sentences. An answer may not be worse for a language, so recorded answers are judged in each of them.

Knows: recorded answers, their translations. Does not know: the product's decisions, what is right.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Final

from pydantic import BaseModel, ConfigDict

from corrigible.schema.exchange import Json

from .case import FOLDER, Case, Recorded, Stranger, load

LANGUAGES: Final = ("de", "fr", "es", "pt", "zh", "ja")


class Translation(BaseModel):
    """What is said otherwise in the answers to one case."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    server: str
    case: str
    kind: str
    """As the wordings name it."""
    is_aside: bool = False
    """Whether nobody looked at this one while the wordings of other languages were written."""
    sentences: dict[str, dict[str, str]]
    """From an English sentence, or a part of a text, to what is said in each language."""
    codes: dict[str, str] = {}
    """From a text that is an English code as a whole to one that says nothing."""

    def said(self, text: str, language: str) -> str:
        """Return a text of the answer in another language."""
        if text in self.codes:
            return self.codes[text]
        for english in sorted(self.sentences, key=len, reverse=True):
            text = text.replace(english, self.sentences[english][language])
        return text


@cache
def translations() -> tuple[Translation, ...]:
    rows = json.loads((FOLDER / "translations.json").read_bytes())
    return tuple(Translation.model_validate(row) for row in rows)


@cache
def _server(name: str) -> Stranger:
    return load(name)


def recorded_case(translation: Translation) -> tuple[Stranger, Case]:
    """Return the server and the case, in English, that a translation is of."""
    server = _server(translation.server)
    return server, next(case for case in server.cases if case.name == translation.case)


def told(case: Case, translation: Translation, language: str) -> Case:
    """Return a case with all its refusals said in another language."""
    said = [
        one if one.status < 400 else one.model_copy(update={"response_body": _body(one, translation, language)})
        for one in case.exchanges
    ]
    return case.model_copy(update={"exchanges": said})


def _body(recorded: Recorded, translation: Translation, language: str) -> str:
    try:
        answer: Json = json.loads(recorded.response_body)
    except ValueError:
        return _text(recorded.response_body, translation, language)
    return json.dumps(_each(answer, translation, language), ensure_ascii=False)


def _each(value: Json, translation: Translation, language: str) -> Json:
    if isinstance(value, dict):
        return {name: _each(inner, translation, language) for name, inner in value.items()}
    if isinstance(value, list):
        return [_each(inner, translation, language) for inner in value]
    return translation.said(value, language) if isinstance(value, str) else value


def _text(text: str, translation: Translation, language: str) -> str:
    """Return a body that is no JSON: its codes stand between other characters, so each is looked for in the text."""
    for code, neutral in translation.codes.items():
        text = text.replace(code, neutral)
    return translation.said(text, language)
