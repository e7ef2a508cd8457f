"""What is specific to one API: formats, operations, sandboxes, tasks."""

from corrigible.schema.extra import require

require("corrigible.adapters", "proxy")

__all__ = [
    "apis",
    "base",
    "bodies",
    "cache",
    "demo",
    "described",
    "drift",
    "formats",
    "graphql",
    "mapping",
    "openapi",
    "operation",
    "protobuf",
    "reader",
    "registry",
    "sandbox",
]
"""Folders and modules that other parts may use; the rest is private."""
