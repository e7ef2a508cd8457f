"""One API as it was read: its operations, and where it is served."""

from __future__ import annotations

from dataclasses import dataclass

from corrigible.adapters.mapping.mapping import ApiOfMap
from corrigible.adapters.mapping.operation import CanonicalOperation


@dataclass(frozen=True, slots=True)
class ApiDocument:
    """The operations of one API."""

    name: str
    title: str
    version: str
    origin: str
    """Empty where the description does not say it."""
    base: str
    """The path before every path; operations do not have it."""
    operations: tuple[CanonicalOperation, ...]

    @property
    def api(self) -> ApiOfMap:
        return ApiOfMap(name=self.name, title=self.title, version=self.version, origin=self.origin, base=self.base)
