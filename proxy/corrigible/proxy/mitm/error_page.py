"""The proxy's own error responses: one line of plain text."""

from __future__ import annotations

import os
import re

_NO_CONNECT = "mitmproxy received an HTTP CONNECT"
HEAD_LATE = "the head of the request took too long"
BODY_LATE = "the body of the request took too long"
ANSWER_LATE = "the upstream did not answer in time"
ERROR_TYPE = b"text/plain; charset=utf-8"


def is_callers(message: str) -> bool:
    """Whether mitmproxy's message is about a request that it takes from nobody."""
    return message.startswith(_NO_CONNECT)


def failure_text(message: str) -> str:
    """Return what was wrong with the upstream, in the words of the operating system where it is about a connection."""
    text = error_text(502, message).removeprefix("no connection to the upstream: ")
    match = _CONNECT_ERROR.fullmatch(text)
    if match is None:
        text = _ERRNO.sub("", text).rstrip(".")
        return text[:1].lower() + text[1:] if text[1:2].islower() else text
    reason = os.strerror(int(match[1])).lower()
    return f"{reason} ({match[2]}:{match[3]})"


_ERRNO = re.compile(r"\[Errno -?\d+\] ")
_CONNECT_ERROR = re.compile(r"\[Errno (\d+)\] Connect call failed \('([^']+)', (\d+)(?:, \d+, \d+)?\)")


def error_status(status: int, message: str) -> int:
    """Return the status of an error response: mitmproxy has none for an upstream that is too slow."""
    return 504 if message == ANSWER_LATE else status


def error_body(text: str) -> bytes:
    """Return the body of an error response."""
    return f"corrigible: {text}\n".encode()


def error_text(status: int, message: str) -> str:
    """Return one line that tells what failed, without quoting the upstream."""
    if message.startswith(_NO_CONNECT):
        return "CONNECT is for --engine-mode regular"
    if status not in (502, 504):
        return message if message.isprintable() and len(message) < 200 else "the request is not valid HTTP"
    if message.startswith("the upstream"):
        return message
    if message.startswith("server closed connection"):
        return "the upstream closed the connection without an answer"
    if "without sending complete message body" in message:
        return "the upstream closed the connection before its answer was complete"
    if message.startswith(("Cannot parse", "unexpected server response", "HTTP/1 protocol error")):
        return "the upstream's answer is not valid HTTP"
    if message.startswith("Certificate verify failed: "):
        return f"{message.lower()[:200]}; --upstream-ca names the CA to trust"
    return f"no connection to the upstream: {message if message.isprintable() else 'unknown error'}"[:300]
