"""What was wrong with the upstream, for the person who runs the proxy."""

from __future__ import annotations

from typing import Any

from tests._support.rows import rows

FAILURES = {
    "[Errno 111] Connect call failed ('127.0.0.1', 9)": "connection refused (127.0.0.1:9)",
    "[Errno 111] Connect call failed ('::1', 9, 0, 0)": "connection refused (::1:9)",
    "[Errno -2] Name or service not known": "name or service not known",
    "The remote server does not speak TLS.": "the remote server does not speak TLS",
    "TLS handshake failed": "TLS handshake failed",
    "server closed connection": "the upstream closed the connection without an answer",
}


@rows("message", FAILURES)
def test_a_failure_is_told_in_plain_words(message: str, bench: Any) -> None:
    from corrigible.proxy.mitm.error_page import failure_text, is_callers

    assert failure_text(message) == FAILURES[message]
    assert not is_callers(message)


SECRET = ("10.1.2.3", "fe80::7", "billing-db.internal", "billingdb", "8443")
"""Where an API is."""


@rows("status", [502, 504])
@rows(
    "message",
    [
        *FAILURES,
        "[Errno 111] Connect call failed ('10.1.2.3', 8443)",
        "[Errno 101] Connect call failed ('fe80::7', 8443, 0, 0)",
        "Multiple exceptions: [Errno 111] Connect call failed ('fe80::7', 8443, 0, 0), "
        "[Errno 111] Connect call failed ('10.1.2.3', 8443)",
        "[Errno -5] No address associated with hostname: billing-db.internal",
        "[Errno 99999] 10.1.2.3",
        "Certificate verify failed: Hostname mismatch, certificate is not valid for 'billing-db.internal'.",
        "Certificate verify failed: IP address mismatch, certificate is not valid for '10.1.2.3'.",
        "Certificate verify failed: billing-db.internal",
        "Cannot connect to billingdb: timed out",
        "billingdb",
        "https://billing-db.internal:8443/\r\nX: y",
        "the upstream did not answer in time",
        "",
    ],
)
def test_callers_are_told_which_api_and_not_where_it_is(message: str, status: int, bench: Any) -> None:
    from corrigible.proxy.mitm.error_page import error_text, failure_text

    text = error_text(status, message)
    assert text.isprintable() and not any(part in text for part in (*SECRET, "127.0.0.1", "::1"))
    assert error_text(status, message, "billing") == f"billing: {text}"
    assert failure_text(message).isprintable(), "who runs the proxy sees where that was"
