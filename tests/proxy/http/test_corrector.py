"""HTTP messages in, HTTP messages out: modes, negotiation, hygiene, and every byte that must stay."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.adapters.operation import Operations
from corrigible.proxy.build import build_corrector, load_profiles
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.corrector import HttpCorrector, HttpOutcome
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Json
from tests._support.rows import rows

MANIFEST = """\
mirror: /error
redact: [/error/message, /error/param]
lookups: ["/v1/{id}"]
"""
RULE = "match: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: Take less., parameters: {amount: 300}}]\n"
LIVE = "match: {code: live}\nlookup: {x: {get: \"'/v1/x'\"}}\nsuggest: [{action: ESCALATE, actor: you, message: m}]\n"
CRASH = "match: {code: crash}\nwhen: request.body.absent == 1\nsuggest: [{action: ESCALATE, actor: you, message: m}]\n"
NATIVE = b'{ "error": {"code": "bad", "message": "too \\"much\\"", "n": 1.10e300, "n": 9223372036854775808} }\n'
JSON = ("Content-Type", "application/json; charset=utf-8")
Headers = Sequence[tuple[str, str]]


class Bench:
    """A corrector for the pack above, and short ways to ask it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        (known,) = load_profiles([folder])
        paths = Operations({"POST /v1/soft": "Soft", "POST /v1/x": "X"})
        adapter = replace(
            known.adapter,
            operations=paths,
            refuses_with_success=frozenset({"Soft"}),
            native_mode=settings.pop("native", False),
        )
        self.corrector = HttpCorrector(Engine([replace(known, adapter=adapter)]), **settings)

    def outcome(
        self,
        body: bytes = NATIVE,
        *,
        headers: Headers = (JSON,),
        asked: Headers = (JSON,),
        sent: bytes = b'{"amount":500}',
        target: str = "/v1/x",
        status: int = 400,
    ) -> HttpOutcome:
        request, response = RequestHead("POST", target, asked), ResponseHead(status, headers)
        going = self.corrector.correct(HttpExchange(request, sent, response, body), id="e1", started=1.0)
        return run_with_lookups_sync(going, lambda path: LookupAnswer(200, b"{}"))

    def rewritten(self, body: bytes = NATIVE, **more: Any) -> tuple[dict[str, str], bytes]:
        rewrite = self.outcome(body, **more).rewrite
        assert rewrite is not None
        return dict(rewrite.headers), rewrite.body

    def wants(
        self, status: int, *headers: tuple[str, str], method: str = "POST", target: str = "/v1/x", prefer: str = ""
    ) -> bool:
        asked = [("Prefer", prefer)] if prefer else []
        return self.corrector.wants_body(RequestHead(method, target, asked), ResponseHead(status, headers)) is not None


@pytest.fixture
def folder(write_pack: Callable[..., Path]) -> Path:
    return write_pack(manifest=MANIFEST, bad=RULE, live=LIVE, crash=CRASH)


@pytest.fixture
def bench(folder: Path) -> Bench:
    return Bench(folder)


ERROR = b'{"error":{"code":"%s","message":"m"}}'


@rows(
    ("status", "headers", "wanted"),
    [
        (400, [JSON], True),
        (599, [JSON], True),
        (422, [("content-type", "application/problem+json")], True),
        (400, [("CONTENT-TYPE", "Application/JSON")], True),
        (400, [JSON, ("Content-Length", "1048576")], True),
        (400, [JSON, ("Content-Length", "1048577")], False),
        (400, [JSON, ("Content-Length", "0")], True),
        (400, [], True),
        (404, [("Content-Length", "0")], True),
        (200, [JSON, ("Content-Length", "0")], False),
        (200, [], False),
        (400, [("Content-Type", "application/x-amz-json-1.1")], True),
        (400, [("Content-Type", "application/vnd.api+json")], True),
        (400, [("Content-Type", "application/vnd.acme.v2")], True),
        (400, [("Content-Type", "application/xml")], True),
        (400, [("Content-Type", "application/soap+xml; charset=utf-8")], True),
        (200, [("Content-Type", "application/xml")], False),
        (400, [("Content-Type", "image/svg+xml")], False),
        (400, [("Content-Type", "application/grpc")], False),
        (400, [("Content-Type", "application/octet-stream")], False),
        (400, [("Content-Type", "text/html; charset=utf-8")], True),
        (400, [("Content-Type", "image/png")], False),
        (400, [("Content-Type", "text/event-stream")], False),
        (400, [("Content-Type", "application/x-ndjson")], False),
        (200, [JSON], False),
        (200, [("Content-Type", "text/html")], False),
        (301, [JSON], False),
        (304, [JSON], False),
        (204, [JSON], False),
        (206, [JSON], False),
        (101, [JSON], False),
        (100, [JSON], False),
    ],
)
def test_which_answers_are_looked_at(bench: Bench, status: int, headers: Headers, wanted: bool) -> None:
    assert bench.wants(status, *headers) is wanted
    assert bench.wants(status, *headers, method="HEAD") is False
    assert bench.wants(status, *headers, prefer="recovery-feedback=none") is False


