"""A member whose values each belong to another form: all of them may be meant, and a part of a name is no proof."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corrigible.proxy.core.engine import Engine
from corrigible.rules.safety.nearness import is_slip
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.1.0
info: {title: Events, version: '1'}
paths:
  /publish:
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              anyOf:
              - type: object
                required: [type, text]
                properties: {type: {const: prompt.append}, text: {type: string}}
              - type: object
                required: [type, message]
                properties: {type: {const: toast.show}, message: {type: string}}
              - type: object
                required: [type, session]
                properties: {type: {const: session.select}, session: {type: string}}
"""
FORMS = ["prompt.append", "toast.show", "session.select"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("events"), DESCRIPTION)


def post(**body: Any) -> Request:
    return Request("POST", "/publish", {}, {"content-type": "application/json"}, body)


def test_a_slip_is_mended(engine: Engine) -> None:
    request = post(type="toast.shwo", message="hi")
    sent = followed(feedback_about(engine, request, 400, {"message": "Bad request"}), request)
    assert isinstance(sent, Next)
    assert sent.request.body == {"type": "toast.show", "message": "hi"}


def test_a_part_of_a_name_is_confirmed(engine: Engine) -> None:
    request = post(type="toast", message="hi")
    feedback = feedback_about(engine, request, 400, {"message": "Bad request"})
    assert isinstance(followed(feedback, request), NeedsInput)
    confirmed = followed(feedback, request, confirm=True)
    assert isinstance(confirmed, Next)
    assert confirmed.request.body == {"type": "toast.show", "message": "hi"}


def test_of_what_is_near_to_none_all_are_offered(engine: Engine) -> None:
    request = post(type="docker", message="hi")
    feedback = feedback_about(engine, request, 400, {"message": "Bad request"})
    assert feedback is not None
    (suggestion,) = feedback["suggestions"]
    assert suggestion["placeholders"][0]["schema"]["enum"] == FORMS


NAMES = st.sampled_from([*FORMS, "toast", "toast.shows", "prompt", "append", "session", "select", "show", "docker", ""])
OTHERS = st.fixed_dictionaries({}, optional={"text": st.just("a"), "message": st.just("b"), "session": st.just("c")})


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAMES, OTHERS)
def test_no_other_form_is_taken_unasked(engine: Engine, name: str, others: dict[str, str]) -> None:
    request = post(type=name, **others)
    step = followed(feedback_about(engine, request, 400, {"message": "Bad request"}), request)
    if isinstance(step, Next):
        taken = step.request.body["type"] if isinstance(step.request.body, dict) else ""
        assert taken == name or is_slip(name, taken)
