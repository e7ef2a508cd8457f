"""The pipeline, its front ends, and the `corrigible` command."""

__all__ = [
    "asgi",
    "cli",
]
"""The entry point of the command, and the middleware for programs."""
