"""Pages of gateways, for callers who asked for JSON."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.http.codec import prefers_json
from corrigible.proxy.http.corrector import HttpCorrector, HttpOutcome
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from tests._support.rows import rows

PAGE = (
    "<!doctype html><html><head><title>502 Bad Gateway</title><style>p {color: red}</style></head>"
    "<body><h1>502 Bad Gateway</h1><p>The billing service is down for repairs.</p><hr>"
    + "<br>" * 500
    + "</body></html>"
)
RULE = "match: {status: [502]}\nsuggest: [{action: ESCALATE, actor: somebody_else, message: Ask the operator.}]\n"
HTML = ("Content-Type", "text/html; charset=utf-8")
Correct = Callable[..., HttpOutcome]


@pytest.fixture
def correct(write_pack: Callable[..., Path]) -> Correct:
    (profile,) = load_profiles([write_pack(down=RULE)])
    adapter = replace(profile.adapter, formats=(GenericFormat(),))
    corrector = HttpCorrector(Engine([replace(profile, adapter=adapter)]))

    def outcome(
        accept: str | None,
        *headers: tuple[str, str],
        body: bytes = PAGE.encode(),
        prefer: str = "",
        media: Sequence[tuple[str, str]] = (HTML,),
    ) -> HttpOutcome:
        sent = [("Accept", accept)] if accept is not None else []
        request = RequestHead("POST", "/v1/x", [*sent, *([("Prefer", prefer)] if prefer else [])])
        response = ResponseHead(502, [*media, ("Server", "nginx"), *headers])
        steps = corrector.correct(HttpExchange(request, b"", response, body), id="1", started=1.0)
        return run_with_lookups_sync(steps, lambda path: LookupAnswer(404, b""))

    return outcome


def test_who_prefers_json_gets_a_problem_document(correct: Correct) -> None:
    outcome = correct("application/json")
    rewrite = outcome.rewrite
    assert rewrite is not None, outcome
    problem, headers = json.loads(rewrite.body), dict(rewrite.headers)
    feedback = problem.pop("recovery_feedback")
    assert problem == {
        "type": "about:blank",
        "status": 502,
        "title": "Bad Gateway",
        "detail": "The billing service is down for repairs.",
    }
    assert feedback["suggestions"][0]["action"] == "ESCALATE"
    assert headers["Content-Type"] == "application/problem+json"
    assert headers["Content-Length"] == str(len(rewrite.body))
    assert [value for name, value in rewrite.headers if name == "Vary"] == ["Accept, Prefer"]
    assert headers["Server"] == "nginx"


@pytest.mark.parametrize("media", [(), [("Content-Type", "text/plain")], [("Content-Length", "0")]])
def test_an_empty_answer_becomes_a_problem_document(correct: Correct, media: Sequence[tuple[str, str]]) -> None:
    rewrite = correct("application/json", body=b"", media=media).rewrite
    assert rewrite is not None
    problem, headers = json.loads(rewrite.body), dict(rewrite.headers)
    assert problem.pop("recovery_feedback")["suggestions"][0]["action"] == "ESCALATE"
    assert problem == {"type": "about:blank", "status": 502, "title": "Bad Gateway"}
    assert headers["Content-Type"] == "application/problem+json"
    assert headers["Content-Length"] == str(len(rewrite.body))
    assert "Link" not in headers


def test_an_empty_answer_stays_empty_for_everybody_else(correct: Correct) -> None:
    rewrite = correct("*/*", body=b"", media=()).rewrite
    assert rewrite is not None
    assert rewrite.body == b""
    assert "Content-Type" not in dict(rewrite.headers)
    assert "Link" in dict(rewrite.headers)


def test_a_text_stays_a_text(correct: Correct) -> None:
    rewrite = correct("application/json", body=b"down", media=[("Content-Type", "text/plain")]).rewrite
    assert rewrite is not None
    assert rewrite.body == b"down"


def test_the_content_coding_stays(correct: Correct) -> None:
    rewrite = correct("application/json", ("Content-Encoding", "gzip"), body=gzip.compress(PAGE.encode())).rewrite
    assert rewrite is not None
    assert json.loads(gzip.decompress(rewrite.body))["status"] == 502


@pytest.mark.parametrize("accept", [None, "*/*", "text/html, application/json;q=0.9"])
def test_everybody_else_gets_the_page(correct: Correct, accept: str | None) -> None:
    rewrite = correct(accept).rewrite
    assert rewrite is not None
    assert rewrite.body == PAGE.encode()
    assert "Link" in dict(rewrite.headers)


def test_a_page_with_a_checksum_stays(correct: Correct) -> None:
    rewrite = correct("application/json", ("x-goog-hash", "crc32c=n03x6A==")).rewrite
    assert rewrite is not None
    assert rewrite.body == PAGE.encode()


@pytest.mark.parametrize("mode", ["none", "traditional", "verbose"])
def test_the_other_modes_leave_the_page(correct: Correct, mode: str) -> None:
    assert correct("application/json", prefer=f"recovery-feedback={mode}").rewrite is None


@rows(
    ("accept", "expected"),
    [
        ([], False),
        (["*/*"], False),
        (["application/json"], True),
        (["application/json, text/plain, */*"], True),
        (["application/vnd.shop.v2+json"], True),
        (["text/plain", "Application/JSON;q=0.1"], True),
        (["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], False),
        (["application/json;q=0.5, text/html"], False),
        (["application/json, text/html;q=0.5"], True),
        (["application/json, text/html"], False),
        (["application/json;q=0"], False),
        (["application/json;q=zero"], True),
        (["application/xml"], False),
    ],
)
def test_prefers_json(accept: list[str], expected: bool) -> None:
    assert prefers_json([("accept", value) for value in accept]) is expected
