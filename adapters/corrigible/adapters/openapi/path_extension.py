"""Extensions at the end of paths, which name the form of the answer: `/orders/{id}.json`, `/orders.{format}`.

Knows: path templates. Does not know: operations, answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_TEMPLATE: Final = re.compile(
    r"(?P<plain>[^ ]+ .*/(?:\{[^{}+/]+\}|[^{}/.]+))(?P<extension>\.(?:\{[^{}+/]+\}|json|xml))"
)
_PATH: Final = re.compile(r"(?P<plain>.*/[^/]+)(?P<extension>\.[A-Za-z][A-Za-z0-9]{1,7})")


def without_extension(templates: Mapping[str, str]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the operations whose paths have no extension, and by their extension the others, without it."""
    plain: dict[str, str] = {}
    extended: dict[str, dict[str, str]] = {}
    for key, name in templates.items():
        match = _TEMPLATE.fullmatch(key)
        if match is None:
            plain[key] = name
        else:
            extended.setdefault(match["extension"], {})[match["plain"]] = name
    return plain, extended


def split_extension(path: str) -> tuple[str, str]:
    """Return a path without its extension, and the extension with its dot, empty where it has none."""
    match = _PATH.fullmatch(path)
    return (path, "") if match is None else (match["plain"], match["extension"])
