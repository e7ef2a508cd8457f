"""Rule packs: YAML knowledge about one API's refusals, and the engine that matches and evaluates rules."""

__all__ = [
    "budget",
    "engine",
    "errors",
    "functions",
    "language",
    "lookup",
    "lookup_headers",
    "pack",
    "pattern",
    "pointer",
    "safety",
    "schema_repair",
    "violation",
    "wordings",
]
"""Folders and modules that other parts may use; the rest is private."""
