"""Asking language models: conversations, the providers' wire formats, and the client that sends them."""
