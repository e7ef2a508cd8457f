"""Texts that show how a date or a time is written, by an example or by letters."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Tides, version: '1'}
paths:
  /tides:
    get:
      parameters:
      - {name: month, in: query, schema: {type: string}}
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              properties: {port: {type: string}, format: {type: string}, highAt: {type: string, format: date-time}}
  /tides/{month}:
    parameters: [{name: month, in: path, required: true, schema: {type: string, pattern: '[0-9]{4}-[0-9]{2}'}}]
    get: {}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("tides"), DESCRIPTION)


SHOWN = "Failed on property 'highAt': Invalid time. Correct format follows example: '2023-08-21 23:38:51.110+0200'."


@pytest.mark.parametrize("value", ["2026-03-04T10:11:12", "2026-03-04", "soon", "2026-03-04T10:11:12.3456+01:00"])
def test_a_moment_that_says_less_or_more_is_asked_for(engine: Engine, value: str) -> None:
    request = Request("POST", "/tides", {}, {"content-type": "application/json"}, {"highAt": value})
    outcome = followed(feedback_about(engine, request, 400, {"message": SHOWN}), request)
    assert isinstance(outcome, NeedsInput)
    assert [one.pointer for one in outcome.placeholders] == ["/body/highAt"]


@pytest.mark.parametrize(
    ("sent", "message", "schema"),
    [
        ("3pm", "port: Invalid time format, e.g. 15:00", {"type": "string", "pattern": r"^\d{1,2}:\d{2}$"}),
        ("9", "port: Invalid time, expected HH:MM:SS", {"type": "string", "pattern": r"^\d{1,2}:\d{2}:\d{2}$"}),
        ("25:00", "port must be a valid time", {"type": "string"}),
    ],
)
def test_a_time_is_what_the_text_shows(engine: Engine, sent: str, message: str, schema: dict[str, str]) -> None:
    """What a text calls a time is seldom that of RFC 3339, which has an offset."""
    request = Request("POST", "/tides", {}, {"content-type": "application/json"}, {"port": sent})
    outcome = followed(feedback_about(engine, request, 400, {"message": message}), request)
    assert isinstance(outcome, NeedsInput)
    assert [(one.pointer, one.schema_) for one in outcome.placeholders] == [("/body/port", schema)]


def test_a_form_is_not_shown_of_a_word(engine: Engine) -> None:
    body = {"format": "spring", "highAt": "2026-03-04 10:11:12Z"}
    request = Request("POST", "/tides", {}, {"content-type": "application/json"}, body)
    answer = {"message": "Invalid format, expected yyyy-MM-ddTHH:mm:ssZ"}
    outcome = followed(feedback_about(engine, request, 400, answer), request, confirm=True)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {**body, "highAt": "2026-03-04T10:11:12Z"}
