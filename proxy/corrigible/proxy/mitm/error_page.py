"""The proxy's own error responses: one line of plain text."""

from __future__ import annotations

ERROR_TYPE = b"text/plain; charset=utf-8"


def error_body(text: str) -> bytes:
    """Return the body of an error response."""
    return f"corrigible: {text}\n".encode()


def error_text(status: int, message: str) -> str:
    """Return one line that tells what failed, without quoting the upstream."""
    if message.startswith("mitmproxy received an HTTP CONNECT"):
        return "CONNECT is for --engine-mode regular"
    if status != 502:
        return message if message.isprintable() and len(message) < 200 else "the request is not valid HTTP"
    if message.startswith("the upstream"):
        return message
    if message.startswith("server closed connection"):
        return "the upstream closed the connection without an answer"
    if message.startswith(("Cannot parse", "unexpected server response", "HTTP/1 protocol error")):
        return "the upstream's answer is not valid HTTP"
    if message.startswith("Certificate verify failed: "):
        return f"{message.lower()[:200]}; --upstream-ca names the CA to trust"
    return f"no connection to the upstream: {message if message.isprintable() else 'unknown error'}"[:300]
