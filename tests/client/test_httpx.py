"""The event hooks of httpx: they explain whatever was sent."""

from __future__ import annotations

import httpx
import pytest

from corrigible.client.httpx import explain_refusal

SUGGESTION = {"action": "MODIFY_PARAMS", "message": "Send fewer.", "parameters": {"a": 1}}
FEEDBACK = {"type": "recovery_guidance", "message": "Too many fields.", "suggestions": [SUGGESTION]}


def test_a_request_that_makes_no_document_is_explained_all_the_same() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(400, json={"recovery_feedback": FEEDBACK}))
    form = "&".join(f"a{number}=1" for number in range(100_000))
    media = {"content-type": "application/x-www-form-urlencoded"}
    with (
        httpx.Client(transport=transport, event_hooks={"response": [explain_refusal]}) as client,
        pytest.raises(httpx.HTTPStatusError, match="Too many fields"),
    ):
        client.post("http://127.0.0.1:1/", content=form, headers=media)


def test_a_query_of_too_many_fields_is_explained_all_the_same() -> None:
    sent = httpx.Request("GET", f"http://127.0.0.1:1/?{'a=1&' * 3000}")
    response = httpx.Response(400, json={"recovery_feedback": FEEDBACK}, request=sent)
    with pytest.raises(httpx.HTTPStatusError, match="Too many fields"):
        explain_refusal(response)
