"""A value that a server does not take, and that its description writes in another way: `rs256` where it has `RS256`.

Where no list of values is declared, a default, examples and quoted words of the description are no such list. But they
show how a value is written that is the same but for case, for what separates its words, or for a slip of the fingers.

Knows: one complaint about a place, what is declared there. Does not know: how an answer is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from corrigible.rules.budget import spend
from corrigible.rules.pointer import segments, value_at
from corrigible.rules.safety.decisive import is_decisive, word_set, words
from corrigible.rules.safety.nearness import LONGEST, distance, is_same_spelling, nearest
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request

from .json_schema import TOLD, Schema, choices, types
from .schema_violation import SchemaViolation
from .told_names import NOT_LISTS, as_told

SPELLING: Final = "spelling"
"""The keyword of a value in another spelling than the description's, which is the `const` of the schema."""

_READ: Final = 1000
"""Letters of a message that are looked at."""
_REFUSED: Final = re.compile(
    r"(?i)\b(?:unknown|unsupported|unrecogni[sz]ed|invalid|illegal|bad|no such|must be (?:one|any) of|should be one of"
    r"|(?:is|was|are) not (?:an? )?(?:\w{1,20} )?(?:supported|valid|known|recogni[sz]ed|allowed|permitted)"
    r"|not (?:supported|valid|known|recogni[sz]ed))\b"
)
"""Words of complaints about a value that the server does not know."""
_ABOUT_OTHERS: Final = re.compile(
    r"(?i)\b(?:too|length|long|short|large|small|exceed\w*|already|exists|taken|expired|denied|permission"
    r"|allowed (?:to|for)|characters?|signature|checksum|credentials?|state)\b"
)
"""Words of complaints about something else than how a value is written."""
_NAMING: Final = word_set(
    "id ids uuid name names username user users key keys slug code ref email login path url uri host token"
    " password secret"
)
"""Last words of names of what is somebody's own: an example of it is no value that the server has to know."""


def told_spelling(error: Violation, request: Request, schema: Schema) -> SchemaViolation | None:
    """Return the violation of a text that a server refuses, and that the description of its place has otherwise."""
    place, value, message = segments(error.pointer), value_at(request, error.pointer), error.message[:_READ]
    if place[:1] not in (["body"], ["query"]) or not isinstance(value, str) or not 0 < len(value) <= LONGEST:
        return None
    if error.constraint not in ("", "enum") or error.stated or choices(schema):
        return None
    if (_REFUSED.search(message) or NOT_LISTS.search(message)) is None or _ABOUT_OTHERS.search(message) is not None:
        return None
    name = next((one for one in reversed(place) if not one.isdecimal()), "")
    if is_decisive(name, request) or not _NAMING.isdisjoint(words(name)[-1:]):
        return None
    if types(schema) and "string" not in types(schema):
        return None
    if otherwise := as_told(value, message, schema):
        return SchemaViolation(error.pointer, SPELLING, {**schema, "const": otherwise}, value)
    listed = schema.get(TOLD)
    told = [one for one in (schema.get("default"), *(listed if isinstance(listed, list) else ())) if one is not None]
    spend(len(told))
    same = {one for one in told if isinstance(one, str) and is_same_spelling(one, value)} or _a_slip_away(value, told)
    if len(same) != 1 or value in same:
        return None
    return SchemaViolation(error.pointer, SPELLING, {**schema, "const": next(iter(same))}, value)


_FEW: Final = 2
"""Values that a description has at least where it tells what there is: one alone is an example."""
_SHORTEST: Final = 3


def _a_slip_away(value: str, told: Sequence[Json]) -> set[str]:
    """Return the only told value that is one slip of the fingers away: `tcp` of `tpc`.

    Not one that begins with the other (`http`, `https`), which may well be meant.
    """
    texts = [one for one in told if isinstance(one, str)]
    near = nearest(value, texts) if len(value) >= _SHORTEST and len(set(texts)) >= _FEW else []
    if len(near) != 1 or distance(value, near[0]) != 1 or value.startswith(near[0]) or near[0].startswith(value):
        return set()
    return {near[0]}
