"""Reading `map.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from corrigible.adapters.mapping.mapping import MapFile
from corrigible.rules.errors import AuthoringError, Place


def read_map(path: Path) -> MapFile:
    """Read a map. Raises AuthoringError with what is wrong, and where in the document."""
    try:
        return MapFile.model_validate_json(path.read_bytes())
    except OSError as problem:
        raise AuthoringError(Place(path, 0), f"cannot be read: {problem.strerror}") from None
    except ValidationError as problem:
        first: Any = problem.errors(include_url=False, include_input=False)[0]
        where = "/".join(map(str, first["loc"]))
        raise AuthoringError(Place(path, 0), f"not a map: {where or 'the file'}: {first['msg']}") from None