def test_json_that_is_called_text_is_read_and_stays_called_text(bench: Bench) -> None:
    headers, body = bench.rewritten(headers=[("Content-Type", "text/html; charset=utf-8")])
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert b'"recovery_feedback"' in body


@pytest.mark.parametrize("body", [b"<html><h1>Bad gateway</h1></html>", b"d\xe9sol\xe9", b"", b"42", b'"bad"'])
def test_text_that_is_no_json_object_stays(bench: Bench, body: bytes) -> None:
    assert bench.outcome(body, headers=[("Content-Type", "text/html")]).rewrite is None


def test_successes_are_looked_at_only_where_they_may_be_refusals(bench: Bench) -> None:
    assert bench.wants(200, JSON, target="/v1/soft?a=1") is True
    assert bench.wants(200, JSON, target="/v1/soft", method="GET") is False
    assert bench.wants(204, JSON, target="/v1/soft") is False
    assert bench.wants(200, ("Content-Type", "text/plain"), target="/v1/soft") is False
    outcome = bench.outcome(b'{"ok": true}', target="/v1/soft", status=200)
    assert (outcome.rewrite, outcome.error, outcome.operation) == (None, None, "Soft")
    assert bench.outcome(ERROR % b"bad", target="/v1/soft", status=200).reason == "annotated"


def test_reflective_adds_and_every_native_byte_stays(bench: Bench) -> None:
    outcome = bench.outcome()
    assert outcome.rewrite is not None
    assert (outcome.rules, outcome.operation, outcome.error) == (("apex.bad",), "X", None)
    feedback = orjson.dumps(outcome.feedback)
    diagnosis = b'"validation_errors":[{"code":"bad","message":"It is bad.","pointer":"/body/amount"}],'
    top = diagnosis + b'"recovery_feedback":' + feedback
    assert outcome.rewrite.body == NATIVE[:-4] + b',"recovery_feedback":' + feedback + b"} ," + top + b"}\n"


def test_verbose_diagnoses_and_says_no_fix(bench: Bench) -> None:
    bench.corrector.mode = Mode.VERBOSE
    outcome = bench.outcome(ERROR % b"bad")
    assert outcome.rewrite is not None
    assert outcome.rewrite.body == (
        b'{"error":{"code":"bad","message":"m"},'
        b'"validation_errors":[{"code":"bad","message":"It is bad.","pointer":"/body/amount"}]}'
    )
    assert (outcome.feedback, outcome.rules) == (None, ("apex.bad",))


def test_traditional_blanks_what_the_pack_lists(bench: Bench) -> None:
    bench.corrector.mode = Mode.TRADITIONAL
    for code in (b"bad", b"nobody-knows"):
        _, body = bench.rewritten(ERROR % code)
        assert body == b'{"error":{"code":"%s","message":""}}' % code
    assert bench.outcome(b'{"error":{"code":"unknown"}}').rewrite is None
    assert bench.outcome(ERROR % b"crash").rewrite is None


def test_none_is_the_native_answer(bench: Bench) -> None:
    bench.corrector.mode = Mode.NONE
    assert bench.outcome().rewrite is None
    assert not bench.wants(400, JSON)


