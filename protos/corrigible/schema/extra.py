"""What is not installed, and the extra that brings it: `pip install corrigible` is only what readers of feedback need.

Knows: the extras of pyproject.toml and a few packages of each. Does not know: what is done with them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Final

_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "proxy": (
        "google.protobuf",
        "jsonschema",
        "jsonschema_rs",
        "orjson",
        "rapidfuzz",
        "re2",
        "rich",
        "yaml",
    ),
    "grpc": ("grpc", "grpc_reflection"),
    "conformance": ("grpc", "h11", "hpack", "jinja2", "openapi_core", "schemathesis"),
}
"""What the modules of an extra are recognised by."""


class MissingExtra(ModuleNotFoundError):
    """A part of Corrigible is used without its extra."""

    def __init__(self, user: str, extra: str, module: str | None = None) -> None:
        super().__init__(needs(user, extra), name=module)
        self.extra = extra


def needs(user: str, extra: str) -> str:
    """Return the line that tells what to install."""
    return f"{user} needs: pip install 'corrigible[{extra}]'"


def require(user: str, extra: str) -> None:
    """Raise `MissingExtra` if a package of an extra is not installed. Called where the modules that need it start."""
    if (module := missing_module(extra)) is not None:
        raise MissingExtra(user, extra, module)


@cache
def missing_module(extra: str) -> str | None:
    """Return a module of an extra that is not installed; None if all are."""
    return next((module for module in _MODULES[extra] if not _is_installed(module)), None)


def _is_installed(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # the package around it is missing
        return False
