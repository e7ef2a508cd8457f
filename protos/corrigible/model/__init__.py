"""Asking language models: conversations, the providers' wire formats, and the client that sends them."""

__all__ = [
    "address",
    "conversation",
    "provider",
    "provider_client",
    "rate_limiter",
    "usage",
]
"""Folders and modules that other parts may use; the rest is private."""
