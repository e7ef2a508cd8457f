"""Write operations.yaml anew from GitHub's OpenAPI description.

    python -m corrigible.adapters.github.generate_operations path/to/api.github.com.json

The description is MIT licensed (github/rest-api-description; npm `@octokit/openapi`, generated/api.github.com.json).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Json = Any

HERE = Path(__file__).parent
_METHODS = ("get", "post", "delete", "put", "patch")

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
    found = {
        f"{method.upper()} {_template(path)}": operation["operationId"]
        for path, item in description["paths"].items()
        for method, operation in item.items()
        if method in _METHODS
    }
    return dict(sorted((found | UNWRITTEN).items(), key=lambda entry: (entry[0].partition(" ")[2], entry[0])))


def _template(path: str) -> str:
    name = SLASHED.get(path)
    return path if name is None else path.replace("{" + name + "}", "{+" + name + "}")


def main(source: Path) -> None:
    """Read a description and write operations.yaml beside this file."""
    description = json.loads(source.read_text("utf-8"))
    lines = [f"{key}: {name}\n" for key, name in operations(description).items()]
    text = _HEAD.format(version=description["info"]["version"]) + "".join(lines)
    (HERE / "operations.yaml").write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