@pytest.mark.parametrize("mode", [Mode.TRADITIONAL, Mode.VERBOSE, Mode.REFLECTIVE])
def test_the_same_rules_fire_in_every_mode(bench: Bench, mode: Mode) -> None:
    bench.corrector.mode = mode
    assert [bench.outcome(ERROR % code).rules for code in (b"bad", b"live", b"crash", b"?")] == [
        ("apex.bad",),
        ("apex.live",),
        (),
        (),
    ]


@rows(
    ("prefer", "target", "mode", "applied"),
    [
        ([], "/v1/x", "reflective", None),
        (["recovery-feedback=verbose"], "/v1/x", "verbose", "recovery-feedback=verbose"),
        (["recovery-feedback=reflective"], "/v1/x", "reflective", "recovery-feedback=reflective"),
        (["wait=1", "x, recovery-feedback=verbose"], "/v1/x", "verbose", "recovery-feedback=verbose"),
        (["recovery-feedback=loud"], "/v1/x", "reflective", None),
        ([], "/v1/x?mode=verbose", "reflective", None),
        (["recovery-feedback=reflective"], "/v1/x?mode=verbose", "reflective", "recovery-feedback=reflective"),
        ([], "/v1/x?mode=other", "reflective", None),
    ],
)
def test_the_caller_chooses(bench: Bench, prefer: list[str], target: str, mode: str, applied: str | None) -> None:
    headers, body = bench.rewritten(asked=[JSON, *(("prefer", value) for value in prefer)], target=target)
    assert (b"recovery_feedback" in body, b"validation_errors" in body) == (mode == "reflective", True)
    assert (headers.get("Preference-Applied"), headers["Vary"]) == (applied, "Prefer")


def test_a_third_party_never_sees_our_query(bench: Bench, folder: Path) -> None:
    told = Bench(folder, query_mode=True)
    assert told.corrector.upstream_target("/v1/x?b=%2F&mode=verbose&a=+") == "/v1/x?b=%2F&a=+"
    assert told.corrector.upstream_target("/v1/x?mode=payment") == "/v1/x?mode=payment"
    body = told.rewritten(target="/v1/x?mode=verbose")[1]
    assert (b"recovery_feedback" in body, b"validation_errors" in body) == (False, True)
    assert bench.corrector.upstream_target("/v1/x?mode=verbose") == "/v1/x?mode=verbose"
    native = Bench(folder, native=True)
    assert native.corrector.upstream_target("/v1/x?mode=verbose") == "/v1/x?mode=verbose"
    assert b"recovery_feedback" in native.rewritten(target="/v1/x?mode=verbose")[1]


