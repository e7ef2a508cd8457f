"""What was wrong with the upstream, for the person who runs the proxy."""

from __future__ import annotations

from typing import Any

import pytest

FAILURES = {
    "[Errno 111] Connect call failed ('127.0.0.1', 9)": "connection refused (127.0.0.1:9)",
    "[Errno 111] Connect call failed ('::1', 9, 0, 0)": "connection refused (::1:9)",
    "[Errno -2] Name or service not known": "name or service not known",
    "The remote server does not speak TLS.": "the remote server does not speak TLS",
    "TLS handshake failed": "TLS handshake failed",
    "server closed connection": "the upstream closed the connection without an answer",
}


@pytest.mark.parametrize("message", FAILURES)
def test_a_failure_is_told_in_plain_words(message: str, bench: Any) -> None:
    from corrigible.proxy.mitm.error_page import failure_text, is_callers

    assert failure_text(message) == FAILURES[message]
    assert not is_callers(message)
