"""What the proxy says where the engine has no answer to give."""

from __future__ import annotations


def error_text(status: int, message: str) -> str:
    """Say who failed at what, in a line, without the upstream's own words."""
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
