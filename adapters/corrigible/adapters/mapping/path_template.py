"""Templates of paths: the values of variables put in, and what paths one with some left stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

VARIABLE: Final = re.compile(r"\{\+?([^{}]+)\}")
_UNQUOTED: Final = "!$&'()*+,;=:@~"


def filled(template: str, values: Mapping[str, str]) -> tuple[str, bool]:
    """Return a path with the values of its variables, and whether some are lacking."""
    lacking = [name for name in VARIABLE.findall(template) if not values.get(name)]

    def written(match: re.Match[str]) -> str:
        value = values.get(match[1], "")
        safe = f"{_UNQUOTED}/" if match[0].startswith("{+") else _UNQUOTED
        return quote(value, safe=safe) if value else match[0]

    return VARIABLE.sub(written, template), bool(lacking)


def pattern_of(path: str) -> str:
    """Return a regular expression of the paths that a template with some variables left stands for."""
    literal = (re.sub(r"[.*+?^${}()|\[\]\\]", r"\\\g<0>", part) for part in VARIABLE.split(path)[::2])
    return f"^{'[^/]+'.join(literal)}$"
