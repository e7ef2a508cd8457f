"""Lists of fields in a database: each is stored once, since operations share schemas."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import orjson

from corrigible.adapters.mapping.operation import Field

_KEPT: Final = 200
"""Lists that are kept unpacked."""


class FieldLists:
    """The table `field_lists`."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._written: dict[bytes, int] = {}
        self._read: OrderedDict[int, tuple[Field, ...]] = OrderedDict()

    def write(self, fields: Sequence[Field]) -> int:
        """Return the number under which a list is stored."""
        rows = [(one.pointer, one.type, one.format, one.description, one.required, one.enum) for one in fields]
        data = orjson.dumps(rows)
        key = hashlib.sha256(data).digest()
        if key not in self._written:
            packed = zlib.compress(data, 1)
            row = self._database.execute("INSERT INTO field_lists VALUES (NULL, ?)", (packed,))
            self._written[key] = int(row.lastrowid or 0)
        return self._written[key]

    def read(self, number: int) -> tuple[Field, ...]:
        """Return the list of a number."""
        if number in self._read:
            self._read.move_to_end(number)
            return self._read[number]
        (packed,) = self._database.execute("SELECT data FROM field_lists WHERE id = ?", (number,)).fetchone()
        fields = tuple(
            Field.model_construct(
                pointer=pointer, type=kind, format=form, description=said, required=required, enum=tuple(enum)
            )
            for pointer, kind, form, said, required, enum in orjson.loads(zlib.decompress(packed))
        )
        self._read[number] = fields
        if len(self._read) > _KEPT:
            self._read.popitem(last=False)
        return fields
