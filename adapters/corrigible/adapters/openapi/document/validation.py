"""Formal errors of a description, found by openapi-spec-validator where it is installed (extra `spec`)."""

from __future__ import annotations

from typing import Final

from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.language.yaml_source import read_source

from .source_files import SourceFiles
from .swagger2 import is_swagger2

_LARGEST: Final = 256 * 1024
"""Bytes: the check takes ten seconds on a large one."""
_MOST: Final = 10
_LONGEST: Final = 200


def problems(files: SourceFiles) -> list[str] | None:
    """Return what is wrong, each with file and line; None where that was not looked at."""
    path, document = files.path, files.native
    if unread := files.unread_references():
        reason = "not read: only files in the description's folder or below are"
        return [f"{Place(path)}: $ref {_short(place)}: {reason}" for place in unread[:_MOST]]
    if path.stat().st_size > _LARGEST or not isinstance(document, dict):
        return None
    try:
        from jsonschema_path import SchemaPath
        from openapi_spec_validator import OpenAPIV2SpecValidator, OpenAPIV30SpecValidator, OpenAPIV31SpecValidator
    except ImportError:
        return None
    of_3 = OpenAPIV30SpecValidator if str(document.get("openapi")).startswith("3.0") else OpenAPIV31SpecValidator
    of_version = OpenAPIV2SpecValidator if is_swagger2(document) else of_3
    try:
        # What a file that was read refers to is read by us as well, never by the library: it would fetch.
        handlers = dict.fromkeys(("<all_urls>", "http", "https", "file"), files.read)
        whole = SchemaPath.from_dict(document, base_uri=path.resolve().as_uri(), handlers=handlers)
        errors = list(of_version(whole).iter_errors())[:_MOST]
    except Exception as problem:  # it stumbles over what it does not expect, and a warning is all it could give
        return [f"{Place(path)}: cannot be checked: {type(problem).__name__}"]
    if not errors:
        return []
    try:
        lines = read_source(path)  # JSON is YAML, and this reader keeps lines
    except AuthoringError:
        return [f"{Place(path)}: {_short(error.message)}" for error in errors]
    return [f"{lines.place(tuple(error.absolute_path))}: {_short(error.message)}" for error in errors]


def _short(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
