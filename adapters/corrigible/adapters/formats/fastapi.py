"""FastAPI and pydantic: `{"detail": [{"loc": ["body", "items", 0], "msg": "...", "type": "int_parsing"}]}`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corrigible.rules.pointer import MISSING, to_pointer, value_at
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

from .keywords import stated_keywords
from .members import text
from .pointers import pointer

_CONSTRAINTS: Final = (
    (re.compile(r"missing|value_error\.missing|missing_argument"), "required"),
    (re.compile(r"enum|literal_error|type_error\.enum|value_error\.const"), "enum"),
    (re.compile(r"greater_than|value_error\.number\.not_gt"), "exclusiveMinimum"),
    (re.compile(r"greater_than_equal|value_error\.number\.not_ge"), "minimum"),
    (re.compile(r"less_than|value_error\.number\.not_lt"), "exclusiveMaximum"),
    (re.compile(r"less_than_equal|value_error\.number\.not_le"), "maximum"),
    (re.compile(r"multiple_of|value_error\.number\.not_multiple"), "multipleOf"),
    (re.compile(r"string_too_short|value_error\.any_str\.min_length"), "minLength"),
    (re.compile(r"string_too_long|value_error\.any_str\.max_length"), "maxLength"),
    (re.compile(r"string_pattern_mismatch|value_error\.str\.regex"), "pattern"),
    (re.compile(r"too_short|value_error\.list\.min_items"), "minItems"),
    (re.compile(r"too_long|value_error\.list\.max_items"), "maxItems"),
    (re.compile(r"extra_forbidden|value_error\.extra"), "additionalProperties"),
    (re.compile(r"(?:date|datetime|time|uuid|url)_\w+|value_error\.(?:date|datetime|url|email|uuid)\b.*"), "format"),
    (re.compile(r"(?:int|float|bool|string|list|dict|set|tuple|model|decimal)_(?:type|parsing|from_float)\w*"), "type"),
    (re.compile(r"type_error\..*"), "type"),
)
_UNION_BRANCH: Final = re.compile(r"(?:int|float|str|bool|dict|list|none|function-\w+|[a-z]+\[.*\]|[A-Z]\w*)")
"""pydantic names the branch of a union as one more step: `["body", "size", "int"]`."""


@dataclass(frozen=True, slots=True)
class FastApiFormat:
    name: str = "fastapi"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        listed = body.get("detail") if isinstance(body, dict) else None
        if not isinstance(listed, list):
            return ()
        items = [item for item in listed if isinstance(item, dict) and isinstance(item.get("loc"), list)]
        return [_violation(exchange.request, item) for item in items]


def _violation(request: Request, item: Mapping[str, Json]) -> Violation:
    kind = text(item, "type")
    constraint = next((keyword for pattern, keyword in _CONSTRAINTS if pattern.fullmatch(kind)), "")
    parts = [str(part) for part in item["loc"]]
    if kind == "json_invalid" and parts[:1] == ["body"] and all(part.isdecimal() for part in parts[1:]):
        parts = ["body"]  # how far the body was read
    elif len(parts) > 2 and constraint not in ("required", "additionalProperties") and _is_branch(request, parts):
        parts = parts[:-1]
    return Violation(
        code=kind,
        message=text(item, "msg"),
        pointer=pointer(parts, request),
        constraint=constraint,
        type=kind,
        native={k: v for k, v in item.items() if k not in ("type", "msg")},
        stated=_limits(kind, constraint, item),
    )


_OF_NUMBERS: Final = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "minItems", "maxItems"),
    }
)


def _limits(kind: str, constraint: str, item: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the limits that pydantic's `ctx` states: `{"le": 100}` is `{"maximum": 100}`."""
    if constraint not in _OF_NUMBERS or not isinstance(item.get("ctx"), dict):
        return {}
    return stated_keywords(kind, constraint, {"ctx": item["ctx"]}, "")


def _is_branch(request: Request, parts: Sequence[str]) -> bool:
    if _UNION_BRANCH.fullmatch(parts[-1]) is None:
        return False
    node = value_at(request, to_pointer(parts[:-1]))
    return node not in (MISSING, None) and not (isinstance(node, dict) and parts[-1] in node)


FASTAPI: Final = FastApiFormat()