@rows(
    ("given", "after"),
    [
        ([("content-length", "93"), ("Content-Length", "93")], [("content-length", "#")]),
        ([("Transfer-Encoding", "chunked")], [("Content-Length", "#")]),
        ([("ETag", '"a"'), ("etag", 'W/"b"')], [("etag", 'W/"b"'), ("Content-Length", "#")]),
        (
            [("Digest", "x"), ("Content-MD5", "x"), ("repr-digest", "x"), ("X-Digest", "x")],
            [("X-Digest", "x"), ("Content-Length", "#")],
        ),
        (
            [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")],
            [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("Content-Length", "#")],
        ),
        ([("Signature-Input", 'a=("@status")')], [("Signature-Input", 'a=("@status")'), ("Content-Length", "#")]),
    ],
)
def test_headers_fit_the_new_body(bench: Bench, given: Headers, after: Headers) -> None:
    rewrite = bench.outcome(headers=[JSON, *given]).rewrite
    assert rewrite is not None
    length = str(len(rewrite.body))
    assert rewrite.headers == [JSON, *((n, length if v == "#" else v) for n, v in after), ("Vary", "Prefer")]


@rows(
    ("given", "after"),
    [
        ("Origin", "Origin, Prefer"),
        ("*", "*"),
        ("Accept, *", "Accept, *"),
        ("Accept, prefer", "Accept, prefer"),
        ("Accept,PREFER ,Origin", "Accept,PREFER ,Origin"),
        ("X-User-Preferences", "X-User-Preferences, Prefer"),
        ("Preference-Applied", "Preference-Applied, Prefer"),
    ],
)
def test_vary(bench: Bench, given: str, after: str) -> None:
    assert bench.rewritten(headers=[JSON, ("vary", given)])[0]["vary"] == after


def test_what_was_looked_up_for_one_caller_is_cached_for_none(bench: Bench) -> None:
    assert bench.rewritten(ERROR % b"live")[0]["Cache-Control"] == "no-store"
    given = [JSON, ("cache-control", "public"), ("Cache-Control", "max-age=9")]
    headers, _ = bench.rewritten(ERROR % b"live", headers=given)
    assert [v for n, v in headers.items() if n.lower() == "cache-control"] == ["no-store"]
    assert bench.rewritten(headers=given)[0]["cache-control"] == "public"


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_encoded_answers_stay_encoded(bench: Bench, name: str) -> None:
    from corrigible.schema.content_encoding import coding

    scheme = coding(name)
    if scheme is None:
        pytest.skip(f"nothing here decodes {name}")
    headers, body = bench.rewritten(scheme.encode(NATIVE), headers=[JSON, ("Content-Encoding", name)])
    assert (headers["Content-Encoding"], headers["Content-Length"]) == (name, str(len(body)))
    assert scheme.decode(body, 1 << 20) == bench.rewritten()[1]


@rows(
    ("body", "headers"),
    [
        (gzip.compress(bytes(1 << 21)), [("Content-Encoding", "gzip")]),
        (zlib.compress(NATIVE)[:-2], [("Content-Encoding", "deflate")]),
        (NATIVE, [("Content-Encoding", "gzip")]),
        (NATIVE, [("Content-Encoding", "compress")]),
        (NATIVE, [("Content-Encoding", "identity"), ("Content-Encoding", "identity")]),
        (NATIVE, [("Signature-Input", 's=("content-digest")'), ("Content-Digest", "x")]),
    ],
)
def test_what_cannot_be_decoded_or_is_signed_passes(bench: Bench, body: bytes, headers: Headers) -> None:
    outcome = bench.outcome(body, headers=[JSON, *headers])
    assert outcome.rewrite is None
    assert (outcome.error, outcome.reason.partition(": ")[0]) == (None, "the answer cannot be changed")


@rows(
    ("body", "reason"),
    [
        (b"", "no rule matches"),
        (b'{"error": ', "no rule matches"),
        (b'{"error": {"code": "bad\xff"}}', "no rule matches"),
        (b'\xef\xbb\xbf{"error": {"code": "other"}}', "no rule matches"),
        (b'{"error": {"code": "bad"}, "recovery_feedback": 1}', "the upstream sent feedback itself"),
        (b'{"error": {"code": "bad", "n": 1e400}}', "no rule matches"),
        (b'{"error": {"code": "bad", "s": "\\ud800"}}', "no rule matches"),
        (b"[1]", "no known error format"),
        (ERROR % b"crash", "apex.crash: request.body.absent == 1: Key not found in map"),
    ],
)
@rows("mode", Mode)
def test_whatever_is_wrong_every_byte_stays(bench: Bench, mode: Mode, body: bytes, reason: str) -> None:
    bench.corrector.mode = mode
    outcome = bench.outcome(body)
    assert outcome.rewrite is None
    assert outcome.reason.startswith("mode is none" if mode is Mode.NONE else reason)


def test_an_array_stays_and_points_to_its_feedback(bench: Bench) -> None:
    native = b' [{"code": "bad"}]'
    rewrite = bench.outcome(native, headers=[JSON, ("ETag", '"a"')]).rewrite
    assert rewrite is not None
    assert (rewrite.body, rewrite.headers[:2]) == (native, [JSON, ("ETag", '"a"')])
    assert '>; rel="recovery-feedback"; type="application/json"; token="' in dict(rewrite.headers)["Link"]
    for mode, reason in ((Mode.VERBOSE, "there is nowhere to put it"), (Mode.TRADITIONAL, "there is nothing to blank")):
        bench.corrector.mode = mode
        outcome = bench.outcome(native)
        assert (outcome.rewrite, outcome.reason, outcome.rules) == (None, reason, ("apex.bad",))


def test_feedback_of_the_upstream_s_own_is_never_overwritten(bench: Bench) -> None:
    native = b'{"error":{"code":"bad","recovery_feedback":"mine"}}'
    _, body = bench.rewritten(native)
    assert body.startswith(native[:-1] + b',"validation_errors":')
    assert orjson.loads(body)["error"] == {"code": "bad", "recovery_feedback": "mine"}
    _, body = bench.rewritten(b'{"error":{"code":"bad"},"validation_errors":["mine"]}')
    assert orjson.loads(body)["validation_errors"] == ["mine"]


def test_an_encoded_request_is_read(bench: Bench) -> None:
    sent = gzip.compress(b'{"amount":500}')
    outcome = bench.outcome(sent=sent, asked=[JSON, ("Content-Encoding", "gzip")])
    assert outcome.feedback["suggestions"][0]["patch"][0] == {"op": "test", "path": "/body/amount", "value": 500}
    outcome = bench.outcome(sent=sent, asked=[JSON, ("Content-Encoding", "exi")])
    assert (outcome.rewrite, outcome.error) == (None, None)
    assert outcome.reason == "the request cannot be read: content-encoding exi is not known here"


@pytest.mark.parametrize("sent", [b"\xff\xfe\x00", b"plain text", b"[1]"])
def test_a_body_that_is_no_object_is_never_replaced(bench: Bench, sent: bytes) -> None:
    outcome = bench.outcome(sent=sent)
    assert outcome.rewrite is None
    assert outcome.error == "apex.bad: the request's body is no object, write the patch"


def test_credentials_reach_no_rule(folder: Path) -> None:
    rule = folder / "bad.yaml"
    text = rule.read_text("utf-8").replace("amount: 300", "seen: 'request.headers'")
    rule.write_text(text, "utf-8")
    asked = [JSON, ("Authorization", "Bearer s3cr3t"), ("Cookie", "s=1"), ("X-Api-Key", "k"), ("X-Seen", "1")]
    outcome = Bench(folder).outcome(asked=asked)
    assert outcome.feedback["suggestions"][0]["parameters"] == {
        "seen": {"content-type": "application/json; charset=utf-8", "x-seen": "1"}
    }


def test_cookies_of_the_answer_reach_no_rule(folder: Path) -> None:
    rule = folder / "bad.yaml"
    rule.write_text(rule.read_text("utf-8").replace("amount: 300", "seen: 'response.headers'"), "utf-8")
    outcome = Bench(folder).outcome(headers=[JSON, ("Set-Cookie", "s=1"), ("X-A", "1"), ("x-a", "2")])
    assert outcome.feedback["suggestions"][0]["parameters"] == {
        "seen": {"content-type": "application/json; charset=utf-8", "x-a": "1, 2"}
    }


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("size must be a number", "/body/size"),
        ("colour is required", "/body/colour"),
        ("Validation failed", None),  # the name of what is missing would be the fix
    ],
)
def test_verbose_names_the_place_and_no_fix(tmp_path: Path, text: str, place: str | None) -> None:
    schema: Json = {
        "type": "object",
        "properties": {"size": {"type": "integer"}, "colour": {"type": "string"}},
        "required": ["colour"],
    }
    body: Json = {"size": "7"} if place != "/body/size" else {"size": "seven", "colour": "red"}
    operation = {
        "requestBody": {"content": {"application/json": {"schema": schema}}},
        "responses": {"200": {"description": "ok"}},
    }
    file = tmp_path / "openapi.json"
    info = {"title": "t", "version": "1"}
    file.write_bytes(orjson.dumps({"openapi": "3.0.3", "info": info, "paths": {"/x": {"post": operation}}}))
    json = [("Content-Type", "application/json")]
    native = HttpExchange(
        RequestHead("POST", "/x", json), orjson.dumps(body), ResponseHead(400, json), orjson.dumps({"message": text})
    )
    going = build_corrector((), spec=file, mode=Mode.VERBOSE).correct(native, id="e", started=1.0)
    outcome = run_with_lookups_sync(going, lambda lookup: LookupAnswer(0))
    assert outcome.rewrite is not None
    errors = orjson.loads(outcome.rewrite.body)["validation_errors"]
    assert place is None or place in [one.get("pointer") for one in errors]
    assert place is not None or "colour" not in outcome.rewrite.body.decode()
