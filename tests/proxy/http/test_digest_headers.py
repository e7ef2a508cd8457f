"""An answer whose bytes a vendor vouches for keeps them: SDKs take any other for broken, and repeat the call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corrigible.proxy.build import build_corrector
from corrigible.proxy.http.corrector import HttpOutcome
from corrigible.proxy.http.message_head import covers_body
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from tests._support.rows import rows

RULE = "match: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {amount: 300}}]\n"
NATIVE = b'{"error": {"code": "bad", "message": "m"}}'
JSON = ("Content-Type", "application/json")
HELD = [
    *("x-amz-crc32", "x-amz-checksum-crc32", "x-amz-checksum-crc64nvme", "x-amz-checksum-sha256", "x-amz-trailer"),
    *("x-goog-hash", "x-ms-content-crc64", "x-ms-content-md5", "x-ms-blob-content-md5", "x-oss-hash-crc64ecma"),
    *("x-cos-hash-crc64ecma", "Signature", "X-Signature", "X-Hub-Signature-256", "X-Checksum", "X-Checksum-Sha256"),
    *("x-bz-content-sha1", "X-Content-Sha256", "x-payload-digest", "X-HMAC-SHA256", "checksum"),
]
FREE = [
    *("Digest", "Content-Digest", "Repr-Digest", "Content-MD5", "ETag", "X-Digest", "X-Request-Id", "X-Cache-Key"),
    *("X-Commit-Hash", "X-Git-Sha", "X-RateLimit-Remaining", "Strict-Transport-Security", "X-Amz-Request-Id"),
    *("X-Content-Type-Options", "Server-Timing", "x-ms-request-id", "X-GitHub-Media-Type"),
]


@rows("name", HELD)
def test_a_vendors_word_holds_the_body(name: str) -> None:
    assert covers_body([JSON, (name, "x")])


@rows("name", FREE)
def test_other_headers_do_not(name: str) -> None:
    assert not covers_body([JSON, (name, "x")])


@pytest.mark.parametrize(
    ("covers", "held"),
    [('("@status")', False), ('("@status" "content-digest")', True), ('("content-length")', True), ('("etag")', True)],
)
def test_a_signature_holds_what_it_covers(covers: str, held: bool) -> None:
    assert covers_body([("Signature-Input", f"s={covers};keyid=k"), ("Signature", "s=:x:")]) is held


def test_a_checksum_may_come_behind_the_body() -> None:
    assert covers_body([("Trailer", "x-foo, x-amz-checksum-crc32")])
    assert not covers_body([("Trailer", "Server-Timing")])


Ask = Callable[..., HttpOutcome]


@pytest.fixture
def ask(write_pack: Callable[..., Path]) -> Ask:
    corrector = build_corrector([write_pack(manifest="redact: [/error/message]\n", x=RULE)])

    def asked(*headers: tuple[str, str], prefer: str = "reflective") -> HttpOutcome:
        request = RequestHead("POST", "/x", [JSON, ("Prefer", f"recovery-feedback={prefer}")])
        going = corrector.correct(
            HttpExchange(request, b"{}", ResponseHead(400, [JSON, *headers]), NATIVE), id="e", started=0.0
        )
        return run_with_lookups_sync(going, lambda lookup: LookupAnswer(0))

    return asked


def test_the_body_stays_and_a_link_leads_to_the_feedback(ask: Ask) -> None:
    vendor = ("x-amz-crc32", "123")
    outcome = ask(vendor)
    assert outcome.rewrite is not None
    assert outcome.rewrite.body == NATIVE
    assert outcome.rewrite.headers[:2] == [JSON, vendor]
    assert [name for name, _ in outcome.rewrite.headers[2:]] == ["Link", "Vary", "Preference-Applied"]
    assert outcome.feedback is not None


@pytest.mark.parametrize("prefer", ["verbose", "traditional", "none"])
def test_other_modes_have_nowhere_to_say_it(ask: Ask, prefer: str) -> None:
    assert ask(("x-amz-crc32", "123"), prefer=prefer).rewrite is None
