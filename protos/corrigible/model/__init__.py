"""Asking language models: conversations, the providers' wire formats, and the client that sends them."""

__all__ = [
    "conversation",
    "provider_client",
]
"""Folders and modules that other parts may use; the rest is private."""
