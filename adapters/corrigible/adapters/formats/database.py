"""The sentences of a database that refuses to store a row: SQLite, PostgreSQL, MySQL, SQL Server.

Servers without checks of their own hand them on, many as a fault of the server. They are about the request though.

Knows: one text. Does not know: requests, formats, descriptions.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from corrigible.rules.budget import spend

Kind = Literal["unique", "reference", "referenced", "foreign key", "check", "required"]
"""`reference`: to what is not there. `referenced`: others refer to it. `foreign key`: one of the two."""


class StoredConstraint(NamedTuple):
    """What a database says that it refuses."""

    kind: Kind
    columns: tuple[str, ...] = ()
    """Of the table, where the sentence has them."""


_LONGEST: Final = 2000
_MARKS: Final = ("constraint", "duplicate entry", "key (", "cannot be null", "value null into")
"""Each sentence has one of them: where a text has none, no sentence is looked for."""
_A_SEARCH: Final = 2
_KEY: Final = r"\bKey \((?P<columns>[\w\", ]{1,200})\)=\(.{0,500}?\)"
_FOREIGN: Final = r"a foreign key constraint fails"
_SENTENCES: Final[tuple[tuple[Kind, str], ...]] = (
    ("unique", r"\bUNIQUE constraint failed: (?P<columns>\w+\.\w+(?:, \w+\.\w+)*)"),
    ("unique", rf"{_KEY} already exists"),
    ("unique", r"\bviolates unique constraint\b|\bDuplicate entry '.{0,500}?' for key\b"),
    ("unique", r"\bViolation of (?:UNIQUE|PRIMARY) KEY constraint\b"),
    ("reference", rf"{_KEY} is not present in table"),
    ("referenced", rf"{_KEY} is still referenced from table"),
    ("reference", r"\binsert or update on table \S{1,200} violates foreign key constraint\b"),
    ("referenced", r"\bupdate or delete on table \S{1,200} violates (?:foreign key|RESTRICT setting of foreign key)"),
    ("reference", rf"(?i)\bcannot add or update a child row: {_FOREIGN}"),
    ("referenced", rf"(?i)\bcannot delete or update a parent row: {_FOREIGN}"),
    ("reference", r"\bINSERT statement conflicted with the FOREIGN KEY (?:SAME TABLE )?constraint\b"),
    ("referenced", r"\bDELETE statement conflicted with the (?:SAME TABLE )?REFERENCE constraint"),
    ("foreign key", r"\bFOREIGN KEY constraint failed\b"),
    ("required", r"\bNOT NULL constraint failed: \w|\bColumn '\w+' cannot be null\b"),
    ("required", r"\bnull value in column \"\w+\".{0,200}? violates not-null constraint"),
    ("required", r"\bCannot insert the value NULL into column '\w"),
    ("check", r"\bCHECK constraint failed: .|\bviolates check constraint\b|\bCheck constraint \S{1,200} is violated"),
    ("check", r"\bconflicted with the CHECK constraint\b"),
)
_PATTERNS: Final = tuple((kind, re.compile(pattern)) for kind, pattern in _SENTENCES)


def stored_constraint(message: str) -> StoredConstraint | None:
    """Return the constraint that a message says is not met, None where it is no message of a database."""
    if len(message) > _LONGEST or not any(mark in message.lower() for mark in _MARKS):
        return None
    spend(_A_SEARCH)
    for kind, pattern in _PATTERNS:
        if (found := pattern.search(message)) is not None:
            columns = (found.groupdict().get("columns") or "").split(",")
            return StoredConstraint(kind, tuple(one.strip(' "').rpartition(".")[2] for one in columns if one.strip()))
    return None
