"""Errors of an API whose pack says where they keep what they say."""

from __future__ import annotations

from collections.abc import Sequence

from corrigible.rules.pack.error_mapping import ErrorMapping
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json


class MappedFormat:
    """Reads errors by the `error` mapping of a pack."""

    name = "mapped"

    def __init__(self, mapping: ErrorMapping) -> None:
        self._mapping = mapping

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        return [
            Violation(code=one.code, message=one.message, pointer=one.pointer, type=one.type, native=one.native)
            for one in self._mapping.errors(body, exchange.headers)
        ]
