"""Paths by their template: `/v1/charges/{charge}`.

Knows: templates of OpenAPI. Does not know: operations, requests.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

IN_BRACES: Final = re.compile(r"\{([^{}/]+)\}")


def path_values(template: str, path: str) -> dict[str, str] | None:
    """Return what stands in the braces of a template; None if the path does not fit."""
    pattern = "".join(
        f"(?P<p{index // 2}>[^/]+)" if index % 2 else re.escape(part)
        for index, part in enumerate(IN_BRACES.split(template))
    )
    match = re.fullmatch(pattern, path)
    if match is None:
        return None
    return {name: unquote(match[f"p{index}"]) for index, name in enumerate(IN_BRACES.findall(template))}
