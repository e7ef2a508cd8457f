"""Write operations.yaml anew from GitHub's OpenAPI description.

    python -m corrigible.adapters.apis.github.generate_operations path/to/api.github.com.json

The description is MIT licensed (github/rest-api-description; npm `@octokit/openapi`, generated/api.github.com.json).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corrigible.adapters.openapi.document.operation_table import by_path, generate_table, operation_ids

Json = Any

SLASHED = {
    "/repos/{owner}/{repo}/contents/{path}": "path",
    "/repos/{owner}/{repo}/git/ref/{ref}": "ref",
    "/repos/{owner}/{repo}/git/refs/{ref}": "ref",
    "/repos/{owner}/{repo}/git/matching-refs/{ref}": "ref",
    "/repos/{owner}/{repo}/compare/{basehead}": "basehead",
    "/repos/{owner}/{repo}/releases/tags/{tag}": "tag",
    "/repos/{owner}/{repo}/tarball/{ref}": "ref",
    "/repos/{owner}/{repo}/zipball/{ref}": "ref",
}
"""Paths whose last part may have slashes of its own, though OpenAPI has no word for it. Written `{+path}`, as in
RFC 6570."""

UNWRITTEN = {"GET /repos/{owner}/{repo}/contents": "repos/get-content"}
"""Paths that work and that the description leaves out."""

_HEAD = """\
# Operations of the GitHub API: method and path template to operation id. Written by generate_operations.py from its
# OpenAPI description (https://github.com/github/rest-api-description, MIT; @octokit/openapi {version}).
"""


def operations(description: Mapping[str, Json]) -> dict[str, str]:
    """Return `POST /repos/{owner}/{repo}/issues` to operation id, sorted by path."""
    return by_path(operation_ids(description, _template) | UNWRITTEN)


def _template(path: str) -> str:
    name = SLASHED.get(path)
    return path if name is None else path.replace("{" + name + "}", "{+" + name + "}")


if __name__ == "__main__":
    generate_table(Path(sys.argv[1]), Path(__file__).with_name("operations.yaml"), _HEAD, operations)
