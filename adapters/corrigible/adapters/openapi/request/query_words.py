"""Names of an API's fields inside of a query: `sort=titel:asc`, `filters[titel][$eq]=x`.

No schema of a query lists them; the bodies that the same path takes have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from corrigible.rules.budget import spend
from corrigible.rules.pointer import escape
from corrigible.rules.safety.nearness import is_same, is_slip, nearest
from corrigible.rules.safety.other_word import may_be_other_word
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Json

_WORD: Final = re.compile(r"[A-Za-z_$][\w$]{2,63}")
_ABOUT_ORDER: Final = re.compile(
    r"(?i)\bsort|\border(?:ing\b|[ _]by\b| (?:parameter|value|field|key|clause)\b)|\b(?:invalid|bad|unknown) order\b"
)
_ORDERING: Final = re.compile(r"(?i)sort|order(?:[_-]?by|ing)?$")
"""Names of parameters that say by what a list is ordered."""
_DIRECTIONS: Final = {"ascending": "asc", "descending": "desc", "asc": "ascending", "desc": "descending"}
_MOST: Final = 64
"""Parameters, and words of a message, that are looked at."""
_LONGEST: Final = 2000


def misspelt_words(query: Mapping[str, Json], fields: Sequence[str], message: str) -> Iterator[SchemaViolation]:
    """Yield the only word of a query that is nearly called like one field, and that a message is about.

    Or the only direction of an order that is written out, where the message lists the short form, or the other way.
    The message repeats the word, or is about the order of a list, and the word is in the parameter for that.
    """
    told = set(_WORD.findall(message[:_LONGEST])[:_MOST])
    listed, is_of_order = frozenset(told), _ABOUT_ORDER.search(message[:_LONGEST]) is not None
    if is_of_order:
        ordering = [value for name, value in list(query.items())[:_MOST] if _ORDERING.search(name) is not None]
        told |= {word for value in ordering if isinstance(value, str) for word in _WORD.findall(value[:_LONGEST])}
    spend(1 + len(query) + len(told))
    meant = {word: near for word in told - {*fields} if (near := _field(word, fields))}
    # A message about the order lists how directions are called.
    directions = {word: other for word, other in _DIRECTIONS.items() if is_of_order and other in listed}
    meant |= {word: other for word, other in directions.items() if word in told - listed}
    found: list[SchemaViolation] = []
    own = {near for word, near in meant.items() if word in str(query.get(near, ""))[:_LONGEST]}
    meant = {word: near for word, near in meant.items() if near not in own}  # what `kinds` holds is not called like it
    for name, value in list(query.items())[:_MOST] if meant else ():
        for word, near in meant.items():
            head, bracket, rest = name.partition("[")
            if bracket and f"[{word}]" in f"[{rest}":
                other = head + f"[{rest}".replace(f"[{word}]", f"[{near}]", 1)
                closed = {"type": "object", "properties": {other: {}}}
                found.append(SchemaViolation(f"/query/{escape(name)}", "additionalProperties", closed, value, (other,)))
            elif isinstance(value, str) and len(value) <= _LONGEST and _WORD.findall(value).count(word) == 1:
                other = re.sub(rf"(?<![\w$]){re.escape(word)}(?![\w$])", near, value)
                schema = {"type": "string", "enum": [other]}
                found.append(SchemaViolation(f"/query/{escape(name)}", "enum", schema, value))
    if len(found) == 1:
        yield found[0]


def _field(word: str, fields: Sequence[str]) -> str:
    """Return the field that a word is a slip of; nothing where it is rather another word: `publisher`, `published`."""
    near = nearest(word, fields)
    if len(near) != 1 or not (is_same(word, near[0]) or is_slip(word, near[0])):
        return ""
    is_other_form = word[:-1] == near[0][:-1] and may_be_other_word(word, near[0])
    return "" if is_other_form else near[0]
