"""Mistakes of packs as a SARIF 2.1.0 document, for code-scanning pages and editors.

Knows: mistakes, SARIF. Does not know: where the document goes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from corrigible.rules.errors import AuthoringError
from corrigible.schema.exchange import Json

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


_LEVELS: Final[Mapping[str, str]] = {
    "invalid": "error",
    **dict.fromkeys(("template", "unreached-entry", "unshown-member"), "note"),
}


def sarif(mistakes: Sequence[AuthoringError], kinds: Mapping[str, str], version: str, folder: Path) -> str:
    """Return the document. Files are named from `folder`, where they are below it."""
    used = list(dict.fromkeys(one.kind for one in mistakes))
    run: dict[str, Json] = {
        "tool": {
            "driver": {
                "name": "corrigible pack lint",
                "semanticVersion": version,
                "rules": [{"id": kind, "shortDescription": {"text": kinds[kind]}} for kind in used],
            }
        },
        "results": [_result(one, used, folder) for one in mistakes],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _result(mistake: AuthoringError, used: Sequence[str], folder: Path) -> Json:
    file = mistake.place.path.absolute()
    uri = file.relative_to(folder).as_posix() if file.is_relative_to(folder) else file.as_uri()
    identity = hashlib.sha256(f"{uri} {mistake.kind} {mistake.problem}".encode()).hexdigest()
    return {
        "ruleId": mistake.kind,
        "ruleIndex": used.index(mistake.kind),
        "level": _LEVELS.get(mistake.kind, "warning"),
        "message": {"text": mistake.problem},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": mistake.place.line}}}
        ],
        "partialFingerprints": {"mistake/v1": identity},
    }
