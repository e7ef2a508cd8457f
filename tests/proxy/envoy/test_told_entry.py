"""What a corrector tells for the log comes back as it was, but for values of feedback, which never go there."""

from __future__ import annotations

import json

import pytest

from corrigible.proxy.access_log.entry import Entry, Verdict
from corrigible.proxy.envoy.log_line import entry_of, fields_of
from corrigible.proxy.envoy.refusal_message import told, with_told
from tests._support.rows import rows

FEEDBACK = {
    "type": "recovery_guidance",
    "recovery": "correctable",
    "message": "secret text",
    "suggestions": [
        {
            "action": "MODIFY_PARAMS",
            "parameters": {"card": "4242"},
            "placeholders": [{"name": "card"}],
            "safety": {"changes_intent": True, "loses": ["/body/a"]},
        }
    ],
}


def entry(**more: object) -> Entry:
    return Entry(1.0, "id", "POST", "/x", 400, "annotated", 5.0, **more)  # type: ignore[arg-type]


def test_an_entry_comes_back() -> None:
    sent = entry(
        operation="Op", rules=("a.b", "c.d"), reason="annotated", lookups=2, correction=0.25, feedback=FEEDBACK
    )
    line = told(sent)
    assert "secret" not in line and "4242" not in line and line.isascii() and "\n" not in line
    back = with_told(Entry(1.0, "", "POST", "/x", 400, "untouched", 5.0), line)
    assert (back.id, back.outcome, back.operation, back.rules) == ("id", "annotated", "Op", ("a.b", "c.d"))
    assert (back.lookups, back.correction, back.verdict) == (2, 0.25, Verdict.ASKED)


@pytest.mark.parametrize("text", ["", "[]", '"x"', "{"])
def test_what_nobody_can_read_is_told(text: str) -> None:
    with pytest.raises(ValueError):
        with_told(entry(), text)


def line(**fields: object) -> bytes:
    whole = {"started": "1700000000.250000", "milliseconds": 12, "method": "GET", "path": "/x?a=1", "status": 200}
    return json.dumps({**whole, "flags": "-", "entry": None, **fields}).encode()


def test_a_success_is_one() -> None:
    read = entry_of(fields_of(line()))
    assert (read.time, read.milliseconds, read.path, read.verdict) == (1700000000.25, 12.0, "/x?a=1", Verdict.SUCCESS)


@pytest.mark.parametrize(
    ("fields", "verdict", "text"),
    [
        ({"status": 502, "flags": "UF,URX", "failure": "delayed connect error: 111"}, Verdict.FAILED, "no connection"),
        ({"status": 502, "flags": "UC"}, Verdict.FAILED, "closed the connection without an answer"),
        ({"status": 0, "flags": "DC"}, Verdict.GONE, "the caller went away"),
        ({"status": 404, "reason": "no corrector answered in time"}, Verdict.UNCHANGED, "no corrector answered"),
    ],
)
def test_what_went_wrong_is_told(fields: dict[str, object], verdict: Verdict, text: str) -> None:
    read = entry_of(fields_of(line(**fields)))
    assert read.verdict is verdict
    assert text in (read.failure or read.error or read.reason or "")


def test_the_path_is_that_of_the_caller() -> None:
    assert entry_of(fields_of(line(target="/x?mode=none"))).path == "/x?mode=none"


@rows("text", [b"", b"[]", b"1", b"{", b'{"started": "x"}', b"{}"])
def test_a_line_of_something_else_is_no_entry(text: bytes) -> None:
    with pytest.raises((ValueError, KeyError)):
        entry_of(fields_of(text))
