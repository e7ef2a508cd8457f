"""The conformance suite: what a proxy that corrects errors has to do, judged from outside, and the lift of it."""

__all__ = [
    "cli",
]
"""The entry point of the command."""
