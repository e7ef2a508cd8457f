"""The sentences of a database that refuses to store a row: SQLite, PostgreSQL, MySQL, SQL Server.

Servers without checks of their own hand them on, many as a fault of the server. They are about the request though.

Knows: one text. Does not know: requests, formats, descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from corrigible.rules.budget import spend
from corrigible.schema.exchange import Json

from .pattern_list import PatternList

Kind = Literal["unique", "reference", "referenced", "foreign key", "check", "required"]
"""`reference`: to what is not there. `referenced`: others refer to it. `foreign key`: one of the two."""


class StoredConstraint(NamedTuple):
    """What a database says that it refuses."""

    kind: Kind
    columns: tuple[str, ...] = ()
    name: str = ""
    """Of the constraint: the names of its table and columns are in it, as most tools name it."""
    stated: Mapping[str, Json] = MappingProxyType({})
    """JSON Schema keywords that a CHECK states about its only column."""


_LONGEST: Final = 2000
_A_SEARCH: Final = 2
_NAME: Final = r"[`'\"\[]?(?P<name>[\w.$-]{1,200})"
_SENTENCES: Final[tuple[tuple[str, Kind], ...]] = (
    (r"\bUNIQUE constraint failed: (?P<columns>\w+\.\w+(?:, \w+\.\w+)*)", "unique"),
    (r"\bKey \((?P<columns>[\w\", ]{1,200})\)=\(.{0,500}?\) already exists", "unique"),
    (rf"\bviolates unique constraint {_NAME}", "unique"),
    (rf"\bDuplicate entry '.{{0,500}}?' for key {_NAME}", "unique"),
    (rf"\bViolation of (?:UNIQUE|PRIMARY) KEY constraint {_NAME}", "unique"),
    (r"\bKey \((?P<columns>[\w\", ]{1,200})\)=\(.{0,500}?\) is not present in table", "reference"),
    (r"\bKey \([\w\", ]{1,200}\)=\(.{0,500}?\) is still referenced from table", "referenced"),
    (rf"\binsert or update on table \S{{1,200}} violates foreign key constraint {_NAME}", "reference"),
    (
        r"\bupdate or delete on table \S{1,200} violates (?:foreign key|RESTRICT setting of foreign key)",
        "referenced",
    ),
    (
        r"(?i)\bcannot add or update a child row: a foreign key constraint fails"
        r"(?:.{0,300}?FOREIGN KEY \((?P<columns>[`\w, ]{1,200})\))?",
        "reference",
    ),
    (r"(?i)\bcannot delete or update a parent row: a foreign key constraint fails", "referenced"),
    (rf"\bINSERT statement conflicted with the FOREIGN KEY (?:SAME TABLE )?constraint {_NAME}", "reference"),
    (r"\bDELETE statement conflicted with the (?:SAME TABLE )?REFERENCE constraint", "referenced"),
    (r"\bFOREIGN KEY constraint failed\b", "foreign key"),
    (r"\bNOT NULL constraint failed: (?P<columns>\w+\.\w+)", "required"),
    (r"\bnull value in column \"(?P<columns>\w+)\".{0,200}? violates not-null constraint", "required"),
    (r"\bColumn '(?P<columns>\w+)' cannot be null\b", "required"),
    (r"\bCannot insert the value NULL into column '(?P<columns>\w+)'", "required"),
    (r"\bCHECK constraint failed: (?P<check>.{1,500})", "check"),
    (rf"\bviolates check constraint {_NAME}", "check"),
    (rf"\bCheck constraint {_NAME}['`\"]? is violated", "check"),
    (rf"\bconflicted with the CHECK constraint {_NAME}", "check"),
)
_KINDS: Final = tuple((re.compile(pattern), kind) for pattern, kind in _SENTENCES)
_PATTERNS: Final = PatternList(*(pattern for pattern, _ in _SENTENCES))


def stored_constraint(message: str) -> StoredConstraint | None:
    """Return the constraint that a message says is not met, None where it is no message of a database."""
    if not message or len(message) > _LONGEST or not (candidates := _PATTERNS.candidates(message)):
        return None
    spend(_A_SEARCH)
    for number in candidates:
        pattern, kind = _KINDS[number]
        match = pattern.search(message)
        if match is None:
            continue
        groups = match.groupdict()
        if check := groups.get("check"):
            return _checked(check.strip())
        columns = tuple(
            one.strip(" `\"'").rpartition(".")[2] for one in (groups.get("columns") or "").split(",") if one.strip()
        )
        return StoredConstraint(kind, columns, (groups.get("name") or "").strip(".") if not columns else "")
    return None


_COLUMN: Final = r"[`\"\[]?(?P<column>[A-Za-z_]\w{0,63})[`\"\]]?"
_NUMBER: Final = r"(?P<number>-?\d{1,15}(?:\.\d{1,9})?)"
_COMPARED: Final = re.compile(rf"{_COLUMN}\s*(?P<sign><=|>=|<|>)\s*{_NUMBER}")
_BETWEEN: Final = re.compile(rf"(?i){_COLUMN}\s+between\s+{_NUMBER}\s+and\s+(?P<most>-?\d{{1,15}}(?:\.\d{{1,9}})?)")
_LENGTH: Final = re.compile(
    rf"(?i)(?:char_|character_)?len(?:gth)?\s*\(\s*{_COLUMN}\s*\)\s*(?P<sign><=|>=|<|>|==?)\s*{_NUMBER}"
)
_LISTED: Final = re.compile(rf"(?i){_COLUMN}\s+in\s*\((?P<items>\s*'[^']*'(?:\s*,\s*'[^']*')*\s*)\)")
_ITEM: Final = re.compile(r"'([^']*)'")
_WORD: Final = re.compile(r"'[^']*'|[A-Za-z_]\w*")
_LIMITS: Final = {"<=": "maximum", ">=": "minimum", "<": "exclusiveMaximum", ">": "exclusiveMinimum"}


def _checked(check: str) -> StoredConstraint:
    """Return what a CHECK says: SQLite gives its expression, or its name where it has one."""
    if re.fullmatch(r"\w+", check):
        return StoredConstraint("check", name=check)
    while check.startswith("(") and check.endswith(")"):
        check = check[1:-1].strip()
    stated: dict[str, Json] = {}
    if match := _COMPARED.fullmatch(check):
        stated = {_LIMITS[match["sign"]]: _number(match["number"])}
    elif match := _BETWEEN.fullmatch(check):
        stated = {"minimum": _number(match["number"]), "maximum": _number(match["most"])}
    elif match := _LISTED.fullmatch(check):
        stated = {"enum": list(_ITEM.findall(match["items"]))}
    elif match := _LENGTH.fullmatch(check):
        stated = _lengths(match["sign"], int(float(match["number"])))
    if match is not None:
        return StoredConstraint("check", (match["column"],), stated=stated)
    words = {word for word in _WORD.findall(check) if not word.startswith("'")}
    return StoredConstraint("check", tuple(sorted(words)))


def _lengths(sign: str, number: int) -> dict[str, Json]:
    least = {">": number + 1, ">=": number}.get(sign)
    most = {"<": number - 1, "<=": number}.get(sign)
    if sign in ("=", "=="):
        least = most = number
    return {name: one for name, one in (("minLength", least), ("maxLength", most)) if one is not None and one >= 0}


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


_PARTS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def members_of(constraint: StoredConstraint, names: Collection[str]) -> list[str]:
    """Return the members that a constraint is about: those of its columns, else the one that its name has in it."""
    if constraint.columns:
        folded = {_folded(column) for column in constraint.columns}
        return [name for name in names if _folded(name) in folded]
    told = f" {' '.join(_words(constraint.name))} "
    within = [name for name in names if f" {' '.join(_words(name))} " in told]
    longest = [one for one in within if not any(one != other and _folded(one) in _folded(other) for other in within)]
    return longest if len(longest) == 1 else []


def _folded(name: str) -> str:
    return "".join(_words(name))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _PARTS.findall(name)]
