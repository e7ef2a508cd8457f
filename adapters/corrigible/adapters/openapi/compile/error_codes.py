"""Which error codes a description lists for an answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from corrigible.adapters.openapi.document.source_files import SourceFiles
from corrigible.schema.exchange import Json

_CODES: Final = ("code", "error_code", "errorCode", "reason")
_DEEPEST: Final = 4


class Codes:
    """The lists of codes found so far; answers name theirs by its place in `lists`."""

    def __init__(self, files: SourceFiles) -> None:
        self.lists: list[list[str]] = []
        self._files = files
        self._known: dict[tuple[Path, str], frozenset[str]] = {}

    def of(self, response: Json, file: Path) -> int | None:
        """Return the place of the list of codes that an answer's schema allows, None where it names none."""
        content = response.get("content") if isinstance(response, Mapping) else None
        codes: set[str] = set()
        for media in content.values() if isinstance(content, Mapping) else ():
            if isinstance(media, Mapping):
                codes |= self._in(media.get("schema"), file, 0)
        if not codes:
            return None
        listed = sorted(codes)
        if listed not in self.lists:
            self.lists.append(listed)
        return self.lists.index(listed)

    def _in(self, schema: Json, file: Path, depth: int) -> frozenset[str]:
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return frozenset()
        if "$ref" in schema:
            target = self._files.find(schema["$ref"], file)
            if target is None:
                return frozenset()
            place = (target.file, target.pointer)
            if place not in self._known:
                self._known[place] = frozenset()  # one that leads back to itself adds nothing
                self._known[place] = self._in(target.value, target.file, depth + 1)
            return self._known[place]
        out: set[str] = set()
        members = schema.get("properties")
        for name, inner in members.items() if isinstance(members, Mapping) else ():
            resolved, _ = self._files.dereferenced(inner, file)
            if name in _CODES and isinstance(resolved, Mapping):
                listed = [resolved["const"]] if "const" in resolved else resolved.get("enum") or ()
                out |= {code for code in listed if isinstance(code, str) and code}
            if not isinstance(resolved, Mapping) or resolved.get("type") in (None, "object", "array"):
                out |= self._in(inner, file, depth + 1)
        for key in ("allOf", "anyOf", "oneOf"):
            for inner in schema.get(key) or ():
                out |= self._in(inner, file, depth)
        out |= self._in(schema.get("items"), file, depth + 1)
        return frozenset(out)
