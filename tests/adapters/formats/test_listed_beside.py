"""Names of what is missing, in a list beside a text that does not have them."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.schema.exchange import Exchange, Request


def places(answer: Any, request: Request) -> list[tuple[str, str]]:
    return [(one.pointer, one.constraint) for one in GenericFormat().read(Exchange(request, 400, {}, b""), answer)]


def answer(code: str, **data: Any) -> Any:
    return {"code": code, "message": "Des champs manquent.", "data": {"status": 400, **data}}


def test_the_listed_names_are_missing() -> None:
    request = Request("POST", "/users", body={"user_name": "ann"})
    wanted = [("/body/username", "required"), ("/body/email", "required")]
    assert places(answer("rest_missing_callback_param", params=["username", "email"]), request) == wanted


def test_of_a_request_without_a_body_they_are_parameters() -> None:
    request = Request("DELETE", "/users/7", {"force": "true"})
    assert places(answer("missing_param", params=["reassign"]), request) == [("/query/reassign", "required")]


@pytest.mark.parametrize(
    "told",
    [
        answer("too_long", params=["username", "email"]),  # words to put into the text
        answer("missing_param", params=["username", "title"]),  # title was sent
        answer("missing_param", params=["the name of the user"]),
        answer("missing_param", params=[7]),
        answer("missing_param"),
    ],
)
def test_any_other_list_names_nothing(told: Any) -> None:
    request = Request("POST", "/users", body={"title": "ann"})
    assert all(not place or constraint != "required" for place, constraint in places(told, request))
