"""The proxy's own error responses: one line of plain text."""

from __future__ import annotations

import os
import re

from mitmproxy.proxy.layers.http import ResponseProtocolError  # type: ignore[attr-defined]  # in no __all__ of theirs

_NO_CONNECT = "mitmproxy received an HTTP CONNECT"
HEAD_LATE = "the head of the request took too long"
BODY_LATE = "the body of the request took too long"
ANSWER_LATE = "the upstream did not answer in time"
ERROR_TYPE = b"text/plain; charset=utf-8"


class ApiError(ResponseProtocolError):
    """What went wrong with an API that has a name."""

    def __init__(self, error: ResponseProtocolError, api: str) -> None:
        super().__init__(error.stream_id, error.message, error.code)
        self.api = api


def api_of(error: ResponseProtocolError) -> str:
    """Return the name of the API that an error is about, empty where it has none."""
    return error.api if isinstance(error, ApiError) else ""


def is_callers(message: str) -> bool:
    """Whether mitmproxy's message is about a request that it takes from nobody."""
    return message.startswith(_NO_CONNECT)


def failure_text(message: str) -> str:
    """Return what was wrong with the upstream, for who runs the proxy: with addresses, and what can be done."""
    known = _known_text(message)
    if known is not None:
        return known
    if message.startswith(_CERTIFICATE):
        return f"{message.lower()[:200]}; --upstream-ca names the CA to trust"
    match = _CONNECT_ERROR.fullmatch(message)
    if match is None:
        text = _ERRNO.sub("", message).rstrip(".") if message.isprintable() else "unknown error"
        return text[:1].lower() + text[1:300] if text[1:2].islower() else text[:300]
    reason = os.strerror(int(match[1])).lower()
    return f"{reason} ({match[2]}:{match[3]})"


_CERTIFICATE = "Certificate verify failed: "
_WORDS = re.compile(r"[a-z :-]+")
_ERRNO = re.compile(r"\[Errno (-?\d+)\] ")
_CONNECT_ERROR = re.compile(r"\[Errno (\d+)\] Connect call failed \('([^']+)', (\d+)(?:, \d+, \d+)?\)")
_WITHOUT_ADDRESS = re.compile(
    r"(?:Connection killed: )?this proxy is its own upstream"
    r"|The remote server does not speak TLS\.|TLS handshake failed|connection timed out|connection closed",
    re.IGNORECASE,
)


def error_status(status: int, message: str) -> int:
    """Return the status of an error response: mitmproxy has none for an upstream that is too slow."""
    return 504 if message == ANSWER_LATE else status


def error_body(text: str) -> bytes:
    """Return the body of an error response."""
    return f"corrigible: {text}\n".encode()


def error_text(status: int, message: str, api: str = "") -> str:
    """Return one line that tells callers what failed: of which API, without quoting it, and not where it is."""
    text = _error_text(status, message)
    return f"{api}: {text}" if api and status in (502, 504) else text


def _error_text(status: int, message: str) -> str:
    if message.startswith(_NO_CONNECT):
        return "CONNECT is for --engine-mode regular"
    if status not in (502, 504):
        return message if message.isprintable() and len(message) < 200 else "the request is not valid HTTP"
    known = _known_text(message)
    if known is not None:
        return known
    if message.startswith(_CERTIFICATE):  # the name that it is not for stands behind a comma
        reason = message.lower().partition(",")[0]
        return (
            f"{reason if _WORDS.fullmatch(reason) else _CERTIFICATE.lower()[:-2]}; --upstream-ca names the CA to trust"
        )
    return f"no connection to the upstream: {_reason(message)}"


def _known_text(message: str) -> str | None:
    """Return what is said of an upstream that was reached; None if there was no connection."""
    if message.startswith("the upstream"):
        return message
    if message.startswith("server closed connection"):
        return "the upstream closed the connection without an answer"
    if "without sending complete message body" in message:
        return "the upstream closed the connection before its answer was complete"
    if message.startswith(("Cannot parse", "unexpected server response", "HTTP/1 protocol error")):
        return "the upstream's answer is not valid HTTP"
    return None


def _reason(message: str) -> str:
    """Return why there was no connection. Where the upstream is, and what others say of that, is left out."""
    errors = {int(number) for number in _ERRNO.findall(message)}
    if errors:  # several, where the name has several addresses
        number = max(errors)
        return os.strerror(number).lower() if number > 0 else "its name is not known"
    return message.rstrip(".") if _WITHOUT_ADDRESS.fullmatch(message) else "it cannot be reached"
